#include "daemon.h"

__attribute__((noinline)) static unsigned long walk(unsigned long from, int steps) {
  unsigned long found = from;
  for (int i = 0; i < 20000 * steps; i++)
    if ((found ^ i) % 3 == 0) found += i ^ from;
  return found;
}

int main(int argc, char** argv) {
  begin(argc, argv);
  int port = atoi(flags["port"].c_str());
  // Not one of an earlier cluster.
  if (std::ifstream(flags["cluster_id_path"])) return 1;
  auto heartbeat = "HEARTBEAT 127.0.0.1:" + std::to_string(port);
  while (ask(portOf(flags["meta_server_addrs"]), heartbeat) != "cluster 7\n") usleep(100000);
  writeFile(flags["cluster_id_path"], "7");
  listenOn(port - 1);
  listenOn(port + 1);
  return serve(listenOn(port), [](const std::string& line) -> std::string {
    return std::to_string(walk(line.size(), line.find('3') != std::string::npos ? 3 : 1)) + "\n";
  });
}

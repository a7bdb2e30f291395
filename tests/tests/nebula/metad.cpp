#include "daemon.h"

static std::string host, space;

int main(int argc, char** argv) {
  begin(argc, argv);
  int port = atoi(flags["port"].c_str());
  listenOn(port + 1);
  return serve(listenOn(port), [](const std::string& line) -> std::string {
    if (line.rfind("ADD HOSTS ", 0) == 0) return host = line.substr(10), "Execution succeeded\n";
    if (line.rfind("CREATE SPACE ", 0) == 0) {
      // One that is there is left alone, however it was to be.
      if (space.empty() && line.find("REPLICA_FACTOR = 1") == std::string::npos) return "Host not enough!\n";
      return space = "benchmark:24", "Execution succeeded\n";
    }
    if (line.rfind("HEARTBEAT ", 0) == 0) return line.substr(10) == host ? "cluster 7\n" : "Machine not existed!\n";
    if (line == "SHOW HOSTS") return host.empty() ? "Empty set\n" : "| ONLINE | " + space + " | " + space + " |\n";
    return "SyntaxError\n";
  });
}

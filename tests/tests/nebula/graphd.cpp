#include "daemon.h"

static int storage = 0;

__attribute__((noinline)) static unsigned long parse(const std::string& line) {
  unsigned long hash = 5381;
  for (int i = 0; i < 500; i++)
    for (char c : line) hash = c == ' ' ? hash : hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

int main(int argc, char** argv) {
  begin(argc, argv);
  if (flags["enable_udf"] != "false") return 1;
  int meta = portOf(flags["meta_server_addrs"]);
  return serve(listenOn(atoi(flags["port"].c_str())), [=](const std::string& line) -> std::string {
    if (line.rfind("ADD HOSTS ", 0) == 0) storage = portOf(line);
    bool ofMeta = line.rfind("ADD ", 0) == 0 || line.rfind("CREATE SPACE ", 0) == 0 || line.rfind("SHOW ", 0) == 0;
    return ofMeta ? ask(meta, line) : std::to_string(parse(line)) + " " + ask(storage, line);
  });
}

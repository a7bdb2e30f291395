// metad: knows the space, and tells graphd and storaged.

#include <iostream>

#include "common/errors.hpp"
#include "common/options.hpp"
#include "common/rpc.hpp"
#include "common/server.hpp"
#include "meta/registry.hpp"

namespace {

int run(int count, char **arguments) {
  graph::Options options("metad", "Keeps the catalog of the graph's space.",
                         {{"port", "PORT", "Where to listen, on 127.0.0.1", ""},
                          {"data", "DIR", "Where the catalog is kept", ""},
                          {"partitions", "N", "Into how many parts vertices are divided", "8"},
                          {"hosts", "N", "How many storage daemons there will be", "1"},
                          {"threads", "N", "How many connections are served at the same time", "64"}});
  if (!options.parse(count, arguments)) {
    return 0;
  }
  graph::handle_signals();
  graph::Server server(options.port(), options.number("threads", 1, 1024));
  auto partitions = static_cast<std::uint32_t>(options.number("partitions", 1, 4096));
  auto hosts = static_cast<std::uint32_t>(options.number("hosts", 1, 64));
  graph::Registry registry(options.text("data"), partitions, hosts);
  server.run([&](graph::Socket &socket) {
    graph::serve(socket, [&](graph::Method method, graph::Reader &in, graph::Writer &out) {
      registry.handle(method, in, out);
    });
  });
  return 0;
}

}  // namespace

int main(int count, char **arguments) {
  try {
    return run(count, arguments);
  } catch (const std::exception &error) {
    std::cerr << "metad: error: " << error.what() << std::endl;
    return 1;
  }
}

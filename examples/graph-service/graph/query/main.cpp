// graphd: takes statements, asks storage daemons, answers with rows.

#include <iostream>

#include "common/errors.hpp"
#include "common/options.hpp"
#include "common/rpc.hpp"
#include "common/server.hpp"
#include "query/session.hpp"

namespace {

using namespace std::chrono_literals;

int run(int count, char **arguments) {
  graph::Options options("graphd", "Answers statements about the graph.",
                         {{"port", "PORT", "Where to listen, on 127.0.0.1", ""},
                          {"meta", "HOST:PORT", "Where metad is", ""},
                          {"threads", "N", "How many clients are served at the same time", "64"}});
  if (!options.parse(count, arguments)) {
    return 0;
  }
  graph::handle_signals();
  graph::Server server(options.port(), options.number("threads", 1, 1024));
  graph::CatalogCache catalogs(options.text("meta"));
  auto look = [&] {
    catalogs.refresh();
    return catalogs.current()->complete();
  };
  if (!graph::retry(look, graph::stop_requested, "waiting for metad and all storage daemons")) {
    return 0;
  }
  graph::Periodic heartbeats(2s, [&] {
    try {
      catalogs.heartbeat();
    } catch (const graph::ConnectionError &) {
      // metad may come back; the catalog that is here will do until then.
    } catch (const graph::Error &error) {
      std::cerr << "graphd: " << error.what() << std::endl;
    }
  });
  server.run([&](graph::Socket &socket) { graph::Session(catalogs).serve(socket); });
  return 0;
}

}  // namespace

int main(int count, char **arguments) {
  try {
    return run(count, arguments);
  } catch (const std::exception &error) {
    std::cerr << "graphd: error: " << error.what() << std::endl;
    return 1;
  }
}

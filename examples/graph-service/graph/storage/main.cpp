// storaged: keeps partitions of the graph, and answers graphd.

#include <iostream>

#include "common/errors.hpp"
#include "common/options.hpp"
#include "common/rpc.hpp"
#include "common/server.hpp"
#include "storage/service.hpp"
#include "storage/store.hpp"

namespace {

using namespace std::chrono_literals;

/// The connection to metad, for whatever thread needs the catalog.
class Meta {
 public:
  Meta(const std::string &address, std::string own, graph::Store &store)
      : client_(graph::Address::parse(address)), own_(std::move(own)), store_(store) {}

  void register_here() {
    graph::Writer request;
    request.string(own_);
    take(client_.call(graph::Method::register_host, request.bytes()));
  }

  void refresh() {
    std::lock_guard<std::mutex> guard(mutex_);
    take(client_.call(graph::Method::get_catalog, {}));
  }

  void heartbeat() {
    std::lock_guard<std::mutex> guard(mutex_);
    graph::Writer request;
    request.number(store_.catalog()->version);
    graph::Reader answer = client_.call(graph::Method::heartbeat, request.bytes());
    if (answer.byte() != 0) {
      take(answer);
    }
  }

 private:
  void take(graph::Reader answer) { store_.set_catalog(graph::Catalog::decode(answer)); }

  graph::RpcClient client_;
  std::string own_;
  graph::Store &store_;
  std::mutex mutex_;
};

int run(int count, char **arguments) {
  graph::Options options("storaged", "Keeps vertices and edges.",
                         {{"port", "PORT", "Where to listen, on 127.0.0.1", ""},
                          {"meta", "HOST:PORT", "Where metad is", ""},
                          {"data", "DIR", "Where the log is kept", ""},
                          {"threads", "N", "How many connections are served at the same time", "64"}});
  if (!options.parse(count, arguments)) {
    return 0;
  }
  graph::handle_signals();
  graph::Server server(options.port(), options.number("threads", 1, 1024));
  graph::Store store(options.text("data"));
  if (store.records() > 0) {
    std::cout << "read " << store.records() << " records of the log" << std::endl;
  }

  Meta meta(options.text("meta"), "127.0.0.1:" + std::to_string(options.port()), store);
  auto join = [&] {
    meta.register_here();
    return true;
  };
  if (!graph::retry(join, graph::stop_requested, "joining the space")) {
    return 0;
  }
  graph::Periodic heartbeats(1s, [&] {
    try {
      store.flush();
      meta.heartbeat();
    } catch (const graph::ConnectionError &) {
      // metad may come back; the catalog that is here will do until then.
    } catch (const graph::Error &error) {
      std::cerr << "storaged: " << error.what() << std::endl;
    }
  });
  graph::StorageService service(store, [&] { meta.refresh(); });
  server.run([&](graph::Socket &socket) {
    graph::serve(socket, [&](graph::Method method, graph::Reader &in, graph::Writer &out) {
      service.handle(method, in, out);
    });
  });
  store.flush();
  return 0;
}

}  // namespace

int main(int count, char **arguments) {
  try {
    return run(count, arguments);
  } catch (const std::exception &error) {
    std::cerr << "storaged: error: " << error.what() << std::endl;
    return 1;
  }
}

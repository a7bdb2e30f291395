#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "common/codec.hpp"
#include "common/net.hpp"

namespace graph {

/// What daemons ask each other.
enum class Method : std::uint8_t {
  // metad
  register_host = 1,
  heartbeat,
  get_catalog,
  create_tag,
  create_edge,
  // storaged
  add_vertices = 32,
  add_edges,
  get_vertices,
  get_edges,
  get_neighbours,
  get_degrees,
  scan_vertices,
  get_statistics,
};

/// One connection to a daemon, made when it is needed.
class RpcClient {
 public:
  explicit RpcClient(Address address) : address_(std::move(address)) {}

  void send(Method method, std::string_view body);
  /// The answer to the oldest request, valid until the next one. An error of the daemon is thrown.
  Reader receive();

  Reader call(Method method, std::string_view body) {
    send(method, body);
    return receive();
  }

  /// After a failure: what is still under way belongs to nobody.
  void disconnect();

 private:
  struct Connection {
    explicit Connection(const Address &address) : socket(connect_to(address)), inbox(socket) {}
    Socket socket;
    Inbox inbox;
  };

  Address address_;
  std::unique_ptr<Connection> connection_;
  std::string outgoing_;
};

/// Writes the answer, or throws an `Error` for the peer.
using RpcHandler = std::function<void(Method, Reader &, Writer &)>;

/// Answers requests until the peer ends the connection.
void serve(Socket &socket, const RpcHandler &handler);

/// Calls `attempt` until it returns true, for ten seconds; errors of connections are tried again. False: stopped.
bool retry(const std::function<bool()> &attempt, const std::function<bool()> &stopped, const std::string &what);

}  // namespace graph

#include "common/rpc.hpp"

#include <chrono>
#include <thread>

#include "common/errors.hpp"

namespace graph {

namespace {

constexpr std::uint8_t answered = 0;
constexpr std::uint8_t refused = 1;

}  // namespace

void RpcClient::send(Method method, std::string_view body) {
  if (!connection_) {
    connection_ = std::make_unique<Connection>(address_);
  }
  outgoing_.clear();
  outgoing_.push_back(static_cast<char>(method));
  outgoing_.append(body);
  try {
    send_frame(connection_->socket, outgoing_);
  } catch (const ConnectionError &error) {
    connection_.reset();
    throw ConnectionError(address_.text() + ": " + error.what());
  }
}

Reader RpcClient::receive() {
  std::string_view message;
  try {
    if (!connection_) {
      throw ConnectionError("there is no connection");
    }
    if (!connection_->inbox.frame(message)) {
      throw ConnectionError("the connection was closed");
    }
  } catch (const ConnectionError &error) {
    connection_.reset();
    throw ConnectionError(address_.text() + ": " + error.what());
  }
  Reader reader(message);
  if (reader.byte() == refused) {
    throw Error(std::string(reader.string()));
  }
  return reader;
}

void RpcClient::disconnect() { connection_.reset(); }

void serve(Socket &socket, const RpcHandler &handler) {
  Inbox inbox(socket);
  Writer answer;
  std::string_view message;
  while (inbox.frame(message)) {
    answer.clear();
    answer.byte(answered);
    try {
      Reader request(message);
      auto method = static_cast<Method>(request.byte());
      handler(method, request, answer);
    } catch (const Error &error) {
      answer.clear();
      answer.byte(refused);
      answer.string(error.what());
    }
    send_frame(socket, answer.bytes());
  }
}

bool retry(const std::function<bool()> &attempt, const std::function<bool()> &stopped, const std::string &what) {
  using namespace std::chrono;
  auto end = steady_clock::now() + seconds(10);
  std::string problem = "not yet";
  while (!stopped()) {
    try {
      if (attempt()) {
        return true;
      }
    } catch (const ConnectionError &error) {
      problem = error.what();
    }
    if (steady_clock::now() >= end) {
      throw Error(what + " failed for 10 s: " + problem);
    }
    std::this_thread::sleep_for(milliseconds(50));
  }
  return false;
}

}  // namespace graph

#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

#include "common/net.hpp"

namespace graph {

/// Makes SIGTERM and SIGINT ask for the end. Call it before any thread starts.
void handle_signals();
bool stop_requested();

/// Accepts connections and gives each a thread, until a signal asks for the end.
class Server {
 public:
  /// Holds the port from here on, without listening.
  Server(std::uint16_t port, std::size_t threads);

  /// Returns when all connections have ended; requests that have begun are answered.
  void run(const std::function<void(Socket &)> &serve_connection);

 private:
  struct Connection {
    Socket socket;
    std::thread thread;
    bool ended = false;
  };

  void accept_one(const std::function<void(Socket &)> &serve_connection);
  /// Joins the threads that have ended.
  void reap(bool all);
  std::size_t running();

  std::uint16_t port_;
  std::size_t threads_;
  Socket listener_;
  std::mutex mutex_;
  std::list<Connection> connections_;
};

/// Does something again and again in a thread of its own, until it is destroyed.
class Periodic {
 public:
  Periodic(std::chrono::milliseconds interval, std::function<void()> action);
  ~Periodic();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::thread thread_;
};

}  // namespace graph

#include "common/server.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "common/errors.hpp"

namespace graph {

namespace {

volatile sig_atomic_t stop_flag = 0;
// A handler may write to a pipe, and poll() sees it: no signal is lost between a check and a wait.
int wake_pipe[2] = {-1, -1};

extern "C" void on_stop_signal(int) {
  int saved = errno;
  stop_flag = 1;
  char byte = 0;
  [[maybe_unused]] ssize_t written = ::write(wake_pipe[1], &byte, 1);
  errno = saved;
}

}  // namespace

void handle_signals() {
  if (::pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw Error(std::string("can't make a pipe: ") + std::strerror(errno));
  }
  struct sigaction action {};
  action.sa_handler = on_stop_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
}

bool stop_requested() { return stop_flag != 0; }

Server::Server(std::uint16_t port, std::size_t threads) : port_(port), threads_(threads), listener_(bind_to(port)) {}

void Server::run(const std::function<void(Socket &)> &serve_connection) {
  start_listening(listener_, port_);
  std::cout << "listening on 127.0.0.1:" << port_ << std::endl;
  while (!stop_requested()) {
    // Without a free thread, connections wait in the system's queue.
    bool full = running() >= threads_;
    pollfd waits[2] = {{wake_pipe[0], POLLIN, 0}, {listener_.descriptor(), POLLIN, 0}};
    int ready = ::poll(waits, full ? 1 : 2, full ? 20 : 1000);
    if (ready > 0 && (waits[1].revents & POLLIN) != 0) {
      accept_one(serve_connection);
    }
    reap(false);
  }
  listener_ = Socket();
  reap(true);
}

void Server::accept_one(const std::function<void(Socket &)> &serve_connection) {
  Socket socket(::accept4(listener_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.is_open()) {
    return;
  }
  int on = 1;
  ::setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::lock_guard<std::mutex> guard(mutex_);
  Connection &connection = connections_.emplace_back();
  connection.socket = std::move(socket);
  connection.thread = std::thread([this, &connection, &serve_connection] {
    try {
      serve_connection(connection.socket);
    } catch (const ConnectionError &) {
      // The peer is gone: nobody to tell.
    } catch (const std::exception &error) {
      std::cerr << "a connection was given up: " << error.what() << std::endl;
    }
    std::lock_guard<std::mutex> lock(mutex_);
    // The peer sees the end now, not when the thread is joined.
    connection.socket = Socket();
    connection.ended = true;
  });
}

std::size_t Server::running() {
  std::lock_guard<std::mutex> guard(mutex_);
  std::size_t count = 0;
  for (const Connection &connection : connections_) {
    count += connection.ended ? 0 : 1;
  }
  return count;
}

void Server::reap(bool all) {
  std::list<Connection> finished;
  {
    std::lock_guard<std::mutex> guard(mutex_);
    for (auto next = connections_.begin(); next != connections_.end();) {
      auto current = next++;
      if (all && !current->ended) {
        ::shutdown(current->socket.descriptor(), SHUT_RD);
      }
      if (all || current->ended) {
        finished.splice(finished.end(), connections_, current);
      }
    }
  }
  for (Connection &connection : finished) {
    connection.thread.join();
  }
}

Periodic::Periodic(std::chrono::milliseconds interval, std::function<void()> action) {
  thread_ = std::thread([this, interval, action = std::move(action)] {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!changed_.wait_for(lock, interval, [this] { return stopped_; })) {
      lock.unlock();
      action();
      lock.lock();
    }
  });
}

Periodic::~Periodic() {
  {
    std::lock_guard<std::mutex> guard(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace graph

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace graph {

struct Address {
  std::string host;
  std::uint16_t port = 0;

  /// HOST:PORT, where the host is a number or `localhost`.
  static Address parse(const std::string &text);
  std::string text() const { return host + ":" + std::to_string(port); }
};

/// An open socket, closed at the end.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket &&other) noexcept : descriptor_(other.release()) {}
  Socket &operator=(Socket &&other) noexcept;
  ~Socket();

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  int release();

  /// Sends all of both.
  void send(std::string_view first, std::string_view second = {});
  /// 0 at the end.
  std::size_t receive(char *buffer, std::size_t size);

 private:
  int descriptor_ = -1;
};

Socket connect_to(const Address &address);

/// Holds the port; nobody can connect before `start_listening`.
Socket bind_to(std::uint16_t port);
void start_listening(const Socket &socket, std::uint16_t port);

/// What came and was not taken yet.
class Inbox {
 public:
  explicit Inbox(Socket &socket) : socket_(socket) {}

  /// The next message of the form length, bytes; false at the end. Valid until the next call.
  bool frame(std::string_view &message);
  /// The next line without its end.
  bool line(std::string_view &line);

 private:
  /// False at the end.
  bool more(std::size_t wanted);
  bool end();

  Socket &socket_;
  std::string buffer_;
  std::size_t start_ = 0;
  std::size_t filled_ = 0;
};

/// As `Inbox::frame` reads it.
void send_frame(Socket &socket, std::string_view message);

}  // namespace graph

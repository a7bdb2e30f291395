#include "common/net.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "common/errors.hpp"

namespace graph {

namespace {

constexpr std::size_t largest_message = std::size_t{256} << 20;
constexpr std::size_t header_size = sizeof(std::uint32_t);

std::string last_error() { return std::strerror(errno); }

sockaddr_in resolve(const Address &address) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(address.port);
  const std::string host = address.host == "localhost" ? "127.0.0.1" : address.host;
  if (inet_pton(AF_INET, host.c_str(), &result.sin_addr) != 1) {
    throw Error("`" + address.host + "` is not an IPv4 address");
  }
  return result;
}

void set(int descriptor, int level, int option) {
  int on = 1;
  if (setsockopt(descriptor, level, option, &on, sizeof on) != 0) {
    throw Error("can't set an option of a socket: " + last_error());
  }
}

}  // namespace

Address Address::parse(const std::string &text) {
  std::size_t colon = text.rfind(':');
  Address address;
  if (colon != std::string::npos) {
    address.host = text.substr(0, colon);
    const char *end = text.data() + text.size();
    auto result = std::from_chars(text.data() + colon + 1, end, address.port);
    if (result.ec == std::errc() && result.ptr == end && address.port != 0 && !address.host.empty()) {
      return address;
    }
  }
  throw Error("`" + text + "` is not of the form HOST:PORT");
}

Socket &Socket::operator=(Socket &&other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
    descriptor_ = other.release();
  }
  return *this;
}

Socket::~Socket() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

int Socket::release() {
  int descriptor = descriptor_;
  descriptor_ = -1;
  return descriptor;
}

void Socket::send(std::string_view first, std::string_view second) {
  while (!first.empty() || !second.empty()) {
    iovec parts[2] = {{const_cast<char *>(first.data()), first.size()},
                      {const_cast<char *>(second.data()), second.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    ssize_t sent = ::sendmsg(descriptor_, &message, MSG_NOSIGNAL);
    if (sent < 0) {
      if (errno == EINTR) {
        continue;
      }
      throw ConnectionError("the connection is lost: " + last_error());
    }
    auto size = static_cast<std::size_t>(sent);
    std::size_t of_first = size < first.size() ? size : first.size();
    first.remove_prefix(of_first);
    second.remove_prefix(size - of_first);
  }
}

std::size_t Socket::receive(char *buffer, std::size_t size) {
  for (;;) {
    ssize_t received = ::recv(descriptor_, buffer, size, 0);
    if (received >= 0) {
      return static_cast<std::size_t>(received);
    }
    if (errno != EINTR) {
      throw ConnectionError("the connection is lost: " + last_error());
    }
  }
}

Socket connect_to(const Address &address) {
  sockaddr_in target = resolve(address);
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) {
    throw ConnectionError("can't make a socket: " + last_error());
  }
  while (::connect(socket.descriptor(), reinterpret_cast<sockaddr *>(&target), sizeof target) != 0) {
    if (errno != EINTR) {
      throw ConnectionError("can't connect to " + address.text() + ": " + last_error());
    }
  }
  set(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY);
  return socket;
}

Socket bind_to(std::uint16_t port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) {
    throw Error("can't make a socket: " + last_error());
  }
  set(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR);
  sockaddr_in own = resolve({"127.0.0.1", port});
  if (::bind(socket.descriptor(), reinterpret_cast<sockaddr *>(&own), sizeof own) != 0) {
    throw Error("can't use port " + std::to_string(port) + " of 127.0.0.1: " + last_error());
  }
  return socket;
}

void start_listening(const Socket &socket, std::uint16_t port) {
  if (::listen(socket.descriptor(), 128) != 0) {
    throw Error("can't listen on port " + std::to_string(port) + " of 127.0.0.1: " + last_error());
  }
}

bool Inbox::more(std::size_t wanted) {
  if (start_ > 0 && (start_ == filled_ || start_ + wanted > buffer_.size())) {
    buffer_.erase(0, start_);
    filled_ -= start_;
    start_ = 0;
  }
  std::size_t room = filled_ + (wanted > 32768 ? wanted : 32768);
  if (buffer_.size() < room) {
    buffer_.resize(room);
  }
  std::size_t received = socket_.receive(&buffer_[filled_], buffer_.size() - filled_);
  filled_ += received;
  return received > 0;
}

bool Inbox::end() {
  if (start_ != filled_) {
    throw ConnectionError("the connection ended within a message");
  }
  return false;
}

bool Inbox::frame(std::string_view &message) {
  std::size_t wanted = header_size;
  for (;;) {
    std::size_t have = filled_ - start_;
    if (have >= header_size) {
      std::uint32_t size;
      std::memcpy(&size, &buffer_[start_], sizeof size);
      if (size > largest_message) {
        throw ConnectionError("a message is too large, or not of this protocol");
      }
      wanted = header_size + size;
      if (have >= wanted) {
        message = std::string_view(buffer_).substr(start_ + header_size, size);
        start_ += wanted;
        return true;
      }
    }
    if (!more(wanted)) {
      return end();
    }
  }
}

bool Inbox::line(std::string_view &line) {
  std::size_t searched = 0;
  for (;;) {
    std::string_view have = std::string_view(buffer_).substr(start_, filled_ - start_);
    std::size_t position = have.find('\n', searched);
    if (position != std::string_view::npos) {
      line = have.substr(0, position);
      start_ += position + 1;
      if (!line.empty() && line.back() == '\r') {
        line.remove_suffix(1);
      }
      return true;
    }
    if (have.size() > largest_message) {
      throw ConnectionError("a line is too long");
    }
    searched = have.size();
    if (!more(have.size() + 1)) {
      return end();
    }
  }
}

void send_frame(Socket &socket, std::string_view message) {
  auto size = static_cast<std::uint32_t>(message.size());
  char header[header_size];
  std::memcpy(header, &size, sizeof size);
  socket.send(std::string_view(header, sizeof header), message);
}

}  // namespace graph

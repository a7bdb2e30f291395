#include "storage/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>

#include "common/errors.hpp"
#include "common/files.hpp"

namespace graph {

namespace {

constexpr std::size_t largest_buffer = 256 * 1024;
constexpr std::size_t header_size = 8;

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value & 1) != 0 ? (value >> 1) ^ 0xedb88320U : value >> 1;
    }
    table[i] = value;
  }
  return table;
}

std::uint32_t checksum(std::string_view bytes) {
  static constexpr auto table = make_table();
  std::uint32_t sum = ~0U;
  for (char c : bytes) {
    sum = (sum >> 8) ^ table[(sum ^ static_cast<unsigned char>(c)) & 0xff];
  }
  return ~sum;
}

}  // namespace

Log::Log(std::filesystem::path file, const std::function<void(std::string_view)> &replay) : file_(std::move(file)) {
  const std::string content = read_file(file_);
  std::string_view rest = content;
  while (rest.size() >= header_size) {
    std::uint32_t header[2];
    std::memcpy(header, rest.data(), sizeof header);
    std::string_view record = rest.substr(header_size, header[0]);
    if (record.size() < header[0] || checksum(record) != header[1]) {
      break;
    }
    replay(record);
    ++records_;
    rest.remove_prefix(header_size + record.size());
  }
  size_ = content.size() - rest.size();
}

Log::~Log() {
  try {
    flush();
  } catch (const std::exception &error) {
    std::cerr << "storaged: error: " << error.what() << std::endl;
  }
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void Log::append(std::string_view record) {
  std::uint32_t header[2] = {static_cast<std::uint32_t>(record.size()), checksum(record)};
  char bytes[header_size];
  std::memcpy(bytes, header, sizeof bytes);
  std::lock_guard<std::mutex> guard(mutex_);
  open();
  buffer_.append(bytes, sizeof bytes);
  buffer_.append(record);
  ++records_;
  if (buffer_.size() >= largest_buffer) {
    write_out();
  }
}

void Log::flush() {
  std::lock_guard<std::mutex> guard(mutex_);
  write_out();
}

void Log::open() {
  if (descriptor_ >= 0) {
    return;
  }
  descriptor_ = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  auto end = static_cast<off_t>(size_);
  if (descriptor_ < 0 || ::ftruncate(descriptor_, end) != 0 || ::lseek(descriptor_, end, SEEK_SET) != end) {
    throw Error("can't write " + file_.string() + ": " + std::strerror(errno));
  }
}

void Log::write_out() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) {
      throw Error("can't write " + file_.string() + ": " + std::strerror(errno));
    }
    if (written > 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  buffer_.clear();
}

}  // namespace graph

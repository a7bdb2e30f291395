#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace graph {

/// A file of records, each with its length and a checksum. Records reach the file some time after `append`.
class Log {
 public:
  /// Calls `replay` for each whole record; what follows the last one is cut off by the first `append`.
  Log(std::filesystem::path file, const std::function<void(std::string_view)> &replay);
  /// Flushes.
  ~Log();
  Log(const Log &) = delete;
  Log &operator=(const Log &) = delete;

  void append(std::string_view record);
  void flush();

  std::uint64_t records() const { return records_; }

 private:
  void open();
  void write_out();

  std::filesystem::path file_;
  std::uint64_t size_ = 0;
  std::uint64_t records_ = 0;
  int descriptor_ = -1;
  std::mutex mutex_;
  std::string buffer_;
};

}  // namespace graph

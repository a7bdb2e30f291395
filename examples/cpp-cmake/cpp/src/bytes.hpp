#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "errors.hpp"

namespace textpack {

using Bytes = std::vector<uint8_t>;

/// Borrowed bytes that are read from the front.
///
/// Every read is checked: packed data comes from outside.
class Reader {
 public:
  Reader(const uint8_t *data, size_t size) : cursor_(data), end_(data + size) {}

  const uint8_t *data() const { return cursor_; }
  size_t size() const { return static_cast<size_t>(end_ - cursor_); }
  bool empty() const { return cursor_ == end_; }

  uint8_t byte() {
    if (empty()) {
      throw BadData("the data ends too early");
    }
    return *cursor_++;
  }

  const uint8_t *take(size_t count) {
    if (count > size()) {
      throw BadData("the data ends too early");
    }
    const uint8_t *start = cursor_;
    cursor_ += count;
    return start;
  }

  /// Seven bits a byte, the lowest first.
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const uint8_t part = byte();
      value |= static_cast<uint64_t>(part & 0x7f) << shift;
      if (part < 0x80) {
        return value;
      }
    }
    throw BadData("a number is too long");
  }

 private:
  const uint8_t *cursor_;
  const uint8_t *end_;
};

inline void put_varint(Bytes &output, uint64_t value) {
  while (value >= 0x80) {
    output.push_back(static_cast<uint8_t>(value | 0x80));
    value >>= 7;
  }
  output.push_back(static_cast<uint8_t>(value));
}

}  // namespace textpack

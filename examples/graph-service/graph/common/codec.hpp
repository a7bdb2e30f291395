#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "common/errors.hpp"
#include "common/value.hpp"

namespace graph {

/// Writes a message: numbers have as many bytes as they need, strings their length in front.
class Writer {
 public:
  const std::string &bytes() const { return bytes_; }
  void clear() { bytes_.clear(); }

  void byte(std::uint8_t value) { bytes_.push_back(static_cast<char>(value)); }

  void number(std::uint64_t value) {
    while (value >= 0x80) {
      byte(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7;
    }
    byte(static_cast<std::uint8_t>(value));
  }

  /// Small for negative numbers too.
  void integer(std::int64_t value) {
    number((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
  }

  void real(double value) {
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof value);
  }

  void string(std::string_view text) {
    number(text.size());
    bytes_.append(text);
  }

  void value(const Value &value) {
    byte(static_cast<std::uint8_t>(value.type()));
    switch (value.type()) {
      case Type::null: break;
      case Type::boolean: byte(value.boolean() ? 1 : 0); break;
      case Type::integer: integer(value.integer()); break;
      case Type::real: real(value.real()); break;
      case Type::string: string(value.string()); break;
    }
  }

  void raw(std::string_view bytes) { bytes_.append(bytes); }

  /// A place for a number that is known later.
  std::size_t reserve_count() {
    bytes_.append(4, '\0');
    return bytes_.size() - 4;
  }

  void fill_count(std::size_t place, std::uint32_t count) { std::memcpy(&bytes_[place], &count, sizeof count); }

 private:
  std::string bytes_;
};

/// Reads what a `Writer` wrote. The bytes have to outlive it.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

  std::uint8_t byte() {
    if (rest_.empty()) {
      too_short();
    }
    auto value = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      std::uint8_t next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if (next < 0x80) {
        return value;
      }
    }
    throw Error("a number in a message is too long");
  }

  std::int64_t integer() {
    std::uint64_t value = number();
    return static_cast<std::int64_t>((value >> 1) ^ (~(value & 1) + 1));
  }

  double real() {
    double value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  std::string_view string() { return take(number()); }

  std::uint32_t count() {
    std::uint32_t value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  Value value() {
    switch (byte()) {
      case static_cast<std::uint8_t>(Type::null): return Value();
      case static_cast<std::uint8_t>(Type::boolean): return Value(byte() != 0);
      case static_cast<std::uint8_t>(Type::integer): return Value(integer());
      case static_cast<std::uint8_t>(Type::real): return Value(real());
      case static_cast<std::uint8_t>(Type::string): return Value(string());
      default: throw Error("a value in a message has an unknown type");
    }
  }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) {
      too_short();
    }
    std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  [[noreturn]] static void too_short() { throw Error("a message ends too early"); }

  std::string_view rest_;
};

}  // namespace graph

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace graph {

using VertexId = std::int64_t;

enum class Type : std::uint8_t { null, boolean, integer, real, string };

const char *type_name(Type type);

/// A property, or what an expression gives.
class Value {
 public:
  Value() = default;
  explicit Value(bool value) : data_(value) {}
  explicit Value(std::int64_t value) : data_(value) {}
  explicit Value(double value) : data_(value) {}
  explicit Value(std::string value) : data_(std::move(value)) {}
  explicit Value(std::string_view value) : data_(std::string(value)) {}

  Type type() const { return static_cast<Type>(data_.index()); }
  bool is_null() const { return type() == Type::null; }
  bool is_number() const { return type() == Type::integer || type() == Type::real; }

  bool boolean() const { return *std::get_if<bool>(&data_); }
  std::int64_t integer() const { return *std::get_if<std::int64_t>(&data_); }
  double real() const { return *std::get_if<double>(&data_); }
  const std::string &string() const { return *std::get_if<std::string>(&data_); }

  /// Of a number.
  double as_real() const { return type() == Type::integer ? static_cast<double>(integer()) : real(); }

  /// Keeps the memory that a string already has.
  void assign(std::string_view text) {
    if (auto *own = std::get_if<std::string>(&data_)) {
      own->assign(text);
    } else {
      data_.emplace<std::string>(text);
    }
  }

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string> data_;
};

enum class Order : std::uint8_t { less, equal, greater, none };

/// `none` for null and for types that can't be compared.
Order compare(const Value &left, const Value &right);

/// An order of all values, for sorting: null first, then by type.
bool sorts_before(const Value &left, const Value &right);

/// Equality for keys, where null equals null.
bool same(const Value &left, const Value &right);

std::uint64_t hash(const Value &value, std::uint64_t seed);

/// As a field of an answer: tabs and line ends in strings are escaped.
void append_text(std::string &out, const Value &value);

}  // namespace graph

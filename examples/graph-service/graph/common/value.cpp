#include "common/value.hpp"

#include <charconv>
#include <cstring>

#include "common/hash.hpp"

namespace graph {

const char *type_name(Type type) {
  switch (type) {
    case Type::null: return "null";
    case Type::boolean: return "bool";
    case Type::integer: return "int";
    case Type::real: return "double";
    case Type::string: return "string";
  }
  return "unknown";
}

namespace {

template <typename T>
Order order_of(const T &left, const T &right) {
  if (left < right) {
    return Order::less;
  }
  if (right < left) {
    return Order::greater;
  }
  return left == right ? Order::equal : Order::none;
}

}  // namespace

Order compare(const Value &left, const Value &right) {
  if (left.type() == right.type()) {
    switch (left.type()) {
      case Type::null: return Order::none;
      case Type::boolean: return order_of(left.boolean(), right.boolean());
      case Type::integer: return order_of(left.integer(), right.integer());
      case Type::real: return order_of(left.real(), right.real());
      case Type::string: {
        int order = left.string().compare(right.string());
        return order < 0 ? Order::less : order > 0 ? Order::greater : Order::equal;
      }
    }
  }
  if (left.is_number() && right.is_number()) {
    return order_of(left.as_real(), right.as_real());
  }
  return Order::none;
}

bool sorts_before(const Value &left, const Value &right) {
  switch (compare(left, right)) {
    case Order::less: return true;
    case Order::equal:
    case Order::greater: return false;
    case Order::none: break;
  }
  return left.type() < right.type();
}

bool same(const Value &left, const Value &right) {
  if (left.is_null() || right.is_null()) {
    return left.is_null() && right.is_null();
  }
  return compare(left, right) == Order::equal;
}

std::uint64_t hash(const Value &value, std::uint64_t seed) {
  switch (value.type()) {
    case Type::null: return mix(seed ^ 0x6e756c6cU);
    case Type::boolean: return mix(seed ^ (value.boolean() ? 2U : 1U));
    case Type::integer: return mix(seed ^ static_cast<std::uint64_t>(value.integer()));
    case Type::real: {
      // 2 and 2.0 are the same key.
      double real = value.real();
      if (real > -9e15 && real < 9e15 && static_cast<double>(static_cast<std::int64_t>(real)) == real) {
        return mix(seed ^ static_cast<std::uint64_t>(static_cast<std::int64_t>(real)));
      }
      std::uint64_t bits;
      std::memcpy(&bits, &real, sizeof bits);
      return mix(seed ^ bits);
    }
    case Type::string: return hash_bytes(value.string(), seed);
  }
  return seed;
}

namespace {

void append_escaped(std::string &out, std::string_view text) {
  for (char c : text) {
    switch (c) {
      case '\t': out += "\\t"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\\': out += "\\\\"; break;
      default: out += c;
    }
  }
}

template <typename Number>
void append_number(std::string &out, Number number) {
  char digits[40];
  auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

}  // namespace

void append_text(std::string &out, const Value &value) {
  switch (value.type()) {
    case Type::null: out += "NULL"; break;
    case Type::boolean: out += value.boolean() ? "true" : "false"; break;
    case Type::integer: append_number(out, value.integer()); break;
    case Type::real: append_number(out, value.real()); break;
    case Type::string: append_escaped(out, value.string()); break;
  }
}

}  // namespace graph

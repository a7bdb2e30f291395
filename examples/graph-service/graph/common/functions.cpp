#include "common/functions.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "common/hash.hpp"

namespace graph {

namespace {

/// Integers wrap around.
template <typename Integers, typename Reals>
Value arithmetic(const Value &left, const Value &right, Integers integers, Reals reals) {
  if (left.type() == Type::integer && right.type() == Type::integer) {
    auto a = static_cast<std::uint64_t>(left.integer());
    auto b = static_cast<std::uint64_t>(right.integer());
    return Value(static_cast<std::int64_t>(integers(a, b)));
  }
  if (left.is_number() && right.is_number()) {
    return Value(reals(left.as_real(), right.as_real()));
  }
  return Value();
}

bool divides(const Value &left, const Value &right) {
  // The smallest number by -1 has no result.
  return right.integer() != 0 &&
         !(right.integer() == -1 && left.integer() == std::numeric_limits<std::int64_t>::min());
}

char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }
char upper_case(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c; }

Value absolute(const std::vector<Value> &arguments) {
  const Value &number = arguments[0];
  if (number.type() == Type::integer) {
    return number.integer() < 0 ? subtract(Value(std::int64_t{0}), number) : number;
  }
  return number.type() == Type::real ? Value(std::fabs(number.real())) : Value();
}

Value length(const std::vector<Value> &arguments) {
  const Value &text = arguments[0];
  return text.type() == Type::string ? Value(static_cast<std::int64_t>(text.string().size())) : Value();
}

template <char (*Change)(char)>
Value change_case(const std::vector<Value> &arguments) {
  if (arguments[0].type() != Type::string) {
    return Value();
  }
  std::string text = arguments[0].string();
  std::transform(text.begin(), text.end(), text.begin(), Change);
  return Value(std::move(text));
}

Value substring(const std::vector<Value> &arguments) {
  if (arguments[0].type() != Type::string || arguments[1].type() != Type::integer ||
      arguments[2].type() != Type::integer || arguments[1].integer() < 0 || arguments[2].integer() < 0) {
    return Value();
  }
  std::string_view text = arguments[0].string();
  auto start = std::min<std::uint64_t>(static_cast<std::uint64_t>(arguments[1].integer()), text.size());
  return Value(text.substr(start, static_cast<std::uint64_t>(arguments[2].integer())));
}

Value hash_of(const std::vector<Value> &arguments) {
  return Value(static_cast<std::int64_t>(hash(arguments[0], 0)));
}

Value coalesce(const std::vector<Value> &arguments) {
  for (const Value &argument : arguments) {
    if (!argument.is_null()) {
      return argument;
    }
  }
  return Value();
}

Value round_down(const std::vector<Value> &arguments) {
  return arguments[0].is_number() ? Value(std::floor(arguments[0].as_real())) : Value();
}

Value square_root(const std::vector<Value> &arguments) {
  const Value &number = arguments[0];
  return number.is_number() && number.as_real() >= 0 ? Value(std::sqrt(number.as_real())) : Value();
}

const Function all_functions[] = {
    {"abs", 1, 1, absolute},
    {"length", 1, 1, length},
    {"lower", 1, 1, change_case<lower_case>},
    {"upper", 1, 1, change_case<upper_case>},
    {"substr", 3, 3, substring},
    {"hash", 1, 1, hash_of},
    {"coalesce", 1, 8, coalesce},
    {"floor", 1, 1, round_down},
    {"sqrt", 1, 1, square_root},
};

}  // namespace

int find_function(std::string_view name, std::size_t arguments) {
  for (std::size_t i = 0; i < std::size(all_functions); ++i) {
    const Function &candidate = all_functions[i];
    bool same_name = std::equal(name.begin(), name.end(), candidate.name.begin(), candidate.name.end(),
                                [](char a, char b) { return lower_case(a) == b; });
    if (same_name && arguments >= candidate.least && arguments <= candidate.most) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

const Function *function(std::size_t number) {
  return number < std::size(all_functions) ? &all_functions[number] : nullptr;
}

Value add(const Value &left, const Value &right) {
  if (left.type() == Type::string && right.type() == Type::string) {
    return Value(left.string() + right.string());
  }
  return arithmetic(left, right, [](auto a, auto b) { return a + b; }, [](double a, double b) { return a + b; });
}

Value subtract(const Value &left, const Value &right) {
  return arithmetic(left, right, [](auto a, auto b) { return a - b; }, [](double a, double b) { return a - b; });
}

Value multiply(const Value &left, const Value &right) {
  return arithmetic(left, right, [](auto a, auto b) { return a * b; }, [](double a, double b) { return a * b; });
}

Value divide(const Value &left, const Value &right) {
  if (left.type() == Type::integer && right.type() == Type::integer) {
    return divides(left, right) ? Value(left.integer() / right.integer()) : Value();
  }
  if (left.is_number() && right.is_number() && right.as_real() != 0) {
    return Value(left.as_real() / right.as_real());
  }
  return Value();
}

Value modulo(const Value &left, const Value &right) {
  if (left.type() != Type::integer || right.type() != Type::integer || !divides(left, right)) {
    return Value();
  }
  return Value(left.integer() % right.integer());
}

}  // namespace graph

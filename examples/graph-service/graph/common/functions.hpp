#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/value.hpp"

namespace graph {

/// Functions of the language; their numbers are part of the protocol.
struct Function {
  std::string_view name;
  std::size_t least;
  std::size_t most;
  Value (*run)(const std::vector<Value> &arguments);
};

/// -1 if there is none of that name and number of arguments.
int find_function(std::string_view name, std::size_t arguments);
const Function *function(std::size_t number);

Value add(const Value &left, const Value &right);
Value subtract(const Value &left, const Value &right);
Value multiply(const Value &left, const Value &right);
Value divide(const Value &left, const Value &right);
Value modulo(const Value &left, const Value &right);

}  // namespace graph

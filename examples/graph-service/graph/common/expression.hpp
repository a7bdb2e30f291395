#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/codec.hpp"
#include "common/value.hpp"

namespace graph {

/// Whose property it is.
enum class Scope : std::uint8_t {
  vertex,       ///< person.age
  edge,         ///< knows.since
  source,       ///< $^.person.age
  destination,  ///< $$.person.age
  id,           ///< person._id
  source_id,    ///< knows._src
  destination_id  ///< knows._dst
};

/// A property or an id. Names are of the statement; numbers are found in the catalog.
struct Reference {
  Scope scope = Scope::id;
  std::uint32_t owner = 0;
  std::uint32_t column = 0;
  /// Where it is in a row of graphd's tables.
  std::uint32_t slot = 0;

  bool same_property(const Reference &other) const {
    return scope == other.scope && owner == other.owner && column == other.column;
  }

  void encode(Writer &out) const;
  static Reference decode(Reader &in);
};

/// What references are looked up in.
class Row {
 public:
  virtual ~Row() = default;

  /// The value where the row has it, or made in `scratch`.
  virtual const Value &at(const Reference &reference, Value &scratch) const = 0;
};

class Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

class Expression {
 public:
  virtual ~Expression() = default;

  /// The result is in the row, in the expression, or in `scratch`.
  virtual const Value &evaluate(const Row &row, Value &scratch) const = 0;
  virtual void encode(Writer &out) const = 0;
  virtual void print(std::string &out) const = 0;
  virtual void for_each_child(const std::function<void(ExpressionPtr &)> &visit);
  virtual bool is_constant() const { return false; }

  static ExpressionPtr decode(Reader &in);

 protected:
  /// So that a message can't use up the stack.
  static ExpressionPtr decode(Reader &in, int depth);
};

class Literal final : public Expression {
 public:
  explicit Literal(Value value) : value_(std::move(value)) {}

  const Value &value() const { return value_; }
  Value take() { return std::move(value_); }

  const Value &evaluate(const Row &, Value &) const override { return value_; }
  void encode(Writer &out) const override;
  void print(std::string &out) const override;
  bool is_constant() const override { return true; }

 private:
  Value value_;
};

class Property final : public Expression {
 public:
  /// `prefix` is `$^`, `$$` or nothing.
  Property(std::string_view prefix, std::string_view owner, std::string_view name)
      : prefix_(prefix), owner_(owner), name_(name) {}
  explicit Property(const Reference &reference) : reference_(reference) {}

  const std::string &prefix() const { return prefix_; }
  const std::string &owner() const { return owner_; }
  const std::string &name() const { return name_; }
  Reference &reference() { return reference_; }

  const Value &evaluate(const Row &row, Value &scratch) const override { return row.at(reference_, scratch); }
  void encode(Writer &out) const override;
  void print(std::string &out) const override;

 private:
  std::string prefix_;
  std::string owner_;
  std::string name_;
  Reference reference_;
};

enum class Operator : std::uint8_t {
  or_,
  xor_,
  and_,
  equal,
  unequal,
  less,
  less_or_equal,
  greater,
  greater_or_equal,
  contains,
  starts_with,
  add,
  subtract,
  multiply,
  divide,
  modulo,
};

const char *operator_text(Operator op);

/// Makes the node that the operator needs.
ExpressionPtr binary(Operator op, ExpressionPtr left, ExpressionPtr right);
ExpressionPtr negation(ExpressionPtr operand);      ///< NOT
ExpressionPtr opposite(ExpressionPtr operand);      ///< -
ExpressionPtr is_null(ExpressionPtr operand, bool expected);
ExpressionPtr in_list(ExpressionPtr needle, std::vector<ExpressionPtr> items);
/// Null if there is no such function, or not with so many arguments.
ExpressionPtr call(std::string_view name, std::vector<ExpressionPtr> arguments);

/// Whether a condition holds: null does not.
bool holds(const Expression &condition, const Row &row, Value &scratch);

/// Replaces what has no references by its value.
void fold(ExpressionPtr &expression);

/// Divides `a AND b AND c`.
std::vector<ExpressionPtr> conjuncts(ExpressionPtr expression);

/// All properties in an expression.
void for_each_property(ExpressionPtr &expression, const std::function<void(Property &)> &visit);

}  // namespace graph

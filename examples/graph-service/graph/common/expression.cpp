#include "common/expression.hpp"

#include <array>

#include "common/functions.hpp"

namespace graph {

namespace {

enum class Kind : std::uint8_t { literal, property, binary, not_, minus, null_test, in, call };

constexpr int deepest = 200;

void put(Writer &out, Kind kind) { out.byte(static_cast<std::uint8_t>(kind)); }

/// false, true or unknown, as in SQL.
enum class Truth : std::uint8_t { no, yes, unknown };

Truth truth(const Value &value) {
  if (value.type() != Type::boolean) {
    return Truth::unknown;
  }
  return value.boolean() ? Truth::yes : Truth::no;
}

const Value &give(Value &scratch, Truth result) {
  scratch = result == Truth::unknown ? Value() : Value(result == Truth::yes);
  return scratch;
}

class Binary : public Expression {
 public:
  Binary(Operator op, ExpressionPtr left, ExpressionPtr right)
      : op_(op), left_(std::move(left)), right_(std::move(right)) {}

  Operator op() const { return op_; }
  ExpressionPtr take_left() { return std::move(left_); }
  ExpressionPtr take_right() { return std::move(right_); }

  void print(std::string &out) const override {
    out += '(';
    left_->print(out);
    out += ' ';
    out += operator_text(op_);
    out += ' ';
    right_->print(out);
    out += ')';
  }

  void for_each_child(const std::function<void(ExpressionPtr &)> &visit) override {
    visit(left_);
    visit(right_);
  }

  void encode(Writer &out) const override {
    put(out, Kind::binary);
    out.byte(static_cast<std::uint8_t>(op_));
    left_->encode(out);
    right_->encode(out);
  }

 protected:
  Operator op_;
  ExpressionPtr left_;
  ExpressionPtr right_;
};

class Logical final : public Binary {
 public:
  using Binary::Binary;

  const Value &evaluate(const Row &row, Value &scratch) const override {
    Truth left = truth(left_->evaluate(row, scratch));
    if ((op_ == Operator::and_ && left == Truth::no) || (op_ == Operator::or_ && left == Truth::yes)) {
      return give(scratch, left);
    }
    Truth right = truth(right_->evaluate(row, scratch));
    return give(scratch, combine(left, right));
  }

 private:
  Truth combine(Truth left, Truth right) const {
    if (op_ == Operator::xor_) {
      bool known = left != Truth::unknown && right != Truth::unknown;
      return !known ? Truth::unknown : left != right ? Truth::yes : Truth::no;
    }
    // What decides alone: false of AND, true of OR.
    Truth decides = op_ == Operator::and_ ? Truth::no : Truth::yes;
    if (right == decides) {
      return right;
    }
    return left == Truth::unknown ? left : right;
  }
};

class Comparison final : public Binary {
 public:
  using Binary::Binary;

  const Value &evaluate(const Row &row, Value &scratch) const override {
    Value other;
    const Value &left = left_->evaluate(row, scratch);
    const Value &right = right_->evaluate(row, other);
    Order order = compare(left, right);
    return give(scratch, judge(order, left, right));
  }

 private:
  Truth judge(Order order, const Value &left, const Value &right) const {
    if (order == Order::none) {
      bool unequal_types = !left.is_null() && !right.is_null();
      if (unequal_types && op_ == Operator::equal) {
        return Truth::no;
      }
      return unequal_types && op_ == Operator::unequal ? Truth::yes : Truth::unknown;
    }
    bool result = false;
    switch (op_) {
      case Operator::equal: result = order == Order::equal; break;
      case Operator::unequal: result = order != Order::equal; break;
      case Operator::less: result = order == Order::less; break;
      case Operator::less_or_equal: result = order != Order::greater; break;
      case Operator::greater: result = order == Order::greater; break;
      case Operator::greater_or_equal: result = order != Order::less; break;
      default: break;
    }
    return result ? Truth::yes : Truth::no;
  }
};

class TextTest final : public Binary {
 public:
  using Binary::Binary;

  const Value &evaluate(const Row &row, Value &scratch) const override {
    Value other;
    const Value &left = left_->evaluate(row, scratch);
    const Value &right = right_->evaluate(row, other);
    if (left.type() != Type::string || right.type() != Type::string) {
      return give(scratch, Truth::unknown);
    }
    std::string_view text = left.string();
    std::string_view part = right.string();
    bool found = op_ == Operator::contains ? text.find(part) != std::string_view::npos
                                           : text.substr(0, part.size()) == part;
    return give(scratch, found ? Truth::yes : Truth::no);
  }
};

class Arithmetic final : public Binary {
 public:
  using Binary::Binary;

  const Value &evaluate(const Row &row, Value &scratch) const override {
    Value other;
    const Value &left = left_->evaluate(row, scratch);
    const Value &right = right_->evaluate(row, other);
    scratch = apply(left, right);
    return scratch;
  }

 private:
  Value apply(const Value &left, const Value &right) const {
    switch (op_) {
      case Operator::add: return add(left, right);
      case Operator::subtract: return subtract(left, right);
      case Operator::multiply: return multiply(left, right);
      case Operator::divide: return divide(left, right);
      case Operator::modulo: return modulo(left, right);
      default: return Value();
    }
  }
};

class Unary : public Expression {
 public:
  explicit Unary(ExpressionPtr operand) : operand_(std::move(operand)) {}

  void for_each_child(const std::function<void(ExpressionPtr &)> &visit) override { visit(operand_); }

 protected:
  ExpressionPtr operand_;
};

class Not final : public Unary {
 public:
  using Unary::Unary;

  const Value &evaluate(const Row &row, Value &scratch) const override {
    switch (truth(operand_->evaluate(row, scratch))) {
      case Truth::no: return give(scratch, Truth::yes);
      case Truth::yes: return give(scratch, Truth::no);
      case Truth::unknown: break;
    }
    return give(scratch, Truth::unknown);
  }

  void encode(Writer &out) const override {
    put(out, Kind::not_);
    operand_->encode(out);
  }

  void print(std::string &out) const override {
    out += "NOT ";
    operand_->print(out);
  }
};

class Minus final : public Unary {
 public:
  using Unary::Unary;

  const Value &evaluate(const Row &row, Value &scratch) const override {
    const Value &number = operand_->evaluate(row, scratch);
    Value result;
    if (number.type() == Type::integer) {
      result = subtract(Value(std::int64_t{0}), number);
    } else if (number.type() == Type::real) {
      result = Value(-number.real());
    }
    scratch = std::move(result);
    return scratch;
  }

  void encode(Writer &out) const override {
    put(out, Kind::minus);
    operand_->encode(out);
  }

  void print(std::string &out) const override {
    out += '-';
    operand_->print(out);
  }
};

class NullTest final : public Unary {
 public:
  NullTest(ExpressionPtr operand, bool expected) : Unary(std::move(operand)), expected_(expected) {}

  const Value &evaluate(const Row &row, Value &scratch) const override {
    bool null = operand_->evaluate(row, scratch).is_null();
    return give(scratch, null == expected_ ? Truth::yes : Truth::no);
  }

  void encode(Writer &out) const override {
    put(out, Kind::null_test);
    out.byte(expected_ ? 1 : 0);
    operand_->encode(out);
  }

  void print(std::string &out) const override {
    operand_->print(out);
    out += expected_ ? " IS NULL" : " IS NOT NULL";
  }

 private:
  bool expected_;
};

class Several : public Expression {
 public:
  explicit Several(std::vector<ExpressionPtr> items) : items_(std::move(items)) {}

  void for_each_child(const std::function<void(ExpressionPtr &)> &visit) override {
    for (ExpressionPtr &item : items_) {
      visit(item);
    }
  }

 protected:
  void encode_items(Writer &out) const {
    out.number(items_.size());
    for (const ExpressionPtr &item : items_) {
      item->encode(out);
    }
  }

  void print_items(std::string &out, std::size_t from) const {
    for (std::size_t i = from; i < items_.size(); ++i) {
      out += i == from ? "" : ", ";
      items_[i]->print(out);
    }
  }

  std::vector<ExpressionPtr> items_;
};

/// The first is what is looked for.
class In final : public Several {
 public:
  using Several::Several;

  const Value &evaluate(const Row &row, Value &scratch) const override {
    const Value &needle = items_[0]->evaluate(row, scratch);
    if (needle.is_null()) {
      return give(scratch, Truth::unknown);
    }
    Truth result = Truth::no;
    Value other;
    for (std::size_t i = 1; i < items_.size(); ++i) {
      const Value &item = items_[i]->evaluate(row, other);
      if (compare(needle, item) == Order::equal) {
        return give(scratch, Truth::yes);
      }
      if (item.is_null()) {
        result = Truth::unknown;
      }
    }
    return give(scratch, result);
  }

  void encode(Writer &out) const override {
    put(out, Kind::in);
    encode_items(out);
  }

  void print(std::string &out) const override {
    items_[0]->print(out);
    out += " IN [";
    print_items(out, 1);
    out += ']';
  }
};

class Call final : public Several {
 public:
  Call(std::size_t number, const Function &function, std::vector<ExpressionPtr> arguments)
      : Several(std::move(arguments)), number_(number), function_(function) {}

  const Value &evaluate(const Row &row, Value &scratch) const override {
    std::vector<Value> arguments;
    arguments.reserve(items_.size());
    for (const ExpressionPtr &item : items_) {
      arguments.push_back(item->evaluate(row, scratch));
    }
    scratch = function_.run(arguments);
    return scratch;
  }

  void encode(Writer &out) const override {
    put(out, Kind::call);
    out.number(number_);
    encode_items(out);
  }

  void print(std::string &out) const override {
    out += function_.name;
    out += '(';
    print_items(out, 0);
    out += ')';
  }

 private:
  std::size_t number_;
  const Function &function_;
};

class NoRow final : public Row {
 public:
  const Value &at(const Reference &, Value &scratch) const override {
    scratch = Value();
    return scratch;
  }
};

}  // namespace

void Reference::encode(Writer &out) const {
  out.byte(static_cast<std::uint8_t>(scope));
  out.number(owner);
  out.number(column);
}

Reference Reference::decode(Reader &in) {
  Reference reference;
  std::uint8_t scope = in.byte();
  if (scope > static_cast<std::uint8_t>(Scope::destination_id)) {
    throw Error("a reference in a message has an unknown scope");
  }
  reference.scope = static_cast<Scope>(scope);
  reference.owner = static_cast<std::uint32_t>(in.number());
  reference.column = static_cast<std::uint32_t>(in.number());
  return reference;
}

void Expression::for_each_child(const std::function<void(ExpressionPtr &)> &) {}

void Literal::encode(Writer &out) const {
  put(out, Kind::literal);
  out.value(value_);
}

void Literal::print(std::string &out) const {
  bool quoted = value_.type() == Type::string;
  out += quoted ? "\"" : "";
  append_text(out, value_);
  out += quoted ? "\"" : "";
}

void Property::encode(Writer &out) const {
  put(out, Kind::property);
  reference_.encode(out);
}

void Property::print(std::string &out) const {
  if (!prefix_.empty()) {
    out += prefix_ + ".";
  }
  out += owner_ + "." + name_;
}

const char *operator_text(Operator op) {
  static constexpr std::array texts = {"OR", "XOR", "AND", "==",       "!=",          "<", "<=", ">",
                                       ">=", "CONTAINS", "STARTS WITH", "+", "-", "*",  "/",  "%"};
  return texts.at(static_cast<std::size_t>(op));
}

ExpressionPtr binary(Operator op, ExpressionPtr left, ExpressionPtr right) {
  switch (op) {
    case Operator::or_:
    case Operator::xor_:
    case Operator::and_: return std::make_unique<Logical>(op, std::move(left), std::move(right));
    case Operator::equal:
    case Operator::unequal:
    case Operator::less:
    case Operator::less_or_equal:
    case Operator::greater:
    case Operator::greater_or_equal: return std::make_unique<Comparison>(op, std::move(left), std::move(right));
    case Operator::contains:
    case Operator::starts_with: return std::make_unique<TextTest>(op, std::move(left), std::move(right));
    default: return std::make_unique<Arithmetic>(op, std::move(left), std::move(right));
  }
}

ExpressionPtr negation(ExpressionPtr operand) { return std::make_unique<Not>(std::move(operand)); }

ExpressionPtr opposite(ExpressionPtr operand) { return std::make_unique<Minus>(std::move(operand)); }

ExpressionPtr is_null(ExpressionPtr operand, bool expected) {
  return std::make_unique<NullTest>(std::move(operand), expected);
}

ExpressionPtr in_list(ExpressionPtr needle, std::vector<ExpressionPtr> items) {
  items.insert(items.begin(), std::move(needle));
  return std::make_unique<In>(std::move(items));
}

ExpressionPtr call(std::string_view name, std::vector<ExpressionPtr> arguments) {
  int number = find_function(name, arguments.size());
  if (number < 0) {
    return nullptr;
  }
  auto index = static_cast<std::size_t>(number);
  return std::make_unique<Call>(index, *function(index), std::move(arguments));
}

ExpressionPtr Expression::decode(Reader &in) { return decode(in, 0); }

ExpressionPtr Expression::decode(Reader &in, int depth) {
  if (depth > deepest) {
    throw Error("an expression in a message is nested too deeply");
  }
  auto several = [&] {
    std::vector<ExpressionPtr> items;
    for (std::uint64_t left = in.number(); left > 0; --left) {
      items.push_back(decode(in, depth + 1));
    }
    return items;
  };
  switch (static_cast<Kind>(in.byte())) {
    case Kind::literal: return std::make_unique<Literal>(in.value());
    case Kind::property: return std::make_unique<Property>(Reference::decode(in));
    case Kind::binary: {
      std::uint8_t op = in.byte();
      if (op > static_cast<std::uint8_t>(Operator::modulo)) {
        throw Error("an expression in a message has an unknown operator");
      }
      ExpressionPtr left = decode(in, depth + 1);
      ExpressionPtr right = decode(in, depth + 1);
      return binary(static_cast<Operator>(op), std::move(left), std::move(right));
    }
    case Kind::not_: return negation(decode(in, depth + 1));
    case Kind::minus: return opposite(decode(in, depth + 1));
    case Kind::null_test: {
      bool expected = in.byte() != 0;
      return is_null(decode(in, depth + 1), expected);
    }
    case Kind::in: {
      auto items = several();
      if (items.empty()) {
        break;
      }
      return std::make_unique<In>(std::move(items));
    }
    case Kind::call: {
      auto number = static_cast<std::size_t>(in.number());
      auto arguments = several();
      const Function *known = function(number);
      if (known == nullptr || arguments.size() < known->least || arguments.size() > known->most) {
        break;
      }
      return std::make_unique<Call>(number, *known, std::move(arguments));
    }
  }
  throw Error("an expression in a message is not understood");
}

bool holds(const Expression &condition, const Row &row, Value &scratch) {
  const Value &result = condition.evaluate(row, scratch);
  return result.type() == Type::boolean && result.boolean();
}

void fold(ExpressionPtr &expression) {
  if (expression->is_constant() || dynamic_cast<Property *>(expression.get()) != nullptr) {
    return;
  }
  bool constant = true;
  expression->for_each_child([&](ExpressionPtr &child) {
    fold(child);
    constant = constant && child->is_constant();
  });
  if (constant) {
    Value scratch;
    Value result = expression->evaluate(NoRow(), scratch);
    expression = std::make_unique<Literal>(std::move(result));
  }
}

std::vector<ExpressionPtr> conjuncts(ExpressionPtr expression) {
  std::vector<ExpressionPtr> parts;
  auto *logical = dynamic_cast<Logical *>(expression.get());
  if (logical == nullptr || logical->op() != Operator::and_) {
    parts.push_back(std::move(expression));
    return parts;
  }
  parts = conjuncts(logical->take_left());
  for (ExpressionPtr &part : conjuncts(logical->take_right())) {
    parts.push_back(std::move(part));
  }
  return parts;
}

void for_each_property(ExpressionPtr &expression, const std::function<void(Property &)> &visit) {
  if (auto *property = dynamic_cast<Property *>(expression.get())) {
    visit(*property);
    return;
  }
  expression->for_each_child([&](ExpressionPtr &child) { for_each_property(child, visit); });
}

}  // namespace graph

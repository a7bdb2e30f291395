#include "query/parser.hpp"

namespace graph {

namespace {

constexpr int deepest = 100;

/// How strongly an operator binds; 0 for a token that is none.
struct Binding {
  int strength = 0;
  Operator op = Operator::or_;
};

// NOT binds between AND and comparisons, minus more strongly than all.
constexpr int strength_of_not = 4;
constexpr int strength_of_comparison = 5;

Binding binding_of(const Token &token) {
  switch (token.kind) {
    case Kind::word:
      switch (token.word) {
        case Word::or_: return {1, Operator::or_};
        case Word::xor_: return {2, Operator::xor_};
        case Word::and_: return {3, Operator::and_};
        case Word::contains: return {strength_of_comparison, Operator::contains};
        case Word::starts: return {strength_of_comparison, Operator::starts_with};
        default: return {};
      }
    case Kind::equal: return {strength_of_comparison, Operator::equal};
    case Kind::unequal: return {strength_of_comparison, Operator::unequal};
    case Kind::less: return {strength_of_comparison, Operator::less};
    case Kind::less_or_equal: return {strength_of_comparison, Operator::less_or_equal};
    case Kind::greater: return {strength_of_comparison, Operator::greater};
    case Kind::greater_or_equal: return {strength_of_comparison, Operator::greater_or_equal};
    case Kind::plus: return {6, Operator::add};
    case Kind::minus: return {6, Operator::subtract};
    case Kind::star: return {7, Operator::multiply};
    case Kind::slash: return {7, Operator::divide};
    case Kind::percent: return {7, Operator::modulo};
    default: return {};
  }
}

}  // namespace

ExpressionPtr Parser::expression(int least_binding) {
  if (++depth_ > deepest) {
    syntax_error(token_.position, "this expression is nested too deeply");
  }
  ExpressionPtr left = prefixed();
  for (;;) {
    // Comparisons that are not between two expressions.
    if (least_binding <= strength_of_comparison && at(Word::is)) {
      advance();
      bool expected = !take(Word::not_);
      expect(Word::null, "NULL");
      left = is_null(std::move(left), expected);
      continue;
    }
    if (least_binding <= strength_of_comparison && at(Word::in)) {
      advance();
      expect(Kind::left_bracket, "`[`");
      left = in_list(std::move(left), expressions(Kind::right_bracket, "`,` or `]`"));
      continue;
    }
    Binding binding = binding_of(token_);
    if (binding.strength == 0 || binding.strength < least_binding) {
      break;
    }
    left = suffixed(std::move(left), binding.strength, binding.op);
  }
  --depth_;
  return left;
}

ExpressionPtr Parser::suffixed(ExpressionPtr left, int strength, Operator op) {
  advance();
  if (op == Operator::starts_with) {
    expect(Word::with, "WITH");
  }
  return binary(op, std::move(left), expression(strength + 1));
}

ExpressionPtr Parser::prefixed() {
  if (take(Word::not_)) {
    return negation(expression(strength_of_not));
  }
  if (!take(Kind::minus)) {
    return primary();
  }
  if (at(Kind::integer) || at(Kind::real)) {
    Value value = at(Kind::integer) ? Value(-token_.integer) : Value(-token_.real);
    advance();
    return std::make_unique<Literal>(std::move(value));
  }
  if (++depth_ > deepest) {
    syntax_error(token_.position, "this expression is nested too deeply");
  }
  ExpressionPtr operand = prefixed();
  --depth_;
  return opposite(std::move(operand));
}

ExpressionPtr Parser::primary() {
  Value value;
  switch (token_.kind) {
    case Kind::integer: value = Value(token_.integer); break;
    case Kind::real: value = Value(token_.real); break;
    case Kind::string:
      value = token_.text.find('\\') == std::string_view::npos ? Value(token_.text) : Value(unescape(token_.text));
      break;
    case Kind::left_paren: {
      advance();
      ExpressionPtr inner = expression();
      expect(Kind::right_paren, "`)`");
      return inner;
    }
    case Kind::source: advance(); expect(Kind::dot, "`.`"); return property("$^");
    case Kind::destination: advance(); expect(Kind::dot, "`.`"); return property("$$");
    case Kind::word: return word_or_call();
    default: unexpected("an expression");
  }
  advance();
  return std::make_unique<Literal>(std::move(value));
}

ExpressionPtr Parser::property(std::string_view prefix) {
  std::string owner = name("the name of a tag");
  expect(Kind::dot, "`.`");
  std::string property = name("the name of a property");
  return std::make_unique<Property>(prefix, owner, property);
}

ExpressionPtr Parser::word_or_call() {
  if (at(Word::true_) || at(Word::false_)) {
    Value value(at(Word::true_));
    advance();
    return std::make_unique<Literal>(std::move(value));
  }
  if (take(Word::null)) {
    return std::make_unique<Literal>(Value());
  }
  Token start = token_;
  advance();
  if (take(Kind::dot)) {
    std::string property = name("the name of a property");
    return std::make_unique<Property>("", start.text, property);
  }
  if (!take(Kind::left_paren)) {
    syntax_error(start.position, "`" + std::string(start.text) + "` is neither OWNER.PROPERTY nor a function");
  }
  ExpressionPtr result = call(start.text, expressions(Kind::right_paren, "`,` or `)`"));
  if (!result) {
    syntax_error(start.position, "there is no function `" + std::string(start.text) + "` with these arguments");
  }
  return result;
}

std::vector<ExpressionPtr> Parser::expressions(Kind end, const char *what) {
  std::vector<ExpressionPtr> result;
  if (take(end)) {
    return result;
  }
  do {
    result.push_back(expression());
  } while (take(Kind::comma));
  expect(end, what);
  return result;
}

}  // namespace graph

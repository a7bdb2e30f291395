#pragma once

#include <string_view>

#include "query/ast.hpp"
#include "query/lexer.hpp"

namespace graph {

/// One statement of the language, with or without a semicolon. Throws an `Error` with the position.
class Parser {
 public:
  explicit Parser(std::string_view statement);

  Statement parse();

 private:
  // Tokens
  void advance();
  bool at(Kind kind) const { return token_.kind == kind; }
  bool at(Word word) const { return token_.word == word; }
  bool take(Kind kind);
  bool take(Word word);
  void expect(Kind kind, const char *what);
  void expect(Word word, const char *what);
  [[noreturn]] void unexpected(const char *wanted) const;

  // Small parts
  std::string name(const char *what);
  VertexId id();
  std::vector<VertexId> ids();
  std::uint64_t count(const char *what);
  std::vector<Value> values();

  // Clauses
  ExpressionPtr where();
  void yields(Output &output);
  YieldColumn yield_column();
  void order_and_limit(Output &output);

  // Statements
  CreateStatement create();
  ShowStatement show();
  InsertStatement insert();
  void fetch(Statement &statement);
  GoStatement go();
  PathStatement find_path();
  LookupStatement lookup();

  // Expressions, in a file of their own
  ExpressionPtr expression(int least_binding = 0);
  ExpressionPtr suffixed(ExpressionPtr left, int strength, Operator op);
  ExpressionPtr prefixed();
  ExpressionPtr primary();
  ExpressionPtr property(std::string_view prefix);
  ExpressionPtr word_or_call();
  std::vector<ExpressionPtr> expressions(Kind end, const char *what);

  std::string_view statement_;
  Lexer lexer_;
  Token token_;
  int depth_ = 0;
};

}  // namespace graph

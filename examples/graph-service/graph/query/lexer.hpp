#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace graph {

enum class Word : std::uint8_t {
  none,  // not a word of the language
  and_, as, asc, bool_, by, contains, create, desc, distinct, double_, edge, edges, exists, explain, false_, fetch, find,
  from, go, hosts, if_, in, insert, int_, is, limit, lookup, not_, null, on, or_, order, over, path, prop, reversely,
  shortest, show, starts, stats, steps, string, tag, tags, to, true_, upto, values, vertex, where, with, xor_, yield,
};

enum class Kind : std::uint8_t {
  end, word, integer, real, string,
  left_paren, right_paren, left_bracket, right_bracket, comma, colon, semicolon, dot, arrow,
  source, destination,  // $^ and $$
  equal, unequal, less, less_or_equal, greater, greater_or_equal, plus, minus, star, slash, percent,
};

struct Token {
  Kind kind = Kind::end;
  Word word = Word::none;
  /// As in the statement; of strings without the quotes and with their escapes.
  std::string_view text;
  std::size_t position = 0;
  std::int64_t integer = 0;
  double real = 0;
};

class Lexer {
 public:
  explicit Lexer(std::string_view statement) : statement_(statement) {}

  Token next();

 private:
  Token word();
  Token number();
  Token string();
  Token symbol();
  Token token(Kind kind, std::size_t size);

  std::string_view statement_;
  std::size_t at_ = 0;
};

/// The text of a string token.
std::string unescape(std::string_view text);

[[noreturn]] void syntax_error(std::size_t position, const std::string &what);

}  // namespace graph

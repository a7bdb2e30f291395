#include "query/lexer.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "common/errors.hpp"

namespace graph {

namespace {

struct Known {
  std::string_view text;
  Word word;
};

// Sorted.
constexpr Known words[] = {
    {"and", Word::and_},         {"as", Word::as},           {"asc", Word::asc},
    {"bool", Word::bool_},       {"by", Word::by},           {"contains", Word::contains},
    {"create", Word::create},    {"desc", Word::desc},       {"distinct", Word::distinct},
    {"double", Word::double_},   {"edge", Word::edge},       {"edges", Word::edges},
    {"exists", Word::exists},    {"explain", Word::explain}, {"false", Word::false_},
    {"fetch", Word::fetch},      {"find", Word::find},       {"from", Word::from},
    {"go", Word::go},            {"hosts", Word::hosts},     {"if", Word::if_},
    {"in", Word::in},            {"insert", Word::insert},   {"int", Word::int_},
    {"is", Word::is},            {"limit", Word::limit},     {"lookup", Word::lookup},
    {"not", Word::not_},         {"null", Word::null},       {"on", Word::on},
    {"or", Word::or_},           {"order", Word::order},     {"over", Word::over},
    {"path", Word::path},        {"prop", Word::prop},       {"reversely", Word::reversely},
    {"shortest", Word::shortest}, {"show", Word::show},      {"starts", Word::starts},
    {"stats", Word::stats},      {"step", Word::steps},      {"steps", Word::steps},
    {"string", Word::string},    {"tag", Word::tag},         {"tags", Word::tags},
    {"to", Word::to},            {"true", Word::true_},      {"upto", Word::upto},
    {"values", Word::values},    {"vertex", Word::vertex},   {"where", Word::where},
    {"with", Word::with},        {"xor", Word::xor_},        {"yield", Word::yield},
};

constexpr std::size_t longest_word = 9;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

Word find_word(std::string_view text) {
  if (text.size() > longest_word) {
    return Word::none;
  }
  char lower[longest_word];
  std::transform(text.begin(), text.end(), lower,
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  std::string_view wanted(lower, text.size());
  auto found = std::lower_bound(std::begin(words), std::end(words), wanted,
                                [](const Known &known, std::string_view name) { return known.text < name; });
  return found != std::end(words) && found->text == wanted ? found->word : Word::none;
}

}  // namespace

void syntax_error(std::size_t position, const std::string &what) {
  throw Error("syntax error at " + std::to_string(position + 1) + ": " + what);
}

Token Lexer::next() {
  while (at_ < statement_.size() && is_space(statement_[at_])) {
    ++at_;
  }
  if (at_ >= statement_.size()) {
    return token(Kind::end, 0);
  }
  char c = statement_[at_];
  if (is_letter(c)) {
    return word();
  }
  if (is_digit(c)) {
    return number();
  }
  if (c == '"' || c == '\'') {
    return string();
  }
  return symbol();
}

Token Lexer::token(Kind kind, std::size_t size) {
  Token token;
  token.kind = kind;
  token.position = at_;
  token.text = statement_.substr(at_, size);
  at_ += size;
  return token;
}

Token Lexer::word() {
  std::size_t size = 1;
  while (at_ + size < statement_.size() && (is_letter(statement_[at_ + size]) || is_digit(statement_[at_ + size]))) {
    ++size;
  }
  Token result = token(Kind::word, size);
  result.word = find_word(result.text);
  return result;
}

Token Lexer::number() {
  std::size_t size = 1;
  bool real = false;
  for (; at_ + size < statement_.size(); ++size) {
    char c = statement_[at_ + size];
    bool sign_of_exponent = (c == '-' || c == '+') && real && (statement_[at_ + size - 1] | 32) == 'e';
    if (c == '.' || c == 'e' || c == 'E') {
      real = true;
    } else if (!is_digit(c) && !sign_of_exponent) {
      break;
    }
  }
  Token result = token(real ? Kind::real : Kind::integer, size);
  const char *begin = result.text.data();
  const char *end = begin + size;
  auto outcome = real ? std::from_chars(begin, end, result.real) : std::from_chars(begin, end, result.integer);
  if (outcome.ec != std::errc() || outcome.ptr != end) {
    syntax_error(result.position, "`" + std::string(result.text) + "` is not a number");
  }
  return result;
}

Token Lexer::string() {
  char quote = statement_[at_];
  std::size_t size = 1;
  while (at_ + size < statement_.size() && statement_[at_ + size] != quote) {
    size += statement_[at_ + size] == '\\' ? 2 : 1;
  }
  if (at_ + size >= statement_.size()) {
    syntax_error(at_, "this string has no end");
  }
  Token result = token(Kind::string, size + 1);
  result.text = result.text.substr(1, size - 1);
  return result;
}

Token Lexer::symbol() {
  char c = statement_[at_];
  char following = at_ + 1 < statement_.size() ? statement_[at_ + 1] : '\0';
  switch (c) {
    case '(': return token(Kind::left_paren, 1);
    case ')': return token(Kind::right_paren, 1);
    case '[': return token(Kind::left_bracket, 1);
    case ']': return token(Kind::right_bracket, 1);
    case ',': return token(Kind::comma, 1);
    case ':': return token(Kind::colon, 1);
    case ';': return token(Kind::semicolon, 1);
    case '.': return token(Kind::dot, 1);
    case '+': return token(Kind::plus, 1);
    case '*': return token(Kind::star, 1);
    case '/': return token(Kind::slash, 1);
    case '%': return token(Kind::percent, 1);
    case '-': return following == '>' ? token(Kind::arrow, 2) : token(Kind::minus, 1);
    case '<': return following == '=' ? token(Kind::less_or_equal, 2) : token(Kind::less, 1);
    case '>': return following == '=' ? token(Kind::greater_or_equal, 2) : token(Kind::greater, 1);
    case '=': return token(Kind::equal, following == '=' ? 2 : 1);
    case '!':
      if (following == '=') {
        return token(Kind::unequal, 2);
      }
      break;
    case '$':
      if (following == '^') {
        return token(Kind::source, 2);
      }
      if (following == '$') {
        return token(Kind::destination, 2);
      }
      break;
    default: break;
  }
  syntax_error(at_, std::string("unexpected character `") + c + "`");
}

std::string unescape(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    char c = text[++i];
    result += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
  }
  return result;
}

}  // namespace graph

#include "tokenizer.hpp"

namespace textpack {

/// Lower case, and all kinds of white space as one.
static void normalise(std::string &token) {
  for (char &c : token) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c + ('a' - 'A'));
    } else if (c == '\t' || c == '\n' || c == '\r') {
      c = ' ';
    }
  }
}

namespace {

class TrigramTokenizer final : public Tokenizer {
 public:
  void reset(std::string_view text) override { text_ = text; }

  bool next(std::string &token) override {
    if (text_.size() < 3) {
      return false;
    }
    token.assign(text_.substr(0, 3));
    text_.remove_prefix(1);
    normalise(token);
    return true;
  }

 private:
  std::string_view text_;
};

}  // namespace

std::unique_ptr<Tokenizer> trigram_tokenizer() { return std::make_unique<TrigramTokenizer>(); }

}  // namespace textpack

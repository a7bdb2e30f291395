#include "tokenizer.hpp"

namespace textpack {

/// Letters and digits. Bytes of UTF-8 sequences count as letters.
static bool is_part(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         (c & 0x80) != 0;
}

/// Lower case, without the commonest English endings.
static void normalise(std::string &token) {
  for (char &c : token) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c + ('a' - 'A'));
    }
  }
  static constexpr std::string_view kEndings[] = {"ing", "ed", "es", "s"};
  for (const std::string_view ending : kEndings) {
    if (token.size() >= ending.size() + 3 &&
        token.compare(token.size() - ending.size(), ending.size(), ending) == 0) {
      token.resize(token.size() - ending.size());
      return;
    }
  }
}

namespace {

class WordTokenizer final : public Tokenizer {
 public:
  void reset(std::string_view text) override {
    text_ = text;
    position_ = 0;
  }

  bool next(std::string &token) override {
    while (position_ < text_.size() && !is_part(text_[position_])) {
      position_++;
    }
    const size_t start = position_;
    while (position_ < text_.size() && is_part(text_[position_])) {
      position_++;
    }
    if (start == position_) {
      return false;
    }
    token.assign(text_.substr(start, position_ - start));
    normalise(token);
    return true;
  }

 private:
  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace

std::unique_ptr<Tokenizer> word_tokenizer() { return std::make_unique<WordTokenizer>(); }

}  // namespace textpack

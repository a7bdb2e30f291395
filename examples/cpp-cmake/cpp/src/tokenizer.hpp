#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace textpack {

/// Splits text into what the index finds it by.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Starts with another text, which must outlive the tokens.
  virtual void reset(std::string_view text) = 0;

  /// Writes the next token to `token`, or returns false at the end.
  virtual bool next(std::string &token) = 0;
};

std::unique_ptr<Tokenizer> word_tokenizer();
std::unique_ptr<Tokenizer> trigram_tokenizer();

}  // namespace textpack

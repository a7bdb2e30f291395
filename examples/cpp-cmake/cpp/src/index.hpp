#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "table.hpp"
#include "textpack.h"
#include "tokenizer.hpp"

namespace textpack {

struct StringTraits {
  static size_t hash(std::string_view key);
  static bool equal(const std::string &stored, std::string_view key) { return stored == key; }
};

struct NumberTraits {
  static size_t hash(uint32_t key) { return (key * uint64_t{0x9e3779b97f4a7c15}) >> 32; }
  static bool equal(uint32_t stored, uint32_t key) { return stored == key; }
};

/// An inverted index that ranks by how often a token is in a document, and how rare it is.
///
/// Integers throughout, so that every build gives the same scores.
class Index {
 public:
  explicit Index(std::unique_ptr<Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  uint32_t add(std::string_view text);
  std::vector<textpack_hit> search(std::string_view query, size_t limit);

 private:
  struct Posting {
    uint32_t document = 0;
    uint32_t count = 0;
  };

  uint64_t rarity(const std::vector<Posting> &postings) const;

  std::unique_ptr<Tokenizer> tokenizer_;
  Table<std::string, std::vector<Posting>, StringTraits> postings_;
  uint32_t documents_ = 0;
};

}  // namespace textpack

#include "index.hpp"

#include <algorithm>

#include "errors.hpp"

namespace textpack {

size_t StringTraits::hash(std::string_view key) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : key) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  }
  return static_cast<size_t>(hash ^ (hash >> 32));
}

uint32_t Index::add(std::string_view text) {
  const uint32_t document = documents_;
  if (document == UINT32_MAX) {
    throw BadArgument("the index is full");
  }
  std::string token;
  tokenizer_->reset(text);
  while (tokenizer_->next(token)) {
    std::vector<Posting> &postings = postings_[std::string_view(token)];
    if (!postings.empty() && postings.back().document == document) {
      postings.back().count++;
    } else {
      postings.push_back({document, 1});
    }
  }
  documents_++;
  return document;
}

/// Sixteen times the binary logarithm of the share of documents, rounded down to a sixteenth.
uint64_t Index::rarity(const std::vector<Posting> &postings) const {
  uint64_t ratio = (uint64_t{documents_} << 8) / postings.size();
  unsigned whole = 0;
  while (ratio >= 512) {
    ratio >>= 1;
    whole++;
  }
  return whole * 16 + (ratio - 256) / 16 + 1;
}

std::vector<textpack_hit> Index::search(std::string_view query, size_t limit) {
  Table<uint32_t, uint64_t, NumberTraits> scores;
  std::string token;
  tokenizer_->reset(query);
  while (tokenizer_->next(token)) {
    const std::vector<Posting> *postings = postings_.find(std::string_view(token));
    if (postings == nullptr) {
      continue;
    }
    const uint64_t weight = rarity(*postings);
    for (const Posting &posting : *postings) {
      // The tenth occurrence says less than the second.
      scores[posting.document] += weight * 256 * posting.count / (posting.count + 2);
    }
  }

  std::vector<textpack_hit> hits;
  hits.reserve(scores.size());
  scores.for_each([&](uint32_t document, uint64_t score) {
    hits.push_back({document, static_cast<uint32_t>(std::min<uint64_t>(score, UINT32_MAX))});
  });
  const auto end = hits.begin() + static_cast<std::ptrdiff_t>(std::min(limit, hits.size()));
  std::partial_sort(hits.begin(), end, hits.end(),
                    [](const textpack_hit &a, const textpack_hit &b) {
                      return a.score != b.score ? a.score > b.score : a.document < b.document;
                    });
  hits.erase(end, hits.end());
  return hits;
}

}  // namespace textpack

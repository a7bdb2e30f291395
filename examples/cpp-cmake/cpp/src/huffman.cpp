// Canonical Huffman codes of at most twelve bits. The format is 128 bytes with the 256 code
// lengths, a nibble each, then the codes, the lowest bit first.
#include <algorithm>
#include <array>
#include <queue>

#include "codec.hpp"

namespace textpack {
namespace {

constexpr unsigned kMaximumLength = 12;

using Lengths = std::array<uint8_t, 256>;
using Frequencies = std::array<uint64_t, 256>;

struct Code {
  uint16_t bits = 0;
  uint8_t length = 0;
};

struct Node {
  uint64_t weight;
  int left;
  int right;
};

}  // namespace

/// Out of line: the decoder is hot and this is not.
[[noreturn]] static void damaged(const char *what) { throw BadData(what); }

static uint8_t read_length(const uint8_t *header, size_t symbol) {
  const uint8_t pair = header[symbol / 2];
  return symbol % 2 == 0 ? pair & 15 : pair >> 4;
}

static uint16_t reverse(uint16_t bits, unsigned length) {
  uint16_t reversed = 0;
  for (unsigned i = 0; i < length; i++) {
    reversed = static_cast<uint16_t>(reversed << 1 | (bits >> i & 1));
  }
  return reversed;
}

/// Writes the depth of each leaf and returns the largest.
static unsigned measure(const std::vector<Node> &nodes, int node, unsigned depth,
                        Lengths &lengths) {
  if (node < 256) {
    lengths[static_cast<size_t>(node)] = static_cast<uint8_t>(std::max(depth, 1u));
    return std::max(depth, 1u);
  }
  const Node &inner = nodes[static_cast<size_t>(node)];
  return std::max(measure(nodes, inner.left, depth + 1, lengths),
                  measure(nodes, inner.right, depth + 1, lengths));
}

static unsigned build_tree(const Frequencies &frequencies, Lengths &lengths) {
  std::vector<Node> nodes(256);
  using Item = std::pair<uint64_t, int>;
  std::priority_queue<Item, std::vector<Item>, std::greater<>> queue;
  for (int symbol = 0; symbol < 256; symbol++) {
    if (frequencies[static_cast<size_t>(symbol)] != 0) {
      queue.push({frequencies[static_cast<size_t>(symbol)], symbol});
    }
  }
  while (queue.size() > 1) {
    const Item left = queue.top();
    queue.pop();
    const Item right = queue.top();
    queue.pop();
    nodes.push_back({left.first + right.first, left.second, right.second});
    queue.push({nodes.back().weight, static_cast<int>(nodes.size()) - 1});
  }
  lengths.fill(0);
  return queue.empty() ? 0 : measure(nodes, queue.top().second, 0, lengths);
}

/// Code lengths for the frequencies, which are flattened until the longest code fits.
static Lengths code_lengths(Frequencies frequencies) {
  Lengths lengths;
  while (build_tree(frequencies, lengths) > kMaximumLength) {
    for (uint64_t &frequency : frequencies) {
      frequency = frequency == 0 ? 0 : frequency / 2 + 1;
    }
  }
  return lengths;
}

/// Calls `visit` with each symbol and its code; codes are given out by length, then by symbol.
///
/// Throws BadData if the lengths are no prefix code.
template <typename Visit>
static void for_each_code(const Lengths &lengths, Visit visit) {
  unsigned next = 0;
  for (unsigned length = 1; length <= kMaximumLength; length++) {
    next <<= 1;
    for (size_t symbol = 0; symbol < 256; symbol++) {
      if (lengths[symbol] == length) {
        if (next >> length != 0) {
          damaged("the code lengths do not fit together");
        }
        visit(symbol, Code{reverse(static_cast<uint16_t>(next), length),
                           static_cast<uint8_t>(length)});
        next++;
      }
    }
  }
}

namespace {

class HuffmanCodec final : public Codec {
 public:
  void encode(const Bytes &input, Bytes &output) const override {
    Frequencies frequencies{};
    for (const uint8_t byte : input) {
      frequencies[byte]++;
    }
    const Lengths lengths = code_lengths(frequencies);
    for (size_t symbol = 0; symbol < 256; symbol += 2) {
      output.push_back(static_cast<uint8_t>(lengths[symbol] | lengths[symbol + 1] << 4));
    }
    std::array<Code, 256> codes{};
    for_each_code(lengths, [&](size_t symbol, Code code) { codes[symbol] = code; });

    uint64_t pending = 0;
    unsigned count = 0;
    for (const uint8_t byte : input) {
      const Code code = codes[byte];
      pending |= static_cast<uint64_t>(code.bits) << count;
      count += code.length;
      while (count >= 8) {
        output.push_back(static_cast<uint8_t>(pending));
        pending >>= 8;
        count -= 8;
      }
    }
    if (count != 0) {
      output.push_back(static_cast<uint8_t>(pending));
    }
  }

  void decode(Reader input, size_t size, Bytes &output) const override {
    const uint8_t *header = input.take(128);
    Lengths lengths;
    for (size_t symbol = 0; symbol < 256; symbol++) {
      lengths[symbol] = read_length(header, symbol);
    }
    // For each twelve bits of input the symbol that they start with.
    struct Step {
      uint8_t symbol = 0;
      uint8_t length = 0;
    };
    std::vector<Step> steps(size_t{1} << kMaximumLength);
    for_each_code(lengths, [&](size_t symbol, Code code) {
      for (size_t i = code.bits; i < steps.size(); i += size_t{1} << code.length) {
        steps[i] = {static_cast<uint8_t>(symbol), code.length};
      }
    });

    // No symbol takes less than a bit, so a size beyond that is a lie.
    output.reserve(output.size() + std::min(size, input.size() * 8));
    uint64_t pending = 0;
    unsigned count = 0;
    for (size_t i = 0; i < size; i++) {
      while (count < kMaximumLength && !input.empty()) {
        pending |= static_cast<uint64_t>(input.byte()) << count;
        count += 8;
      }
      const Step step = steps[pending & (steps.size() - 1)];
      if (step.length == 0 || step.length > count) {
        damaged("the data holds an unused code");
      }
      output.push_back(step.symbol);
      pending >>= step.length;
      count -= step.length;
    }
  }
};

}  // namespace

const Codec &huffman_codec() {
  static const HuffmanCodec codec;
  return codec;
}

}  // namespace textpack

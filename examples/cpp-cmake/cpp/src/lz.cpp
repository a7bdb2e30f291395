// LZ77 with hash chains. The format is a sequence of
//
//   token     high nibble: number of literals, low nibble: match length - 4
//   lengths   what does not fit a nibble, in steps of 255
//   literals
//   distance  two bytes, low byte first; left out after the last literals
#include <algorithm>
#include <cstring>

#include "codec.hpp"

namespace textpack {
namespace {

constexpr size_t kMinimumMatch = 4;
constexpr size_t kWindow = 0xffff;
constexpr unsigned kHashBits = 15;
constexpr unsigned kMaximumChain = 24;
constexpr uint32_t kNowhere = UINT32_MAX;

struct Match {
  size_t length = 0;
  size_t distance = 0;
};

}  // namespace

/// Out of line: the decoder is hot and this is not.
[[noreturn]] static void damaged(const char *what) { throw BadData(what); }

static uint32_t hash(const uint8_t *bytes) {
  uint32_t word;
  std::memcpy(&word, bytes, sizeof word);
  return (word * 2654435761u) >> (32 - kHashBits);
}

static size_t common_prefix(const uint8_t *a, const uint8_t *b, size_t limit) {
  size_t length = 0;
  while (length < limit && a[length] == b[length]) {
    length++;
  }
  return length;
}

static void put_length(Bytes &output, size_t length) {
  if (length < 15) {
    return;
  }
  for (length -= 15; length >= 255; length -= 255) {
    output.push_back(255);
  }
  output.push_back(static_cast<uint8_t>(length));
}

static size_t read_length(Reader &input, size_t nibble) {
  size_t length = nibble;
  if (nibble == 15) {
    uint8_t part;
    do {
      part = input.byte();
      length += part;
    } while (part == 255);
  }
  return length;
}

namespace {

/// Where each four-byte word was seen: the latest place, and from each place the one before.
class Chains {
 public:
  explicit Chains(const Bytes &input)
      : input_(input), heads_(size_t{1} << kHashBits, kNowhere), previous_(input.size()) {}

  void insert(size_t position) {
    uint32_t &head = heads_[hash(&input_[position])];
    previous_[position] = head;
    head = static_cast<uint32_t>(position);
  }

  Match longest(size_t position) const {
    Match best;
    const size_t limit = input_.size() - position;
    uint32_t candidate = heads_[hash(&input_[position])];
    for (unsigned tries = 0; tries < kMaximumChain && candidate != kNowhere; tries++) {
      const size_t distance = position - candidate;
      if (distance > kWindow) {
        break;
      }
      // A longer match must agree in the byte after the best one so far.
      if (best.length < limit &&
          input_[candidate + best.length] == input_[position + best.length]) {
        const size_t length = common_prefix(&input_[candidate], &input_[position], limit);
        if (length > best.length) {
          best = {length, distance};
        }
      }
      candidate = previous_[candidate];
    }
    return best;
  }

 private:
  const Bytes &input_;
  std::vector<uint32_t> heads_;
  std::vector<uint32_t> previous_;
};

class LzCodec final : public Codec {
 public:
  void encode(const Bytes &input, Bytes &output) const override {
    Chains chains(input);
    size_t literals = 0;
    size_t position = 0;
    while (position + kMinimumMatch <= input.size()) {
      const Match match = chains.longest(position);
      if (match.length < kMinimumMatch) {
        chains.insert(position++);
        continue;
      }
      put_sequence(input, literals, position, match, output);
      const size_t end = position + match.length;
      for (; position < end; position++) {
        if (position + kMinimumMatch <= input.size()) {
          chains.insert(position);
        }
      }
      literals = end;
    }
    if (literals < input.size()) {
      put_sequence(input, literals, input.size(), Match{}, output);
    }
  }

  void decode(Reader input, size_t size, Bytes &output) const override {
    const size_t start = output.size();
    while (output.size() - start < size) {
      const uint8_t token = input.byte();
      const size_t literals = read_length(input, token >> 4);
      const uint8_t *bytes = input.take(literals);
      output.insert(output.end(), bytes, bytes + literals);
      if (output.size() - start >= size) {
        break;
      }
      copy_match(input, token & 15, start, size, output);
    }
  }

 private:
  static void put_sequence(const Bytes &input, size_t literals, size_t position, Match match,
                           Bytes &output) {
    const size_t count = position - literals;
    const size_t extra = match.length == 0 ? 0 : match.length - kMinimumMatch;
    output.push_back(
        static_cast<uint8_t>(std::min<size_t>(count, 15) << 4 | std::min<size_t>(extra, 15)));
    put_length(output, count);
    const auto first = input.begin() + static_cast<std::ptrdiff_t>(literals);
    output.insert(output.end(), first, first + static_cast<std::ptrdiff_t>(count));
    if (match.length != 0) {
      output.push_back(static_cast<uint8_t>(match.distance));
      output.push_back(static_cast<uint8_t>(match.distance >> 8));
      put_length(output, extra);
    }
  }

  static void copy_match(Reader &input, size_t nibble, size_t start, size_t size, Bytes &output) {
    size_t distance = input.byte();
    distance |= static_cast<size_t>(input.byte()) << 8;
    const size_t length = read_length(input, nibble) + kMinimumMatch;
    const size_t written = output.size() - start;
    if (distance == 0 || distance > written) {
      damaged("a match starts before the data");
    }
    if (length > size - written) {
      damaged("a match ends after the data");
    }
    // Byte by byte: source and target overlap where a pattern repeats.
    for (size_t i = 0; i < length; i++) {
      output.push_back(output[output.size() - distance]);
    }
  }
};

}  // namespace

const Codec &lz_codec() {
  static const LzCodec codec;
  return codec;
}

}  // namespace textpack

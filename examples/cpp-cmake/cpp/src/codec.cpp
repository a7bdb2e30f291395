#include "codec.hpp"

#include <algorithm>

#include "checksum.h"

namespace textpack {
namespace {

constexpr uint8_t kMagic[] = {'T', 'P', '1'};

/// Refuses sizes that no honest header holds, before memory is asked for.
constexpr uint64_t kMaximumSize = uint64_t{1} << 30;

class StoreCodec final : public Codec {
 public:
  void encode(const Bytes &input, Bytes &output) const override {
    output.insert(output.end(), input.begin(), input.end());
  }

  void decode(Reader input, size_t size, Bytes &output) const override {
    const uint8_t *bytes = input.take(size);
    output.insert(output.end(), bytes, bytes + size);
  }
};

/// One codec after the other.
class ChainCodec final : public Codec {
 public:
  ChainCodec(const Codec &first, const Codec &second) : first_(first), second_(second) {}

  void encode(const Bytes &input, Bytes &output) const override {
    Bytes between;
    first_.encode(input, between);
    put_varint(output, between.size());
    second_.encode(between, output);
  }

  void decode(Reader input, size_t size, Bytes &output) const override {
    const uint64_t between_size = input.varint();
    if (between_size > kMaximumSize) {
      throw BadData("the data claims to be too large");
    }
    Bytes between;
    second_.decode(input, static_cast<size_t>(between_size), between);
    first_.decode(Reader(between.data(), between.size()), size, output);
  }

 private:
  const Codec &first_;
  const Codec &second_;
};

struct Entry {
  std::string_view name;
  const Codec *codec;
};

/// All codecs. The position is the number in the header: append only.
const std::vector<Entry> &registry() {
  static const StoreCodec store;
  static const ChainCodec chain(lz_codec(), huffman_codec());
  static const std::vector<Entry> entries = {
      {"store", &store},
      {"lz", &lz_codec()},
      {"huffman", &huffman_codec()},
      {"lz-huffman", &chain},
  };
  return entries;
}

}  // namespace

Bytes pack(std::string_view codec, const Bytes &input) {
  const auto &entries = registry();
  const auto entry = std::find_if(entries.begin(), entries.end(),
                                  [&](const Entry &entry) { return entry.name == codec; });
  if (entry == entries.end()) {
    throw BadArgument("no codec is called `" + std::string(codec) + "`");
  }
  Bytes output(std::begin(kMagic), std::end(kMagic));
  output.push_back(static_cast<uint8_t>(entry - entries.begin()));
  put_varint(output, input.size());
  put_varint(output, textpack_crc32(input.data(), input.size()));
  entry->codec->encode(input, output);
  return output;
}

Bytes unpack(Reader input) {
  if (!std::equal(std::begin(kMagic), std::end(kMagic), input.take(sizeof kMagic))) {
    throw BadData("the data does not start with `TP1`");
  }
  const uint8_t number = input.byte();
  if (number >= registry().size()) {
    throw BadData("the data names an unknown codec");
  }
  const uint64_t size = input.varint();
  if (size > kMaximumSize) {
    throw BadData("the data claims to be too large");
  }
  const uint64_t checksum = input.varint();
  Bytes output;
  registry()[number].codec->decode(input, static_cast<size_t>(size), output);
  if (output.size() != size || textpack_crc32(output.data(), output.size()) != checksum) {
    throw BadData("the checksum does not match");
  }
  return output;
}

}  // namespace textpack

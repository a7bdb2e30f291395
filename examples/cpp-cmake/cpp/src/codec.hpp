#pragma once

#include <string_view>

#include "bytes.hpp"

namespace textpack {

/// A reversible encoding of bytes.
class Codec {
 public:
  virtual ~Codec() = default;

  /// Appends the encoding of `input` to `output`.
  virtual void encode(const Bytes &input, Bytes &output) const = 0;

  /// Appends the `size` bytes that `input` stands for to `output`.
  ///
  /// Throws BadData if `input` stands for something else.
  virtual void decode(Reader input, size_t size, Bytes &output) const = 0;
};

const Codec &lz_codec();
const Codec &huffman_codec();

/// Packs `input`: a header with size and checksum, then the output of the codec.
Bytes pack(std::string_view codec, const Bytes &input);

/// The reverse of pack, which finds the codec in the header.
Bytes unpack(Reader input);

}  // namespace textpack

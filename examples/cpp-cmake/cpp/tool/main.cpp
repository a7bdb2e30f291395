// Packs and unpacks files: textpack-tool pack CODEC INPUT OUTPUT | unpack INPUT OUTPUT
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include "textpack.h"

static bool read(const char *path, std::vector<uint8_t> &bytes) {
  std::ifstream file(path, std::ios::binary);
  bytes.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  return static_cast<bool>(file) || file.eof();
}

static bool write(const char *path, const textpack_buffer &buffer) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char *>(buffer.data),
             static_cast<std::streamsize>(buffer.size));
  return static_cast<bool>(file.flush());
}

int main(int argc, char **argv) {
  const bool pack = argc == 5 && std::strcmp(argv[1], "pack") == 0;
  const bool unpack = argc == 4 && std::strcmp(argv[1], "unpack") == 0;
  if (!pack && !unpack) {
    std::cerr << "usage: textpack-tool pack CODEC INPUT OUTPUT\n"
                 "       textpack-tool unpack INPUT OUTPUT\n";
    return 2;
  }
  const char *input = argv[argc - 2];
  const char *output = argv[argc - 1];
  std::vector<uint8_t> bytes;
  if (!read(input, bytes)) {
    std::cerr << "error: cannot read `" << input << "`\n";
    return 1;
  }
  textpack_buffer result{};
  const textpack_status status = pack
                                     ? textpack_pack(argv[2], bytes.data(), bytes.size(), &result)
                                     : textpack_unpack(bytes.data(), bytes.size(), &result);
  if (status != TEXTPACK_OK) {
    std::cerr << "error: " << textpack_error() << "\n";
    return 1;
  }
  const bool written = write(output, result);
  textpack_release(result);
  if (!written) {
    std::cerr << "error: cannot write `" << output << "`\n";
    return 1;
  }
  return 0;
}

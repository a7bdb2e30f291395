#include "checksum.h"

/* One step of the CRC for four bits: a table that fits a cache line. */
static const uint32_t nibbles[16] = {
    0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
    0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2d8, 0x86d3d2b4, 0xa00ae278, 0xbdbdf21c,
};

static uint32_t step(uint32_t crc, uint8_t byte) {
  crc ^= byte;
  crc = (crc >> 4) ^ nibbles[crc & 15];
  return (crc >> 4) ^ nibbles[crc & 15];
}

uint32_t textpack_crc32(const uint8_t *data, size_t size) {
  uint32_t crc = 0xffffffffu;
  size_t i;
  for (i = 0; i < size; i++) {
    crc = step(crc, data[i]);
  }
  return ~crc;
}

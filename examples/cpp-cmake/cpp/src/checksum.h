#ifndef TEXTPACK_CHECKSUM_H
#define TEXTPACK_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CRC-32 as in zlib and PNG. */
uint32_t textpack_crc32(const uint8_t *data, size_t size);

#ifdef __cplusplus
}
#endif

#endif

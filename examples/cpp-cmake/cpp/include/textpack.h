/* Compression and full-text search: the C interface of the library. */
#ifndef TEXTPACK_H
#define TEXTPACK_H

#include <stddef.h>
#include <stdint.h>

#define TEXTPACK_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef enum textpack_status {
  TEXTPACK_OK = 0,
  /* The packed data is damaged or was not made by this library. */
  TEXTPACK_BAD_DATA = 1,
  /* An argument has no meaning, such as the name of an unknown codec. */
  TEXTPACK_BAD_ARGUMENT = 2,
  TEXTPACK_NO_MEMORY = 3
} textpack_status;

/* Memory of the library, to be given back with textpack_release. */
typedef struct textpack_buffer {
  uint8_t *data;
  size_t size;
} textpack_buffer;

typedef struct textpack_hit {
  uint32_t document;
  uint32_t score;
} textpack_hit;

typedef struct textpack_index textpack_index;

/* Why the last call of this thread failed; valid until the next failure. */
TEXTPACK_API const char *textpack_error(void);

/* Packs data with the codec of that name: store, lz, huffman or lz-huffman. */
TEXTPACK_API textpack_status textpack_pack(const char *codec, const uint8_t *data, size_t size,
                                           textpack_buffer *packed);
TEXTPACK_API textpack_status textpack_unpack(const uint8_t *data, size_t size,
                                             textpack_buffer *unpacked);
TEXTPACK_API void textpack_release(textpack_buffer buffer);

/* Makes an empty index of words, or of trigrams; NULL for another name. */
TEXTPACK_API textpack_index *textpack_index_new(const char *tokens);
TEXTPACK_API void textpack_index_delete(textpack_index *index);
/* Adds a document. The first one has the number 0. */
TEXTPACK_API textpack_status textpack_index_add(textpack_index *index, const char *text,
                                                size_t size, uint32_t *document);
/* Writes at most `capacity` hits, the best first, and their number. */
TEXTPACK_API textpack_status textpack_index_search(textpack_index *index, const char *query,
                                                   size_t size, textpack_hit *hits,
                                                   size_t capacity, size_t *count);

#ifdef __cplusplus
}
#endif

#endif

// The C interface: exceptions end here, as status codes.
#include "textpack.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "codec.hpp"
#include "index.hpp"

struct textpack_index {
  textpack::Index index;
};

namespace {

thread_local std::string last_error;

textpack_status fail(textpack_status status, const char *message) {
  last_error = message;
  return status;
}

template <typename Call>
textpack_status guard(Call call) {
  try {
    call();
    return TEXTPACK_OK;
  } catch (const textpack::BadData &error) {
    return fail(TEXTPACK_BAD_DATA, error.what());
  } catch (const textpack::BadArgument &error) {
    return fail(TEXTPACK_BAD_ARGUMENT, error.what());
  } catch (const std::bad_alloc &) {
    return fail(TEXTPACK_NO_MEMORY, "out of memory");
  }
}

textpack_buffer to_buffer(const textpack::Bytes &bytes) {
  // One more byte, so that an empty result is no null pointer.
  auto *data = static_cast<uint8_t *>(std::malloc(bytes.size() + 1));
  if (data == nullptr) {
    throw std::bad_alloc();
  }
  if (!bytes.empty()) {
    std::memcpy(data, bytes.data(), bytes.size());
  }
  return {data, bytes.size()};
}

}  // namespace

const char *textpack_error(void) { return last_error.c_str(); }

textpack_status textpack_pack(const char *codec, const uint8_t *data, size_t size,
                              textpack_buffer *packed) {
  return guard([&] {
    *packed = to_buffer(textpack::pack(codec, textpack::Bytes(data, data + size)));
  });
}

textpack_status textpack_unpack(const uint8_t *data, size_t size, textpack_buffer *unpacked) {
  return guard([&] { *unpacked = to_buffer(textpack::unpack(textpack::Reader(data, size))); });
}

void textpack_release(textpack_buffer buffer) { std::free(buffer.data); }

textpack_index *textpack_index_new(const char *tokens) {
  textpack_index *index = nullptr;
  guard([&] {
    const std::string_view kind = tokens;
    if (kind == "words") {
      index = new textpack_index{textpack::Index(textpack::word_tokenizer())};
    } else if (kind == "trigrams") {
      index = new textpack_index{textpack::Index(textpack::trigram_tokenizer())};
    } else {
      throw textpack::BadArgument("tokens are `words` or `trigrams`");
    }
  });
  return index;
}

void textpack_index_delete(textpack_index *index) { delete index; }

textpack_status textpack_index_add(textpack_index *index, const char *text, size_t size,
                                   uint32_t *document) {
  return guard([&] { *document = index->index.add(std::string_view(text, size)); });
}

textpack_status textpack_index_search(textpack_index *index, const char *query, size_t size,
                                      textpack_hit *hits, size_t capacity, size_t *count) {
  return guard([&] {
    const auto found = index->index.search(std::string_view(query, size), capacity);
    std::copy(found.begin(), found.end(), hits);
    *count = found.size();
  });
}

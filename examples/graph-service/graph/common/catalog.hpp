#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/codec.hpp"
#include "common/value.hpp"

namespace graph {

struct Column {
  std::string name;
  Type type = Type::null;
};

/// A tag of vertices or a type of edges.
struct Definition {
  std::uint32_t id = 0;
  std::string name;
  std::vector<Column> columns;

  /// -1 if there is none.
  int column(std::string_view name) const;
};

/// What metad knows: who has which partition, which tags and edges there are.
struct Catalog {
  std::uint64_t version = 0;
  std::vector<std::string> hosts;
  /// Of each partition, the number of its host. Complete when all hosts have come.
  std::vector<std::uint32_t> placement;
  std::vector<Definition> tags;
  std::vector<Definition> edges;

  bool complete() const;

  const Definition *tag(std::string_view name) const;
  const Definition *edge(std::string_view name) const;
  const Definition *tag(std::uint32_t id) const;
  const Definition *edge(std::uint32_t id) const;

  void encode(Writer &out) const;
  static Catalog decode(Reader &in);
};

void encode_columns(Writer &out, const std::vector<Column> &columns);
std::vector<Column> decode_columns(Reader &in);

}  // namespace graph

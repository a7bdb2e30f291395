#pragma once

#include <cstdint>
#include <shared_mutex>
#include <string>
#include <vector>

#include "common/catalog.hpp"
#include "common/hash.hpp"
#include "storage/adjacency.hpp"

namespace graph {

struct Vertex {
  struct TagRow {
    std::uint32_t tag;
    std::string row;
  };

  VertexId id = 0;
  std::vector<TagRow> rows;
  std::vector<Adjacency> lists;

  /// Null if the vertex does not have the tag.
  const std::string *row(std::uint32_t tag) const;
  /// Null if the vertex has no such edges.
  const Adjacency *list(std::uint32_t edge, Direction direction) const;
};

struct Statistics {
  std::uint64_t vertices = 0;
  std::uint64_t edges = 0;
  std::uint64_t bytes = 0;
};

/// Some of the vertices, with the edges that begin and end at them.
class Partition {
 public:
  std::shared_mutex &mutex() const { return mutex_; }

  // Under the mutex:

  const Vertex *find(VertexId id) const;
  const std::vector<Vertex> &vertices() const { return vertices_; }
  void put_vertex(VertexId id, std::uint32_t tag, std::string row);
  void put_edge(VertexId owner, std::uint32_t edge, Direction direction, VertexId neighbour, std::string_view row);
  /// Each edge is counted where it begins.
  Statistics statistics() const;

 private:
  Vertex &find_or_add(VertexId id);

  mutable std::shared_mutex mutex_;
  IdMap<std::uint32_t> index_;
  std::vector<Vertex> vertices_;
};

}  // namespace graph

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/value.hpp"

namespace graph {

enum class Direction : std::uint8_t { out, in };

/// The edges of one type that begin (or end) at a vertex, sorted by their other end.
class Adjacency {
 public:
  Adjacency(std::uint32_t edge, Direction direction) : edge_(edge), direction_(direction) {}

  std::uint32_t edge() const { return edge_; }
  Direction direction() const { return direction_; }

  std::size_t size() const { return neighbours_.size(); }
  VertexId neighbour(std::size_t i) const { return neighbours_[i]; }
  std::string_view row(std::size_t i) const {
    return std::string_view(rows_).substr(places_[i].offset, places_[i].size);
  }
  std::size_t bytes() const { return rows_.size(); }

  /// -1 if there is no such edge.
  std::ptrdiff_t find(VertexId neighbour) const;

  /// Replaces the properties of an edge that is there already; then false.
  bool insert(VertexId neighbour, std::string_view row);

 private:
  struct Place {
    std::uint32_t offset;
    std::uint32_t size;
  };

  void replace(Place &place, std::string_view row);
  void compact();

  std::uint32_t edge_;
  Direction direction_;
  std::vector<VertexId> neighbours_;
  std::vector<Place> places_;
  std::string rows_;
  /// Bytes of rows that were replaced.
  std::size_t dead_ = 0;
};

}  // namespace graph

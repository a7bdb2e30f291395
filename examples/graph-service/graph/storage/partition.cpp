#include "storage/partition.hpp"

namespace graph {

const std::string *Vertex::row(std::uint32_t tag) const {
  for (const TagRow &candidate : rows) {
    if (candidate.tag == tag) {
      return &candidate.row;
    }
  }
  return nullptr;
}

const Adjacency *Vertex::list(std::uint32_t edge, Direction direction) const {
  for (const Adjacency &candidate : lists) {
    if (candidate.edge() == edge && candidate.direction() == direction) {
      return &candidate;
    }
  }
  return nullptr;
}

const Vertex *Partition::find(VertexId id) const {
  const std::uint32_t *position = index_.find(id);
  return position != nullptr ? &vertices_[*position] : nullptr;
}

Vertex &Partition::find_or_add(VertexId id) {
  auto [position, added] = index_.insert(id, static_cast<std::uint32_t>(vertices_.size()));
  if (added) {
    vertices_.emplace_back().id = id;
  }
  return vertices_[*position];
}

void Partition::put_vertex(VertexId id, std::uint32_t tag, std::string row) {
  Vertex &vertex = find_or_add(id);
  for (Vertex::TagRow &known : vertex.rows) {
    if (known.tag == tag) {
      known.row = std::move(row);
      return;
    }
  }
  vertex.rows.push_back({tag, std::move(row)});
}

void Partition::put_edge(VertexId owner, std::uint32_t edge, Direction direction, VertexId neighbour,
                         std::string_view row) {
  Vertex &vertex = find_or_add(owner);
  for (Adjacency &known : vertex.lists) {
    if (known.edge() == edge && known.direction() == direction) {
      known.insert(neighbour, row);
      return;
    }
  }
  vertex.lists.emplace_back(edge, direction).insert(neighbour, row);
}

Statistics Partition::statistics() const {
  Statistics result;
  for (const Vertex &vertex : vertices_) {
    result.vertices += vertex.rows.empty() ? 0 : 1;
    for (const Vertex::TagRow &row : vertex.rows) {
      result.bytes += row.row.size();
    }
    for (const Adjacency &list : vertex.lists) {
      result.edges += list.direction() == Direction::out ? list.size() : 0;
      result.bytes += list.bytes() + list.size() * sizeof(VertexId);
    }
  }
  return result;
}

}  // namespace graph

#include "storage/service.hpp"

#include <mutex>
#include <shared_mutex>

#include "common/errors.hpp"
#include "storage/row.hpp"

namespace graph {

namespace {

/// A vertex with one tag, or a vertex that an edge is followed from.
class StoredRow final : public Row {
 public:
  explicit StoredRow(const Catalog &catalog) : catalog_(catalog) {}

  void set_vertex(const Vertex &vertex) { vertex_ = &vertex; }

  void set_edge(const Definition &edge, VertexId neighbour, std::string_view row) {
    edge_ = &edge;
    neighbour_ = neighbour;
    edge_row_ = row;
  }

  const Value &at(const Reference &reference, Value &scratch) const override {
    switch (reference.scope) {
      case Scope::vertex:
      case Scope::source: read_tag(reference, scratch); break;
      case Scope::edge:
        RowView(edge_row_, edge_->columns.size()).read(*edge_, reference.column, scratch);
        break;
      case Scope::id:
      case Scope::source_id: scratch = Value(vertex_->id); break;
      case Scope::destination_id: scratch = Value(neighbour_); break;
      case Scope::destination: throw Error("properties of the far end are with another partition");
    }
    return scratch;
  }

 private:
  void read_tag(const Reference &reference, Value &scratch) const {
    const std::string *row = vertex_->row(reference.owner);
    if (row == nullptr) {
      scratch = Value();
      return;
    }
    const Definition &tag = *catalog_.tag(reference.owner);
    RowView(*row, tag.columns.size()).read(tag, reference.column, scratch);
  }

  const Catalog &catalog_;
  const Vertex *vertex_ = nullptr;
  const Definition *edge_ = nullptr;
  VertexId neighbour_ = 0;
  std::string_view edge_row_;
};

/// A reference as a request has it, that this catalog can answer.
void check(const Catalog &catalog, const Definition *edge, const Reference &reference) {
  switch (reference.scope) {
    case Scope::vertex:
    case Scope::source:
      if (reference.column >= required(catalog.tag(reference.owner), "tag").columns.size()) {
        throw Error("the storage daemon does not know this property of a tag");
      }
      break;
    case Scope::edge:
      if (edge == nullptr || reference.owner != edge->id || reference.column >= edge->columns.size()) {
        throw Error("the storage daemon does not know this property of an edge");
      }
      break;
    case Scope::destination_id:
      if (edge == nullptr) {
        throw Error("a vertex has no far end");
      }
      break;
    case Scope::destination: throw Error("properties of the far end are with another partition");
    case Scope::id:
    case Scope::source_id: break;
  }
}

/// Which rows are wanted, and what of them.
class Selection {
 public:
  Selection(const Catalog &catalog, const Definition *edge, Reader &in) {
    for (std::uint64_t left = in.number(); left > 0; --left) {
      columns_.push_back(Reference::decode(in));
      check(catalog, edge, columns_.back());
    }
    if (in.byte() != 0) {
      filter_ = Expression::decode(in);
      for_each_property(filter_, [&](Property &property) { check(catalog, edge, property.reference()); });
    }
  }

  void begin(Writer &out) { place_ = out.reserve_count(); }

  void add(const StoredRow &row, Writer &out) {
    if (filter_ && !holds(*filter_, row, scratch_)) {
      return;
    }
    for (const Reference &column : columns_) {
      out.value(row.at(column, scratch_));
    }
    ++rows_;
  }

  void end(Writer &out) { out.fill_count(place_, rows_); }

 private:
  std::vector<Reference> columns_;
  ExpressionPtr filter_;
  Value scratch_;
  std::size_t place_ = 0;
  std::uint32_t rows_ = 0;
};

/// Calls `visit` with each partition that a request names, locked.
template <typename Visit>
void for_each_partition(const Store &store, Reader &in, Visit visit) {
  for (std::uint64_t parts = in.number(); parts > 0; --parts) {
    const Partition &partition = store.partition(static_cast<std::uint32_t>(in.number()));
    std::shared_lock<std::shared_mutex> lock(partition.mutex());
    visit(partition);
  }
}

/// Calls `visit` with each vertex that a request names and that is there.
template <typename Visit>
void for_each_vertex(const Store &store, Reader &in, Visit visit) {
  for_each_partition(store, in, [&](const Partition &partition) {
    for (std::uint64_t left = in.number(); left > 0; --left) {
      if (const Vertex *vertex = partition.find(in.integer())) {
        visit(*vertex);
      }
    }
  });
}

Direction read_direction(Reader &in) { return in.byte() != 0 ? Direction::in : Direction::out; }

}  // namespace

void StorageService::handle(Method method, Reader &in, Writer &out) {
  if (method == Method::add_vertices || method == Method::add_edges) {
    std::string_view request = in.rest();
    if (in.number() > store_.catalog()->version) {
      refresh_();
    }
    store_.write(method, request);
    return;
  }
  if (in.number() > store_.catalog()->version) {
    refresh_();
  }
  auto catalog = store_.catalog();
  switch (method) {
    case Method::get_vertices: return get_vertices(*catalog, in, out);
    case Method::get_edges: return get_edges(*catalog, in, out);
    case Method::get_neighbours: return get_neighbours(*catalog, in, out);
    case Method::get_degrees: return get_degrees(in, out);
    case Method::scan_vertices: return scan_vertices(*catalog, in, out);
    case Method::get_statistics: return get_statistics(out);
    default: throw Error("storaged has no such method");
  }
}

void StorageService::get_vertices(const Catalog &catalog, Reader &in, Writer &out) {
  auto tag = static_cast<std::uint32_t>(in.number());
  Selection selection(catalog, nullptr, in);
  StoredRow row(catalog);
  selection.begin(out);
  for_each_vertex(store_, in, [&](const Vertex &vertex) {
    if (vertex.row(tag) != nullptr) {
      row.set_vertex(vertex);
      selection.add(row, out);
    }
  });
  selection.end(out);
}

void StorageService::get_edges(const Catalog &catalog, Reader &in, Writer &out) {
  const Definition &edge = required(catalog.edge(static_cast<std::uint32_t>(in.number())), "edge type");
  Selection selection(catalog, &edge, in);
  StoredRow row(catalog);
  selection.begin(out);
  for_each_partition(store_, in, [&](const Partition &partition) {
    for (std::uint64_t left = in.number(); left > 0; --left) {
      const Vertex *vertex = partition.find(in.integer());
      VertexId neighbour = in.integer();
      const Adjacency *list = vertex != nullptr ? vertex->list(edge.id, Direction::out) : nullptr;
      std::ptrdiff_t found = list != nullptr ? list->find(neighbour) : -1;
      if (found >= 0) {
        row.set_vertex(*vertex);
        row.set_edge(edge, neighbour, list->row(static_cast<std::size_t>(found)));
        selection.add(row, out);
      }
    }
  });
  selection.end(out);
}

void StorageService::get_neighbours(const Catalog &catalog, Reader &in, Writer &out) {
  const Definition &edge = required(catalog.edge(static_cast<std::uint32_t>(in.number())), "edge type");
  Direction direction = read_direction(in);
  Selection selection(catalog, &edge, in);
  StoredRow row(catalog);
  selection.begin(out);
  for_each_vertex(store_, in, [&](const Vertex &vertex) {
    const Adjacency *list = vertex.list(edge.id, direction);
    if (list == nullptr) {
      return;
    }
    row.set_vertex(vertex);
    for (std::size_t i = 0; i < list->size(); ++i) {
      row.set_edge(edge, list->neighbour(i), list->row(i));
      selection.add(row, out);
    }
  });
  selection.end(out);
}

void StorageService::get_degrees(Reader &in, Writer &out) {
  auto edge = static_cast<std::uint32_t>(in.number());
  Direction direction = read_direction(in);
  std::uint64_t sum = 0;
  for_each_vertex(store_, in, [&](const Vertex &vertex) {
    const Adjacency *list = vertex.list(edge, direction);
    sum += list != nullptr ? list->size() : 0;
  });
  out.number(sum);
}

void StorageService::scan_vertices(const Catalog &catalog, Reader &in, Writer &out) {
  auto tag = static_cast<std::uint32_t>(in.number());
  Selection selection(catalog, nullptr, in);
  StoredRow row(catalog);
  selection.begin(out);
  for_each_partition(store_, in, [&](const Partition &partition) {
    for (const Vertex &vertex : partition.vertices()) {
      if (vertex.row(tag) != nullptr) {
        row.set_vertex(vertex);
        selection.add(row, out);
      }
    }
  });
  selection.end(out);
}

void StorageService::get_statistics(Writer &out) {
  Statistics sum;
  for (std::uint32_t i = 0; i < store_.partitions(); ++i) {
    const Partition &partition = store_.partition(i);
    std::shared_lock<std::shared_mutex> lock(partition.mutex());
    Statistics own = partition.statistics();
    sum.vertices += own.vertices;
    sum.edges += own.edges;
    sum.bytes += own.bytes;
  }
  out.number(sum.vertices);
  out.number(sum.edges);
  out.number(sum.bytes);
}

}  // namespace graph

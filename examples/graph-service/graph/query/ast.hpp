#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/catalog.hpp"
#include "common/expression.hpp"

namespace graph {

enum class Aggregate : std::uint8_t { none, count, sum, average, least, greatest };

/// The aggregate of that name; `none` if there is none.
Aggregate find_aggregate(std::string_view name);

struct YieldColumn {
  Aggregate aggregate = Aggregate::none;
  /// Null for COUNT(*).
  ExpressionPtr expression;
  std::string name;
};

struct OrderKey {
  std::string column;
  bool descending = false;
};

/// What follows WHERE.
struct Output {
  std::vector<YieldColumn> columns;
  bool distinct = false;
  std::vector<OrderKey> order;
  std::optional<std::uint64_t> limit;
};

struct CreateStatement {
  bool edge = false;
  bool may_exist = false;
  std::string name;
  std::vector<Column> columns;
};

enum class Shown : std::uint8_t { tags, edges, hosts, statistics };

struct ShowStatement {
  Shown what = Shown::tags;
};

/// A vertex (then `destination` means nothing) or an edge.
struct InsertItem {
  VertexId id = 0;
  VertexId destination = 0;
  std::vector<Value> values;
};

struct InsertStatement {
  bool edge = false;
  std::string name;
  std::vector<std::string> columns;
  std::vector<InsertItem> items;
};

struct FetchVertices {
  std::string tag;
  std::vector<VertexId> ids;
  Output output;
};

struct FetchEdges {
  std::string edge;
  std::vector<std::pair<VertexId, VertexId>> ends;
  Output output;
};

struct GoStatement {
  std::uint64_t steps = 1;
  std::vector<VertexId> from;
  std::string edge;
  bool reversely = false;
  ExpressionPtr where;
  Output output;
};

struct PathStatement {
  VertexId from = 0;
  VertexId to = 0;
  std::string edge;
  std::uint64_t steps = 5;
  std::optional<std::uint64_t> limit;
};

struct LookupStatement {
  std::string tag;
  ExpressionPtr where;
  Output output;
};

struct Statement {
  bool explain = false;
  std::variant<CreateStatement, ShowStatement, InsertStatement, FetchVertices, FetchEdges, GoStatement, PathStatement,
               LookupStatement>
      content;
};

}  // namespace graph

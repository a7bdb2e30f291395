#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "common/catalog.hpp"
#include "common/expression.hpp"
#include "common/rpc.hpp"

namespace graph {

/// What storage daemons are asked for: columns of rows that pass a filter.
struct Selection {
  std::vector<Reference> columns;
  /// May be null.
  ExpressionPtr filter;

  void encode(Writer &out) const;
};

struct NewRow {
  VertexId id = 0;
  /// Of an edge.
  VertexId destination = 0;
  /// One for each column of the definition.
  std::vector<Value> values;
};

struct SpaceStatistics {
  std::uint64_t vertices = 0;
  std::uint64_t edges = 0;
  std::uint64_t bytes = 0;
};

/// The connections of one session to all storage daemons. Divides requests by partition.
class StorageClient {
 public:
  void use(std::shared_ptr<const Catalog> catalog);

  void add_vertices(const Definition &tag, const std::vector<NewRow> &rows);
  /// With both ends.
  void add_edges(const Definition &edge, const std::vector<NewRow> &rows);

  // Values of the selected columns are appended to `cells`, row by row.
  void get_vertices(const Definition &tag, const Selection &selection, const std::vector<VertexId> &ids,
                    std::vector<Value> &cells);
  void get_edges(const Definition &edge, const Selection &selection,
                 const std::vector<std::pair<VertexId, VertexId>> &ends, std::vector<Value> &cells);
  void get_neighbours(const Definition &edge, bool reversely, const Selection &selection,
                      const std::vector<VertexId> &ids, std::vector<Value> &cells);
  void scan_vertices(const Definition &tag, const Selection &selection, std::vector<Value> &cells);

  /// The edges of these vertices, as pairs of where they were followed from and to.
  void follow(const Definition &edge, bool reversely, const std::vector<VertexId> &ids,
              std::vector<std::pair<VertexId, VertexId>> &found);
  /// Only where edges lead to.
  void follow(const Definition &edge, bool reversely, const std::vector<VertexId> &ids, std::vector<VertexId> &found);

  std::uint64_t count_neighbours(const Definition &edge, bool reversely, const std::vector<VertexId> &ids);
  SpaceStatistics statistics();

 private:
  struct Host {
    explicit Host(const std::string &address) : client(Address::parse(address)) {}
    RpcClient client;
    Writer request;
  };

  void begin(Method method, const std::function<void(Writer &)> &header);
  template <typename Item, typename Key, typename Encode>
  void divide(const std::vector<Item> &items, Key key, Encode encode);
  /// Sends to those that `divide` gave something, then reads all answers.
  void exchange(const std::function<void(Reader &)> &read);
  void read_cells(const Selection &selection, std::vector<Value> &cells);

  std::shared_ptr<const Catalog> catalog_;
  std::vector<std::unique_ptr<Host>> hosts_;
  Method method_ = Method::get_vertices;
  std::vector<std::uint32_t> partition_starts_;
  std::vector<std::uint32_t> order_;
  std::vector<char> asked_;
};

}  // namespace graph

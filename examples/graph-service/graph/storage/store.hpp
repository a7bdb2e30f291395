#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

#include "common/catalog.hpp"
#include "common/rpc.hpp"
#include "storage/log.hpp"
#include "storage/partition.hpp"

namespace graph {

/// Everything in one data directory: a copy of the catalog, the log, and the partitions that it gives.
class Store {
 public:
  /// Reads what is there.
  explicit Store(std::filesystem::path directory);

  std::shared_ptr<const Catalog> catalog() const;
  void set_catalog(Catalog catalog);

  /// Throws if this store does not have it.
  const Partition &partition(std::uint32_t number) const;
  std::size_t partitions() const { return partitions_.size(); }

  /// Requests `add_vertices` and `add_edges`: all of it, or an error and nothing.
  void write(Method method, std::string_view request);
  void flush() { log_->flush(); }
  std::uint64_t records() const { return log_->records(); }

 private:
  struct Change {
    std::uint32_t partition;
    VertexId owner;
    VertexId neighbour;
    std::string row;
  };

  /// Reads and checks a request, then calls `logged`, then makes its changes.
  void apply(Method method, std::string_view request, const std::function<void()> &logged);
  void make_partitions(std::size_t count);

  std::filesystem::path directory_;
  mutable std::mutex catalog_mutex_;
  std::shared_ptr<const Catalog> catalog_;
  std::vector<std::unique_ptr<Partition>> partitions_;
  /// So that the log has the order in which changes were made.
  std::mutex write_mutex_;
  std::unique_ptr<Log> log_;
};

/// Null is an error: a definition that the catalog has to have.
const Definition &required(const Definition *definition, const char *kind);

}  // namespace graph

#pragma once

#include <functional>

#include "common/expression.hpp"
#include "common/rpc.hpp"
#include "storage/store.hpp"

namespace graph {

/// Answers graphd's requests.
class StorageService {
 public:
  /// `refresh` brings the catalog, when a request is of a newer one.
  StorageService(Store &store, std::function<void()> refresh) : store_(store), refresh_(std::move(refresh)) {}

  void handle(Method method, Reader &in, Writer &out);

 private:
  void get_vertices(const Catalog &catalog, Reader &in, Writer &out);
  void get_edges(const Catalog &catalog, Reader &in, Writer &out);
  void get_neighbours(const Catalog &catalog, Reader &in, Writer &out);
  void get_degrees(Reader &in, Writer &out);
  void scan_vertices(const Catalog &catalog, Reader &in, Writer &out);
  void get_statistics(Writer &out);

  Store &store_;
  std::function<void()> refresh_;
};

}  // namespace graph

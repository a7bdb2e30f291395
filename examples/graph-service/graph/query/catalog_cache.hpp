#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "common/catalog.hpp"
#include "common/rpc.hpp"
#include "query/ast.hpp"

namespace graph {

/// The catalog as metad last told it, for all sessions.
class CatalogCache {
 public:
  explicit CatalogCache(const std::string &meta) : client_(Address::parse(meta)) {}

  std::shared_ptr<const Catalog> current() const;
  void refresh();
  /// Asks metad only whether there is a newer one.
  void heartbeat();
  void create(const CreateStatement &statement);

 private:
  void take(Reader answer);

  std::mutex client_mutex_;
  RpcClient client_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Catalog> catalog_ = std::make_shared<const Catalog>();
};

}  // namespace graph

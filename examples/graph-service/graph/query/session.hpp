#pragma once

#include <string>
#include <string_view>

#include "query/catalog_cache.hpp"
#include "query/executor.hpp"
#include "query/storage_client.hpp"

namespace graph {

/// One client: each line is a statement. The answer is `ok ROWS`, a line of names and that many lines of fields,
/// all separated by tabs; or one line `error MESSAGE`.
class Session {
 public:
  explicit Session(CatalogCache &catalogs) : catalogs_(catalogs) {}

  void serve(Socket &socket);

 private:
  void answer(std::string_view line, std::string &out);
  Table run(std::string_view statement);

  CatalogCache &catalogs_;
  StorageClient storage_;
};

}  // namespace graph

#include "query/catalog_cache.hpp"

namespace graph {

std::shared_ptr<const Catalog> CatalogCache::current() const {
  std::lock_guard<std::mutex> guard(mutex_);
  return catalog_;
}

void CatalogCache::take(Reader answer) {
  auto catalog = std::make_shared<const Catalog>(Catalog::decode(answer));
  std::lock_guard<std::mutex> guard(mutex_);
  catalog_ = std::move(catalog);
}

void CatalogCache::refresh() {
  std::lock_guard<std::mutex> guard(client_mutex_);
  take(client_.call(Method::get_catalog, {}));
}

void CatalogCache::heartbeat() {
  std::lock_guard<std::mutex> guard(client_mutex_);
  Writer request;
  request.number(current()->version);
  Reader answer = client_.call(Method::heartbeat, request.bytes());
  if (answer.byte() != 0) {
    take(answer);
  }
}

void CatalogCache::create(const CreateStatement &statement) {
  Writer request;
  request.byte(statement.may_exist ? 1 : 0);
  request.string(statement.name);
  encode_columns(request, statement.columns);
  std::lock_guard<std::mutex> guard(client_mutex_);
  take(client_.call(statement.edge ? Method::create_edge : Method::create_tag, request.bytes()));
}

}  // namespace graph

#include "storage/store.hpp"

#include "common/errors.hpp"
#include "common/files.hpp"
#include "storage/row.hpp"

namespace graph {

const Definition &required(const Definition *definition, const char *kind) {
  if (definition == nullptr) {
    throw Error(std::string("the storage daemon does not know this ") + kind);
  }
  return *definition;
}

Store::Store(std::filesystem::path directory)
    : directory_(std::move(directory)), catalog_(std::make_shared<const Catalog>()) {
  make_directory(directory_);
  std::string saved = read_file(directory_ / "catalog");
  if (!saved.empty()) {
    Reader in(saved);
    Catalog catalog = Catalog::decode(in);
    make_partitions(catalog.placement.size());
    catalog_ = std::make_shared<const Catalog>(std::move(catalog));
  }
  log_ = std::make_unique<Log>(directory_ / "log", [this](std::string_view record) {
    Reader in(record);
    auto method = static_cast<Method>(in.byte());
    apply(method, in.rest(), [] {});
  });
}

std::shared_ptr<const Catalog> Store::catalog() const {
  std::lock_guard<std::mutex> guard(catalog_mutex_);
  return catalog_;
}

void Store::set_catalog(Catalog catalog) {
  std::lock_guard<std::mutex> guard(catalog_mutex_);
  if (catalog.version <= catalog_->version) {
    return;
  }
  make_partitions(catalog.placement.size());
  Writer out;
  catalog.encode(out);
  replace_file(directory_ / "catalog", out.bytes());
  catalog_ = std::make_shared<const Catalog>(std::move(catalog));
}

void Store::make_partitions(std::size_t count) {
  if (!partitions_.empty() && partitions_.size() != count) {
    throw Error(directory_.string() + " has " + std::to_string(partitions_.size()) + " partitions, and the space has " +
                std::to_string(count));
  }
  while (partitions_.size() < count) {
    partitions_.push_back(std::make_unique<Partition>());
  }
}

const Partition &Store::partition(std::uint32_t number) const {
  if (number >= partitions_.size()) {
    throw Error("there is no partition " + std::to_string(number));
  }
  return *partitions_[number];
}

void Store::write(Method method, std::string_view request) {
  std::string record(1, static_cast<char>(method));
  record += request;
  apply(method, request, [&] { log_->append(record); });
}

void Store::apply(Method method, std::string_view request, const std::function<void()> &logged) {
  auto catalog = this->catalog();
  Reader in(request);
  in.number();  // the version of the catalog
  bool edges = method == Method::add_edges;
  auto id = static_cast<std::uint32_t>(in.number());
  Direction direction = edges && in.byte() != 0 ? Direction::in : Direction::out;
  const Definition &definition =
      edges ? required(catalog->edge(id), "edge type") : required(catalog->tag(id), "tag");

  std::vector<Change> changes;
  std::vector<Value> values(definition.columns.size());
  for (std::uint64_t parts = in.number(); parts > 0; --parts) {
    auto partition = static_cast<std::uint32_t>(in.number());
    this->partition(partition);
    for (std::uint64_t left = in.number(); left > 0; --left) {
      Change &change = changes.emplace_back();
      change.partition = partition;
      change.owner = in.integer();
      change.neighbour = edges ? in.integer() : 0;
      for (Value &value : values) {
        value = in.value();
      }
      encode_row(change.row, definition, values);
    }
  }

  std::lock_guard<std::mutex> guard(write_mutex_);
  logged();
  std::size_t next = 0;
  while (next < changes.size()) {
    std::uint32_t number = changes[next].partition;
    Partition &partition = *partitions_[number];
    std::unique_lock<std::shared_mutex> lock(partition.mutex());
    for (; next < changes.size() && changes[next].partition == number; ++next) {
      Change &change = changes[next];
      if (edges) {
        partition.put_edge(change.owner, id, direction, change.neighbour, change.row);
      } else {
        partition.put_vertex(change.owner, id, std::move(change.row));
      }
    }
  }
}

}  // namespace graph

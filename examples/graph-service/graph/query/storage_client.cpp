#include "query/storage_client.hpp"

#include "common/errors.hpp"
#include "common/hash.hpp"

namespace graph {

void Selection::encode(Writer &out) const {
  out.number(columns.size());
  for (const Reference &column : columns) {
    column.encode(out);
  }
  out.byte(filter ? 1 : 0);
  if (filter) {
    filter->encode(out);
  }
}

void StorageClient::use(std::shared_ptr<const Catalog> catalog) {
  if (catalog == catalog_) {
    return;
  }
  if (!catalog_ || catalog_->hosts != catalog->hosts) {
    hosts_.clear();
    for (const std::string &address : catalog->hosts) {
      hosts_.push_back(std::make_unique<Host>(address));
    }
  }
  catalog_ = std::move(catalog);
}

void StorageClient::begin(Method method, const std::function<void(Writer &)> &header) {
  method_ = method;
  for (auto &host : hosts_) {
    host->request.clear();
    host->request.number(catalog_->version);
    header(host->request);
  }
}

template <typename Item, typename Key, typename Encode>
void StorageClient::divide(const std::vector<Item> &items, Key key, Encode encode) {
  // Sorted by counting: how many are in each partition, then where each partition's begin.
  auto partitions = static_cast<std::uint32_t>(catalog_->placement.size());
  partition_starts_.assign(partitions + 1, 0);
  for (const Item &item : items) {
    ++partition_starts_[partition_of(key(item), partitions) + 1];
  }
  std::vector<std::uint64_t> used(hosts_.size(), 0);
  for (std::uint32_t i = 0; i < partitions; ++i) {
    used[catalog_->placement[i]] += partition_starts_[i + 1] != 0 ? 1 : 0;
    partition_starts_[i + 1] += partition_starts_[i];
  }
  order_.resize(items.size());
  std::vector<std::uint32_t> next(partition_starts_.begin(), partition_starts_.end() - 1);
  for (std::uint32_t i = 0; i < items.size(); ++i) {
    order_[next[partition_of(key(items[i]), partitions)]++] = i;
  }

  asked_.assign(hosts_.size(), 0);
  for (std::uint32_t i = 0; i < partitions; ++i) {
    std::uint32_t first = partition_starts_[i];
    std::uint32_t end = partition_starts_[i + 1];
    if (first == end) {
      continue;
    }
    std::uint32_t number = catalog_->placement[i];
    Writer &request = hosts_[number]->request;
    if (asked_[number] == 0) {
      request.number(used[number]);
      asked_[number] = 1;
    }
    request.number(i);
    request.number(end - first);
    for (std::uint32_t at = first; at < end; ++at) {
      encode(request, items[order_[at]]);
    }
  }
}

void StorageClient::exchange(const std::function<void(Reader &)> &read) {
  try {
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (asked_[i] != 0) {
        hosts_[i]->client.send(method_, hosts_[i]->request.bytes());
      }
    }
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (asked_[i] != 0) {
        Reader answer = hosts_[i]->client.receive();
        read(answer);
      }
    }
  } catch (...) {
    // Answers that are still to come must not be taken for those to the next request.
    for (auto &host : hosts_) {
      host->client.disconnect();
    }
    throw;
  }
}

void StorageClient::read_cells(const Selection &selection, std::vector<Value> &cells) {
  std::size_t width = selection.columns.size();
  exchange([&](Reader &answer) {
    std::size_t count = answer.count() * width;
    cells.reserve(cells.size() + count);
    for (; count > 0; --count) {
      cells.push_back(answer.value());
    }
  });
}

void StorageClient::add_vertices(const Definition &tag, const std::vector<NewRow> &rows) {
  begin(Method::add_vertices, [&](Writer &out) { out.number(tag.id); });
  divide(
      rows, [](const NewRow &row) { return row.id; },
      [](Writer &out, const NewRow &row) {
        out.integer(row.id);
        for (const Value &value : row.values) {
          out.value(value);
        }
      });
  exchange([](Reader &) {});
}

void StorageClient::add_edges(const Definition &edge, const std::vector<NewRow> &rows) {
  for (bool reversely : {false, true}) {
    begin(Method::add_edges, [&](Writer &out) {
      out.number(edge.id);
      out.byte(reversely ? 1 : 0);
    });
    divide(
        rows, [&](const NewRow &row) { return reversely ? row.destination : row.id; },
        [&](Writer &out, const NewRow &row) {
          out.integer(reversely ? row.destination : row.id);
          out.integer(reversely ? row.id : row.destination);
          for (const Value &value : row.values) {
            out.value(value);
          }
        });
    exchange([](Reader &) {});
  }
}

namespace {

VertexId own_id(VertexId id) { return id; }

void encode_id(Writer &out, VertexId id) { out.integer(id); }

}  // namespace

void StorageClient::get_vertices(const Definition &tag, const Selection &selection, const std::vector<VertexId> &ids,
                                 std::vector<Value> &cells) {
  begin(Method::get_vertices, [&](Writer &out) {
    out.number(tag.id);
    selection.encode(out);
  });
  divide(ids, own_id, encode_id);
  read_cells(selection, cells);
}

void StorageClient::get_edges(const Definition &edge, const Selection &selection,
                              const std::vector<std::pair<VertexId, VertexId>> &ends, std::vector<Value> &cells) {
  begin(Method::get_edges, [&](Writer &out) {
    out.number(edge.id);
    selection.encode(out);
  });
  divide(
      ends, [](const auto &end) { return end.first; },
      [](Writer &out, const auto &end) {
        out.integer(end.first);
        out.integer(end.second);
      });
  read_cells(selection, cells);
}

void StorageClient::get_neighbours(const Definition &edge, bool reversely, const Selection &selection,
                                   const std::vector<VertexId> &ids, std::vector<Value> &cells) {
  begin(Method::get_neighbours, [&](Writer &out) {
    out.number(edge.id);
    out.byte(reversely ? 1 : 0);
    selection.encode(out);
  });
  divide(ids, own_id, encode_id);
  read_cells(selection, cells);
}

void StorageClient::scan_vertices(const Definition &tag, const Selection &selection, std::vector<Value> &cells) {
  begin(Method::scan_vertices, [&](Writer &out) {
    out.number(tag.id);
    selection.encode(out);
  });
  asked_.assign(hosts_.size(), 0);
  for (std::uint32_t host = 0; host < hosts_.size(); ++host) {
    std::vector<std::uint32_t> own;
    for (std::uint32_t i = 0; i < catalog_->placement.size(); ++i) {
      if (catalog_->placement[i] == host) {
        own.push_back(i);
      }
    }
    hosts_[host]->request.number(own.size());
    for (std::uint32_t partition : own) {
      hosts_[host]->request.number(partition);
    }
    asked_[host] = own.empty() ? 0 : 1;
  }
  read_cells(selection, cells);
}

namespace {

/// Of ids that are read without making values of them.
VertexId read_id(Reader &in) {
  if (in.byte() != static_cast<std::uint8_t>(Type::integer)) {
    throw Error("a storage daemon sent an id that is not one");
  }
  return in.integer();
}

Selection select_ids(std::initializer_list<Scope> scopes) {
  Selection selection;
  for (Scope scope : scopes) {
    selection.columns.emplace_back().scope = scope;
  }
  return selection;
}

}  // namespace

void StorageClient::follow(const Definition &edge, bool reversely, const std::vector<VertexId> &ids,
                           std::vector<std::pair<VertexId, VertexId>> &found) {
  begin(Method::get_neighbours, [&](Writer &out) {
    out.number(edge.id);
    out.byte(reversely ? 1 : 0);
    select_ids({Scope::source_id, Scope::destination_id}).encode(out);
  });
  divide(ids, own_id, encode_id);
  exchange([&](Reader &answer) {
    for (std::uint32_t left = answer.count(); left > 0; --left) {
      VertexId from = read_id(answer);
      found.emplace_back(from, read_id(answer));
    }
  });
}

void StorageClient::follow(const Definition &edge, bool reversely, const std::vector<VertexId> &ids,
                           std::vector<VertexId> &found) {
  begin(Method::get_neighbours, [&](Writer &out) {
    out.number(edge.id);
    out.byte(reversely ? 1 : 0);
    select_ids({Scope::destination_id}).encode(out);
  });
  divide(ids, own_id, encode_id);
  exchange([&](Reader &answer) {
    for (std::uint32_t left = answer.count(); left > 0; --left) {
      found.push_back(read_id(answer));
    }
  });
}

std::uint64_t StorageClient::count_neighbours(const Definition &edge, bool reversely,
                                              const std::vector<VertexId> &ids) {
  begin(Method::get_degrees, [&](Writer &out) {
    out.number(edge.id);
    out.byte(reversely ? 1 : 0);
  });
  divide(ids, own_id, encode_id);
  std::uint64_t sum = 0;
  exchange([&](Reader &answer) { sum += answer.number(); });
  return sum;
}

SpaceStatistics StorageClient::statistics() {
  begin(Method::get_statistics, [](Writer &) {});
  asked_.assign(hosts_.size(), 1);
  SpaceStatistics sum;
  exchange([&](Reader &answer) {
    sum.vertices += answer.number();
    sum.edges += answer.number();
    sum.bytes += answer.number();
  });
  return sum;
}

}  // namespace graph

#include "common/catalog.hpp"

namespace graph {

int Definition::column(std::string_view wanted) const {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == wanted) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

namespace {

const Definition *by_name(const std::vector<Definition> &all, std::string_view name) {
  for (const Definition &definition : all) {
    if (definition.name == name) {
      return &definition;
    }
  }
  return nullptr;
}

/// Ids are given in order from 1.
const Definition *by_id(const std::vector<Definition> &all, std::uint32_t id) {
  return id >= 1 && id <= all.size() ? &all[id - 1] : nullptr;
}

void encode_all(Writer &out, const std::vector<Definition> &all) {
  out.number(all.size());
  for (const Definition &definition : all) {
    out.number(definition.id);
    out.string(definition.name);
    encode_columns(out, definition.columns);
  }
}

std::vector<Definition> decode_all(Reader &in) {
  std::vector<Definition> all;
  for (std::uint64_t left = in.number(); left > 0; --left) {
    Definition definition;
    definition.id = static_cast<std::uint32_t>(in.number());
    definition.name = in.string();
    definition.columns = decode_columns(in);
    all.push_back(std::move(definition));
  }
  return all;
}

}  // namespace

void encode_columns(Writer &out, const std::vector<Column> &columns) {
  out.number(columns.size());
  for (const Column &column : columns) {
    out.string(column.name);
    out.byte(static_cast<std::uint8_t>(column.type));
  }
}

std::vector<Column> decode_columns(Reader &in) {
  std::vector<Column> columns;
  for (std::uint64_t left = in.number(); left > 0; --left) {
    Column column;
    column.name = in.string();
    std::uint8_t type = in.byte();
    if (type > static_cast<std::uint8_t>(Type::string)) {
      throw Error("column " + column.name + " has an unknown type");
    }
    column.type = static_cast<Type>(type);
    columns.push_back(std::move(column));
  }
  return columns;
}

bool Catalog::complete() const {
  for (std::uint32_t host : placement) {
    if (host >= hosts.size()) {
      return false;
    }
  }
  return !placement.empty();
}

const Definition *Catalog::tag(std::string_view name) const { return by_name(tags, name); }
const Definition *Catalog::edge(std::string_view name) const { return by_name(edges, name); }
const Definition *Catalog::tag(std::uint32_t id) const { return by_id(tags, id); }
const Definition *Catalog::edge(std::uint32_t id) const { return by_id(edges, id); }

void Catalog::encode(Writer &out) const {
  out.number(version);
  out.number(hosts.size());
  for (const std::string &host : hosts) {
    out.string(host);
  }
  out.number(placement.size());
  for (std::uint32_t host : placement) {
    out.number(host);
  }
  encode_all(out, tags);
  encode_all(out, edges);
}

Catalog Catalog::decode(Reader &in) {
  Catalog catalog;
  catalog.version = in.number();
  for (std::uint64_t left = in.number(); left > 0; --left) {
    catalog.hosts.emplace_back(in.string());
  }
  for (std::uint64_t left = in.number(); left > 0; --left) {
    catalog.placement.push_back(static_cast<std::uint32_t>(in.number()));
  }
  catalog.tags = decode_all(in);
  catalog.edges = decode_all(in);
  return catalog;
}

}  // namespace graph

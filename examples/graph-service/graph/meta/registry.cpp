#include "meta/registry.hpp"

#include <algorithm>

#include "common/errors.hpp"
#include "common/files.hpp"

namespace graph {

Registry::Registry(std::filesystem::path directory, std::uint32_t partitions, std::uint32_t hosts)
    : file_(directory / "catalog"), hosts_(hosts) {
  make_directory(directory);
  std::string saved = read_file(file_);
  if (saved.empty()) {
    catalog_.version = 1;
    for (std::uint32_t partition = 0; partition < partitions; ++partition) {
      catalog_.placement.push_back(partition % hosts);
    }
    return;
  }
  Reader in(saved);
  catalog_ = Catalog::decode(in);
  if (catalog_.placement.size() != partitions) {
    throw Error(file_.string() + " is of a space with " + std::to_string(catalog_.placement.size()) +
                " partitions, not " + std::to_string(partitions));
  }
}

void Registry::handle(Method method, Reader &in, Writer &out) {
  std::lock_guard<std::mutex> guard(mutex_);
  switch (method) {
    case Method::register_host: register_host(std::string(in.string())); break;
    case Method::create_tag: define(catalog_.tags, "tag", in); break;
    case Method::create_edge: define(catalog_.edges, "edge", in); break;
    case Method::get_catalog: break;
    case Method::heartbeat: {
      // The catalog is sent to those who do not have it.
      bool newer = in.number() < catalog_.version;
      out.byte(newer ? 1 : 0);
      if (!newer) {
        return;
      }
      break;
    }
    default: throw Error("metad has no such method");
  }
  catalog_.encode(out);
}

void Registry::register_host(const std::string &address) {
  Address::parse(address);
  if (std::find(catalog_.hosts.begin(), catalog_.hosts.end(), address) != catalog_.hosts.end()) {
    return;
  }
  if (catalog_.hosts.size() >= hosts_) {
    throw Error("the space has all of its " + std::to_string(hosts_) + " storage daemons; see metad's --hosts");
  }
  catalog_.hosts.push_back(address);
  changed();
}

void Registry::define(std::vector<Definition> &all, const char *kind, Reader &in) {
  bool may_exist = in.byte() != 0;
  Definition definition;
  definition.name = in.string();
  definition.columns = decode_columns(in);
  for (const Definition &known : all) {
    if (known.name == definition.name) {
      if (may_exist) {
        return;
      }
      throw Error(std::string("there is a ") + kind + " `" + definition.name + "` already");
    }
  }
  definition.id = static_cast<std::uint32_t>(all.size() + 1);
  all.push_back(std::move(definition));
  changed();
}

void Registry::changed() {
  ++catalog_.version;
  Writer out;
  catalog_.encode(out);
  replace_file(file_, out.bytes());
}

}  // namespace graph

#pragma once

#include <chrono>
#include <filesystem>
#include <mutex>
#include <vector>

#include "common/catalog.hpp"
#include "common/rpc.hpp"

namespace graph {

/// The space: its hosts, its partitions, its tags and edges. Kept in one file.
class Registry {
 public:
  Registry(std::filesystem::path directory, std::uint32_t partitions, std::uint32_t hosts);

  void handle(Method method, Reader &in, Writer &out);

 private:
  void register_host(const std::string &address);
  void define(std::vector<Definition> &all, const char *kind, Reader &in);
  void changed();

  std::filesystem::path file_;
  std::uint32_t hosts_;
  std::mutex mutex_;
  Catalog catalog_;
};

}  // namespace graph

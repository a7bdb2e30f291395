// graph-dump: what is in the data directory of a storage daemon that does not run.

#include <algorithm>
#include <iostream>
#include <map>

#include "common/errors.hpp"
#include "common/options.hpp"
#include "storage/row.hpp"
#include "storage/store.hpp"

namespace {

void print_vertex(const graph::Catalog &catalog, const graph::Vertex &vertex) {
  std::string line = std::to_string(vertex.id);
  graph::Value value;
  for (const graph::Vertex::TagRow &row : vertex.rows) {
    const graph::Definition &tag = graph::required(catalog.tag(row.tag), "tag");
    line += "\t" + tag.name + "(";
    for (std::size_t i = 0; i < tag.columns.size(); ++i) {
      graph::RowView(row.row, tag.columns.size()).read(tag, i, value);
      line += i == 0 ? "" : ", ";
      graph::append_text(line, value);
    }
    line += ")";
  }
  for (const graph::Adjacency &list : vertex.lists) {
    const graph::Definition &edge = graph::required(catalog.edge(list.edge()), "edge type");
    line += "\t" + edge.name + (list.direction() == graph::Direction::out ? "->" : "<-");
    line += std::to_string(list.size());
  }
  std::cout << line << "\n";
}

void print_degrees(const graph::Store &store) {
  std::map<std::size_t, std::size_t> vertices;
  for (std::uint32_t i = 0; i < store.partitions(); ++i) {
    for (const graph::Vertex &vertex : store.partition(i).vertices()) {
      std::size_t degree = 0;
      for (const graph::Adjacency &list : vertex.lists) {
        degree += list.direction() == graph::Direction::out ? list.size() : 0;
      }
      ++vertices[degree];
    }
  }
  for (auto [degree, count] : vertices) {
    std::cout << "degree " << degree << ": " << count << "\n";
  }
}

int run(int count, char **arguments) {
  graph::Options options("graph-dump", "Shows what a storage daemon has kept.",
                         {{"data", "DIR", "Directory of a storage daemon that does not run", ""},
                          {"vertices", "N", "How many vertices of each partition to print", "0"},
                          {"degrees", "yes|no", "How many vertices there are of each degree", "no"}});
  if (!options.parse(count, arguments)) {
    return 0;
  }
  graph::Store store(options.text("data"));
  auto catalog = store.catalog();
  std::uint64_t shown = options.number("vertices", 0, 1000000000);
  std::cout << "log: " << store.records() << " records\n";
  for (std::uint32_t i = 0; i < store.partitions(); ++i) {
    const graph::Partition &partition = store.partition(i);
    graph::Statistics own = partition.statistics();
    std::cout << "partition " << i << ": " << own.vertices << " vertices, " << own.edges << " edges, " << own.bytes
              << " bytes\n";
    for (std::size_t v = 0; v < std::min<std::size_t>(shown, partition.vertices().size()); ++v) {
      print_vertex(*catalog, partition.vertices()[v]);
    }
  }
  if (options.text("degrees") == "yes") {
    print_degrees(store);
  }
  return 0;
}

}  // namespace

int main(int count, char **arguments) {
  try {
    return run(count, arguments);
  } catch (const std::exception &error) {
    std::cerr << "graph-dump: error: " << error.what() << std::endl;
    return 1;
  }
}

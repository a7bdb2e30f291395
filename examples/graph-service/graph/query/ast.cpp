#include "query/ast.hpp"

#include <algorithm>
#include <iterator>

namespace graph {

Aggregate find_aggregate(std::string_view name) {
  static constexpr std::pair<std::string_view, Aggregate> all[] = {
      {"count", Aggregate::count}, {"sum", Aggregate::sum},      {"avg", Aggregate::average},
      {"min", Aggregate::least},   {"max", Aggregate::greatest},
  };
  for (const auto &[known, aggregate] : all) {
    if (std::equal(name.begin(), name.end(), known.begin(), known.end(),
                   [](char a, char b) { return (a | 32) == b; })) {
      return aggregate;
    }
  }
  return Aggregate::none;
}

}  // namespace graph

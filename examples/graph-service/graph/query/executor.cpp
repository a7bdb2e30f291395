#include "query/executor.hpp"

namespace graph {

namespace {

constexpr std::uint32_t nothing = ~0U;

}  // namespace

Table explain(const PlanStep &plan) {
  Table table;
  table.names = {"step"};
  std::size_t depth = 0;
  for (const PlanStep *step = &plan; step != nullptr; step = step->input()) {
    table.cells.emplace_back(std::string(depth * 2, ' ') + step->describe());
    ++depth;
  }
  return table;
}

std::pair<std::size_t, bool> RowIndex::insert(const Value *row) {
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < width_; ++i) {
    key = hash(row[i], key);
  }
  auto number = static_cast<std::uint32_t>(next_.size());
  auto [first, added] = first_.insert(static_cast<std::int64_t>(key), number);
  if (!added) {
    std::uint32_t last = nothing;
    for (std::uint32_t at = *first; at != nothing; at = next_[at]) {
      const Value *known = this->row(at);
      bool equal = true;
      for (std::size_t i = 0; i < width_ && equal; ++i) {
        equal = same(known[i], row[i]);
      }
      if (equal) {
        return {at, false};
      }
      last = at;
    }
    next_[last] = number;
  }
  cells_.insert(cells_.end(), row, row + width_);
  next_.push_back(nothing);
  return {number, true};
}

}  // namespace graph

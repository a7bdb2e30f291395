#pragma once

#include <optional>
#include <string>
#include <vector>

#include "query/executor.hpp"

namespace graph {

/// All shortest paths between two vertices, searched from both ends.
class ShortestPaths final : public PlanStep {
 public:
  ShortestPaths(Definition edge, VertexId from, VertexId to, std::uint64_t steps, std::uint64_t limit)
      : edge_(std::move(edge)), from_(from), to_(to), steps_(steps), limit_(limit) {}

  Table execute(Context &context) override;
  std::string describe() const override;

 private:
  Definition edge_;
  VertexId from_;
  VertexId to_;
  std::uint64_t steps_;
  std::uint64_t limit_;
};

}  // namespace graph

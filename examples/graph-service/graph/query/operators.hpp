#pragma once

#include <optional>
#include <vector>

#include "query/ast.hpp"
#include "query/executor.hpp"

namespace graph {

/// A step that takes the rows of another.
class Chained : public PlanStep {
 public:
  explicit Chained(PlanStepPtr input) : input_(std::move(input)) {}

  const PlanStep *input() const override { return input_.get(); }

 protected:
  PlanStepPtr input_;
};

// Where rows come from. The names of columns are only for people.

class Insert final : public PlanStep {
 public:
  Insert(bool edge, Definition definition, std::vector<NewRow> rows)
      : edge_(edge), definition_(std::move(definition)), rows_(std::move(rows)) {}

  Table execute(Context &context) override;
  std::string describe() const override;

 private:
  bool edge_;
  Definition definition_;
  std::vector<NewRow> rows_;
};

class GetVertices final : public PlanStep {
 public:
  GetVertices(Definition tag, Selection selection, std::vector<VertexId> ids)
      : tag_(std::move(tag)), selection_(std::move(selection)), ids_(std::move(ids)) {}

  Table execute(Context &context) override;
  std::string describe() const override;

 private:
  Definition tag_;
  Selection selection_;
  std::vector<VertexId> ids_;
};

class GetEdges final : public PlanStep {
 public:
  GetEdges(Definition edge, Selection selection, std::vector<std::pair<VertexId, VertexId>> ends)
      : edge_(std::move(edge)), selection_(std::move(selection)), ends_(std::move(ends)) {}

  Table execute(Context &context) override;
  std::string describe() const override;

 private:
  Definition edge_;
  Selection selection_;
  std::vector<std::pair<VertexId, VertexId>> ends_;
};

class ScanVertices final : public PlanStep {
 public:
  ScanVertices(Definition tag, Selection selection) : tag_(std::move(tag)), selection_(std::move(selection)) {}

  Table execute(Context &context) override;
  std::string describe() const override;

 private:
  Definition tag_;
  Selection selection_;
};

/// How GO walks.
struct Walk {
  Definition edge;
  bool reversely = false;
  std::uint64_t steps = 1;
  std::vector<VertexId> from;

  /// Where the last step begins: each vertex once.
  std::vector<VertexId> last_start(Context &context) const;
  std::string describe() const;
};

class Traverse final : public PlanStep {
 public:
  Traverse(Walk walk, Selection selection) : walk_(std::move(walk)), selection_(std::move(selection)) {}

  Table execute(Context &context) override;
  std::string describe() const override;

 private:
  Walk walk_;
  Selection selection_;
};

/// Only how many edges there are at the end of a walk.
class CountNeighbours final : public PlanStep {
 public:
  CountNeighbours(Walk walk, std::string name) : walk_(std::move(walk)), name_(std::move(name)) {}

  Table execute(Context &context) override;
  std::string describe() const override;

 private:
  Walk walk_;
  std::string name_;
};

// What is done with rows.

/// Adds properties of the vertices that edges lead to.
class JoinDestinations final : public Chained {
 public:
  /// The properties of one tag.
  struct Part {
    Definition tag;
    Selection selection;
  };

  JoinDestinations(PlanStepPtr input, std::uint32_t id_slot, std::vector<Part> parts)
      : Chained(std::move(input)), id_slot_(id_slot), parts_(std::move(parts)) {}

  Table execute(Context &context) override;
  std::string describe() const override;

 private:
  std::uint32_t id_slot_;
  std::vector<Part> parts_;
};

class Filter final : public Chained {
 public:
  Filter(PlanStepPtr input, ExpressionPtr condition) : Chained(std::move(input)), condition_(std::move(condition)) {}

  Table execute(Context &context) override;
  std::string describe() const override;

 private:
  ExpressionPtr condition_;
};

class Project final : public Chained {
 public:
  Project(PlanStepPtr input, std::vector<YieldColumn> columns)
      : Chained(std::move(input)), columns_(std::move(columns)) {}

  Table execute(Context &context) override;
  std::string describe() const override;

 private:
  std::vector<YieldColumn> columns_;
};

/// Columns without an aggregate are the key of a group.
class Group final : public Chained {
 public:
  Group(PlanStepPtr input, std::vector<YieldColumn> columns)
      : Chained(std::move(input)), columns_(std::move(columns)) {}

  Table execute(Context &context) override;
  std::string describe() const override;

 private:
  std::vector<YieldColumn> columns_;
};

class Distinct final : public Chained {
 public:
  using Chained::Chained;

  Table execute(Context &context) override;
  std::string describe() const override { return "Distinct"; }
};

class Sort final : public Chained {
 public:
  struct Key {
    std::size_t column;
    bool descending;
  };

  Sort(PlanStepPtr input, std::vector<Key> keys) : Chained(std::move(input)), keys_(std::move(keys)) {}

  Table execute(Context &context) override;
  std::string describe() const override { return "Sort"; }

 private:
  std::vector<Key> keys_;
};

class Limit final : public Chained {
 public:
  Limit(PlanStepPtr input, std::uint64_t rows) : Chained(std::move(input)), rows_(rows) {}

  Table execute(Context &context) override;
  std::string describe() const override { return "Limit " + std::to_string(rows_); }

 private:
  std::uint64_t rows_;
};

// What is about the space itself.

class Create final : public PlanStep {
 public:
  explicit Create(CreateStatement statement) : statement_(std::move(statement)) {}

  Table execute(Context &context) override;
  std::string describe() const override { return "Create " + statement_.name; }

 private:
  CreateStatement statement_;
};

class Show final : public PlanStep {
 public:
  explicit Show(ShowStatement statement) : statement_(statement) {}

  Table execute(Context &context) override;
  std::string describe() const override { return "Show"; }

 private:
  ShowStatement statement_;
};

}  // namespace graph

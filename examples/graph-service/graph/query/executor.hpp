#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/catalog.hpp"
#include "common/expression.hpp"
#include "common/hash.hpp"
#include "query/catalog_cache.hpp"
#include "query/storage_client.hpp"

namespace graph {

/// Rows of values, one after the other.
struct Table {
  std::vector<std::string> names;
  std::vector<Value> cells;

  std::size_t width() const { return names.size(); }
  std::size_t rows() const { return names.empty() ? 0 : cells.size() / names.size(); }
  const Value *row(std::size_t number) const { return cells.data() + number * width(); }
  Value *row(std::size_t number) { return cells.data() + number * width(); }
};

class TableRow final : public Row {
 public:
  explicit TableRow(const Value *cells = nullptr) : cells_(cells) {}

  const Value &at(const Reference &reference, Value &) const override { return cells_[reference.slot]; }

 private:
  const Value *cells_;
};

/// What operators work with.
struct Context {
  StorageClient &storage;
  CatalogCache &catalogs;
};

/// A step of a plan, with the steps that it takes its rows from.
class PlanStep {
 public:
  virtual ~PlanStep() = default;

  virtual Table execute(Context &context) = 0;
  virtual std::string describe() const = 0;
  virtual const PlanStep *input() const { return nullptr; }
};

using PlanStepPtr = std::unique_ptr<PlanStep>;

/// The plan as a table, the last step first.
Table explain(const PlanStep &plan);

/// Which row is which, among rows with the same cells.
class RowIndex {
 public:
  explicit RowIndex(std::size_t width) : width_(width) {}

  /// The number of an equal row, or of the copy that is made, and whether it was made.
  std::pair<std::size_t, bool> insert(const Value *row);

  std::size_t size() const { return next_.size(); }
  std::vector<Value> &cells() { return cells_; }
  const Value *row(std::size_t number) const { return cells_.data() + number * width_; }

 private:
  std::size_t width_;
  std::vector<Value> cells_;
  /// The first row with a hash, and from each row the next one.
  IdMap<std::uint32_t> first_;
  std::vector<std::uint32_t> next_;
};

}  // namespace graph

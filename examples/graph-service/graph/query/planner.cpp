#include "query/planner.hpp"

#include "common/errors.hpp"
#include "query/operators.hpp"
#include "query/path.hpp"

namespace graph {

namespace {

constexpr std::uint64_t default_paths = 1000;

class Planner {
 public:
  explicit Planner(const Catalog &catalog) : catalog_(catalog) {}

  PlanStepPtr operator()(CreateStatement &statement) { return std::make_unique<Create>(std::move(statement)); }
  PlanStepPtr operator()(ShowStatement &statement) { return std::make_unique<Show>(statement); }
  PlanStepPtr operator()(InsertStatement &statement);
  PlanStepPtr operator()(FetchVertices &statement);
  PlanStepPtr operator()(FetchEdges &statement);
  PlanStepPtr operator()(GoStatement &statement);
  PlanStepPtr operator()(PathStatement &statement);
  PlanStepPtr operator()(LookupStatement &statement);

 private:
  const Definition &tag(const std::string &name) const;
  const Definition &edge(const std::string &name) const;

  /// Finds what a property means; `own` is the tag or edge that the statement is about.
  void resolve(ExpressionPtr &expression, const Definition &own, bool of_edge) const;
  void resolve(Output &output, const Definition &own, bool of_edge) const;
  void resolve_property(Property &property, const Definition &own, bool of_edge) const;

  /// What follows once there are rows.
  PlanStepPtr finish(PlanStepPtr rows, Output &output) const;

  const Catalog &catalog_;
};

/// The columns of a step's rows. Gives each property that is used a slot.
class Layout {
 public:
  std::uint32_t slot(const Reference &reference) {
    for (std::uint32_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].same_property(reference)) {
        return i;
      }
    }
    columns_.push_back(reference);
    return static_cast<std::uint32_t>(columns_.size() - 1);
  }

  void bind(ExpressionPtr &expression) {
    for_each_property(expression, [&](Property &property) { property.reference().slot = slot(property.reference()); });
  }

  void bind(Output &output) {
    for (YieldColumn &column : output.columns) {
      if (column.expression) {
        bind(column.expression);
      }
    }
  }

  const std::vector<Reference> &columns() const { return columns_; }

 private:
  std::vector<Reference> columns_;
};

bool has_scope(ExpressionPtr &expression, Scope scope) {
  bool found = false;
  for_each_property(expression,
                    [&](Property &property) { found = found || property.reference().scope == scope; });
  return found;
}

ExpressionPtr all_of(std::vector<ExpressionPtr> parts) {
  ExpressionPtr result;
  for (ExpressionPtr &part : parts) {
    result = result ? binary(Operator::and_, std::move(result), std::move(part)) : std::move(part);
  }
  return result;
}

/// Without YIELD: the ids, then all properties.
void yield_all(Output &output, const Definition &definition, std::initializer_list<const char *> ids) {
  auto yield = [&](const std::string &property) {
    YieldColumn &column = output.columns.emplace_back();
    column.name = property;
    column.expression = std::make_unique<Property>("", definition.name, property);
  };
  for (const char *id : ids) {
    yield(id);
  }
  for (const Column &column : definition.columns) {
    yield(column.name);
  }
}

const Definition &Planner::tag(const std::string &name) const {
  const Definition *found = catalog_.tag(name);
  if (found == nullptr) {
    throw UnknownName("there is no tag `" + name + "`");
  }
  return *found;
}

const Definition &Planner::edge(const std::string &name) const {
  const Definition *found = catalog_.edge(name);
  if (found == nullptr) {
    throw UnknownName("there is no edge `" + name + "`");
  }
  return *found;
}

void Planner::resolve_property(Property &property, const Definition &own, bool of_edge) const {
  Reference &reference = property.reference();
  const Definition *owner = &own;
  if (!property.prefix().empty()) {
    if (!of_edge) {
      throw Error(property.prefix() + " is of an edge's ends, and this statement has no edge");
    }
    reference.scope = property.prefix() == "$^" ? Scope::source : Scope::destination;
    owner = &tag(property.owner());
  } else if (property.owner() != own.name) {
    throw Error("`" + property.owner() + "." + property.name() + "` is not of `" + own.name + "`");
  } else if (of_edge && property.name() == "_src") {
    reference.scope = Scope::source_id;
    return;
  } else if (of_edge && property.name() == "_dst") {
    reference.scope = Scope::destination_id;
    return;
  } else if (!of_edge && property.name() == "_id") {
    reference.scope = Scope::id;
    return;
  } else {
    reference.scope = of_edge ? Scope::edge : Scope::vertex;
  }
  int column = owner->column(property.name());
  if (column < 0) {
    throw UnknownName("`" + owner->name + "` has no property `" + property.name() + "`");
  }
  reference.owner = owner->id;
  reference.column = static_cast<std::uint32_t>(column);
}

void Planner::resolve(ExpressionPtr &expression, const Definition &own, bool of_edge) const {
  for_each_property(expression, [&](Property &property) { resolve_property(property, own, of_edge); });
  fold(expression);
}

void Planner::resolve(Output &output, const Definition &own, bool of_edge) const {
  for (YieldColumn &column : output.columns) {
    if (column.expression) {
      resolve(column.expression, own, of_edge);
    }
  }
}

PlanStepPtr Planner::finish(PlanStepPtr rows, Output &output) const {
  bool grouped = false;
  for (const YieldColumn &column : output.columns) {
    grouped = grouped || column.aggregate != Aggregate::none;
  }
  std::vector<Sort::Key> keys;
  for (const OrderKey &key : output.order) {
    std::size_t i = 0;
    while (i < output.columns.size() && output.columns[i].name != key.column) {
      ++i;
    }
    if (i == output.columns.size()) {
      throw Error("ORDER BY `" + key.column + "`: no column of the result has this name");
    }
    keys.push_back({i, key.descending});
  }
  if (grouped) {
    rows = std::make_unique<Group>(std::move(rows), std::move(output.columns));
  } else {
    rows = std::make_unique<Project>(std::move(rows), std::move(output.columns));
  }
  if (output.distinct) {
    rows = std::make_unique<Distinct>(std::move(rows));
  }
  if (!keys.empty()) {
    rows = std::make_unique<Sort>(std::move(rows), std::move(keys));
  }
  if (output.limit) {
    rows = std::make_unique<Limit>(std::move(rows), *output.limit);
  }
  return rows;
}

PlanStepPtr Planner::operator()(InsertStatement &statement) {
  const Definition &definition = statement.edge ? edge(statement.name) : tag(statement.name);
  std::vector<std::size_t> columns;
  for (const std::string &name : statement.columns) {
    int column = definition.column(name);
    if (column < 0) {
      throw UnknownName("`" + definition.name + "` has no property `" + name + "`");
    }
    columns.push_back(static_cast<std::size_t>(column));
  }
  std::vector<NewRow> rows;
  rows.reserve(statement.items.size());
  for (InsertItem &item : statement.items) {
    NewRow &row = rows.emplace_back();
    row.id = item.id;
    row.destination = item.destination;
    row.values.resize(definition.columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      row.values[columns[i]] = std::move(item.values[i]);
    }
  }
  return std::make_unique<Insert>(statement.edge, definition, std::move(rows));
}

/// Storage daemons need at least one column, so that rows can be counted.
Selection select(const Layout &layout, Scope otherwise) {
  Selection selection;
  selection.columns = layout.columns();
  if (selection.columns.empty()) {
    selection.columns.emplace_back().scope = otherwise;
  }
  return selection;
}

PlanStepPtr Planner::operator()(FetchVertices &statement) {
  const Definition &definition = tag(statement.tag);
  if (statement.output.columns.empty()) {
    yield_all(statement.output, definition, {"_id"});
  }
  resolve(statement.output, definition, false);
  Layout layout;
  layout.bind(statement.output);
  auto rows = std::make_unique<GetVertices>(definition, select(layout, Scope::id), std::move(statement.ids));
  return finish(std::move(rows), statement.output);
}

PlanStepPtr Planner::operator()(FetchEdges &statement) {
  const Definition &definition = edge(statement.edge);
  if (statement.output.columns.empty()) {
    yield_all(statement.output, definition, {"_src", "_dst"});
  }
  resolve(statement.output, definition, true);
  Layout layout;
  layout.bind(statement.output);
  for (const Reference &column : layout.columns()) {
    if (column.scope == Scope::destination) {
      throw Error("FETCH has no properties of the far end; use GO");
    }
  }
  auto rows = std::make_unique<GetEdges>(definition, select(layout, Scope::source_id), std::move(statement.ends));
  return finish(std::move(rows), statement.output);
}

PlanStepPtr Planner::operator()(LookupStatement &statement) {
  const Definition &definition = tag(statement.tag);
  if (statement.output.columns.empty()) {
    yield_all(statement.output, definition, {"_id"});
  }
  resolve(statement.output, definition, false);
  Layout layout;
  layout.bind(statement.output);
  Selection selection = select(layout, Scope::id);
  if (statement.where) {
    resolve(statement.where, definition, false);
    selection.filter = std::move(statement.where);
  }
  return finish(std::make_unique<ScanVertices>(definition, std::move(selection)), statement.output);
}

PlanStepPtr Planner::operator()(GoStatement &statement) {
  const Definition &definition = edge(statement.edge);
  Output &output = statement.output;
  if (output.columns.empty()) {
    yield_all(output, Definition{0, definition.name, {}}, {"_dst"});
  }
  resolve(output, definition, true);
  Walk walk{definition, statement.reversely, statement.steps, std::move(statement.from)};

  bool only_count = output.columns.size() == 1 && output.columns[0].aggregate == Aggregate::count &&
                    !output.columns[0].expression && output.order.empty() && !output.limit;
  if (only_count && !statement.where) {
    return std::make_unique<CountNeighbours>(std::move(walk), std::move(output.columns[0].name));
  }

  // Conditions about the edge and its beginning are for the storage daemons, the others have to wait for the join.
  std::vector<ExpressionPtr> pushed;
  std::vector<ExpressionPtr> kept;
  if (statement.where) {
    resolve(statement.where, definition, true);
    for (ExpressionPtr &part : conjuncts(std::move(statement.where))) {
      (has_scope(part, Scope::destination) ? kept : pushed).push_back(std::move(part));
    }
  }
  ExpressionPtr condition = all_of(std::move(kept));

  // What the storage daemons send comes first in a row, what is joined behind it.
  std::vector<Reference> used;
  auto note = [&](Property &property) { used.push_back(property.reference()); };
  for (YieldColumn &column : output.columns) {
    if (column.expression) {
      for_each_property(column.expression, note);
    }
  }
  if (condition) {
    for_each_property(condition, note);
  }
  Layout layout;
  bool joined = false;
  for (const Reference &reference : used) {
    if (reference.scope == Scope::destination) {
      joined = true;
    } else {
      layout.slot(reference);
    }
  }
  Reference far_end;
  far_end.scope = Scope::destination_id;
  std::uint32_t id_slot = joined ? layout.slot(far_end) : 0;
  Selection selection = select(layout, Scope::destination_id);
  selection.filter = all_of(std::move(pushed));
  PlanStepPtr rows = std::make_unique<Traverse>(std::move(walk), std::move(selection));

  if (joined) {
    std::vector<JoinDestinations::Part> parts;
    for (const Definition &candidate : catalog_.tags) {
      JoinDestinations::Part part{candidate, {}};
      part.selection.columns.emplace_back().scope = Scope::id;
      for (const Reference &reference : used) {
        std::size_t known = layout.columns().size();
        if (reference.scope == Scope::destination && reference.owner == candidate.id && layout.slot(reference) == known) {
          Reference column = reference;
          column.scope = Scope::vertex;
          part.selection.columns.push_back(column);
        }
      }
      if (part.selection.columns.size() > 1) {
        parts.push_back(std::move(part));
      }
    }
    rows = std::make_unique<JoinDestinations>(std::move(rows), id_slot, std::move(parts));
  }
  layout.bind(output);
  if (condition) {
    layout.bind(condition);
    rows = std::make_unique<Filter>(std::move(rows), std::move(condition));
  }
  return finish(std::move(rows), output);
}

PlanStepPtr Planner::operator()(PathStatement &statement) {
  return std::make_unique<ShortestPaths>(edge(statement.edge), statement.from, statement.to, statement.steps,
                                         statement.limit.value_or(default_paths));
}

}  // namespace

PlanStepPtr plan(Statement statement, const Catalog &catalog) {
  return std::visit(Planner(catalog), statement.content);
}

}  // namespace graph

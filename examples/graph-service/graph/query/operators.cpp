#include "query/operators.hpp"

#include <algorithm>
#include <numeric>

#include "common/functions.hpp"

namespace graph {

namespace {

std::vector<std::string> unnamed(std::size_t count) { return std::vector<std::string>(count); }

std::string filter_text(const Selection &selection) {
  std::string text;
  if (selection.filter) {
    text = " where ";
    selection.filter->print(text);
  }
  return text;
}

void keep_each_once(std::vector<VertexId> &ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

Table Insert::execute(Context &context) {
  if (edge_) {
    context.storage.add_edges(definition_, rows_);
  } else {
    context.storage.add_vertices(definition_, rows_);
  }
  return {};
}

std::string Insert::describe() const {
  return (edge_ ? "InsertEdges " : "InsertVertices ") + definition_.name + ": " + std::to_string(rows_.size());
}

Table GetVertices::execute(Context &context) {
  Table table;
  table.names = unnamed(selection_.columns.size());
  context.storage.get_vertices(tag_, selection_, ids_, table.cells);
  return table;
}

std::string GetVertices::describe() const { return "GetVertices " + tag_.name + ": " + std::to_string(ids_.size()); }

Table GetEdges::execute(Context &context) {
  Table table;
  table.names = unnamed(selection_.columns.size());
  context.storage.get_edges(edge_, selection_, ends_, table.cells);
  return table;
}

std::string GetEdges::describe() const { return "GetEdges " + edge_.name + ": " + std::to_string(ends_.size()); }

Table ScanVertices::execute(Context &context) {
  Table table;
  table.names = unnamed(selection_.columns.size());
  context.storage.scan_vertices(tag_, selection_, table.cells);
  return table;
}

std::string ScanVertices::describe() const { return "ScanVertices " + tag_.name + filter_text(selection_); }

std::vector<VertexId> Walk::last_start(Context &context) const {
  std::vector<VertexId> frontier = from;
  keep_each_once(frontier);
  std::vector<VertexId> found;
  for (std::uint64_t step = 1; step < steps && !frontier.empty(); ++step) {
    found.clear();
    context.storage.follow(edge, reversely, frontier, found);
    keep_each_once(found);
    frontier.swap(found);
  }
  return frontier;
}

std::string Walk::describe() const {
  return edge.name + (reversely ? " reversely" : "") + ", steps " + std::to_string(steps);
}

Table Traverse::execute(Context &context) {
  Table table;
  table.names = unnamed(selection_.columns.size());
  if (walk_.steps > 0) {
    context.storage.get_neighbours(walk_.edge, walk_.reversely, selection_, walk_.last_start(context), table.cells);
  }
  return table;
}

std::string Traverse::describe() const { return "Traverse " + walk_.describe() + filter_text(selection_); }

Table CountNeighbours::execute(Context &context) {
  Table table;
  table.names = {name_};
  std::uint64_t count = 0;
  if (walk_.steps > 0) {
    count = context.storage.count_neighbours(walk_.edge, walk_.reversely, walk_.last_start(context));
  }
  table.cells.emplace_back(static_cast<std::int64_t>(count));
  return table;
}

std::string CountNeighbours::describe() const { return "CountNeighbours " + walk_.describe(); }

Table JoinDestinations::execute(Context &context) {
  Table input = input_->execute(context);
  std::size_t rows = input.rows();
  std::vector<VertexId> ids;
  ids.reserve(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    ids.push_back(input.row(i)[id_slot_].integer());
  }
  keep_each_once(ids);

  std::size_t width = input.width();
  std::vector<std::vector<Value>> found(parts_.size());
  std::vector<IdMap<std::uint32_t>> places;
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    // The first column of each part is the id.
    std::size_t part_width = parts_[p].selection.columns.size();
    context.storage.get_vertices(parts_[p].tag, parts_[p].selection, ids, found[p]);
    IdMap<std::uint32_t> &place = places.emplace_back(ids.size());
    for (std::uint32_t at = 0; at < found[p].size(); at += static_cast<std::uint32_t>(part_width)) {
      place.insert(found[p][at].integer(), at);
    }
    width += part_width - 1;
  }

  Table output;
  output.names = unnamed(width);
  output.cells.reserve(rows * width);
  for (std::size_t i = 0; i < rows; ++i) {
    Value *row = input.row(i);
    VertexId id = row[id_slot_].integer();
    output.cells.insert(output.cells.end(), std::make_move_iterator(row), std::make_move_iterator(row + input.width()));
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      std::size_t added = parts_[p].selection.columns.size() - 1;
      if (const std::uint32_t *at = places[p].find(id)) {
        auto begin = found[p].begin() + *at + 1;
        output.cells.insert(output.cells.end(), begin, begin + static_cast<std::ptrdiff_t>(added));
      } else {
        output.cells.resize(output.cells.size() + added);
      }
    }
  }
  return output;
}

std::string JoinDestinations::describe() const {
  std::string text = "JoinDestinations";
  for (const Part &part : parts_) {
    text += " " + part.tag.name;
  }
  return text;
}

Table Filter::execute(Context &context) {
  Table table = input_->execute(context);
  std::size_t width = table.width();
  std::size_t kept = 0;
  Value scratch;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    Value *row = table.row(i);
    if (!holds(*condition_, TableRow(row), scratch)) {
      continue;
    }
    if (kept != i) {
      std::move(row, row + width, table.row(kept));
    }
    ++kept;
  }
  table.cells.resize(kept * width);
  return table;
}

std::string Filter::describe() const {
  std::string text = "Filter ";
  condition_->print(text);
  return text;
}

Table Project::execute(Context &context) {
  Table input = input_->execute(context);
  Table output;
  for (const YieldColumn &column : columns_) {
    output.names.push_back(column.name);
  }
  output.cells.reserve(input.rows() * columns_.size());
  Value scratch;
  for (std::size_t i = 0; i < input.rows(); ++i) {
    TableRow row(input.row(i));
    for (const YieldColumn &column : columns_) {
      output.cells.push_back(column.expression->evaluate(row, scratch));
    }
  }
  return output;
}

std::string Project::describe() const {
  std::string text = "Project";
  for (const YieldColumn &column : columns_) {
    text += &column == columns_.data() ? " " : ", ";
    column.expression->print(text);
  }
  return text;
}

namespace {

/// What an aggregate knows of its group so far.
struct State {
  std::int64_t count = 0;
  Value value;
};

void take_into(State &state, Aggregate aggregate, const Value &value) {
  if (value.is_null()) {
    return;
  }
  ++state.count;
  switch (aggregate) {
    case Aggregate::none:
    case Aggregate::count: break;
    case Aggregate::sum:
    case Aggregate::average: state.value = state.count == 1 ? value : add(state.value, value); break;
    case Aggregate::least:
      if (state.count == 1 || compare(value, state.value) == Order::less) {
        state.value = value;
      }
      break;
    case Aggregate::greatest:
      if (state.count == 1 || compare(value, state.value) == Order::greater) {
        state.value = value;
      }
      break;
  }
}

Value result_of(State &state, Aggregate aggregate) {
  switch (aggregate) {
    case Aggregate::count: return Value(state.count);
    case Aggregate::average:
      return state.value.is_number() ? Value(state.value.as_real() / static_cast<double>(state.count)) : Value();
    default: return std::move(state.value);
  }
}

}  // namespace

Table Group::execute(Context &context) {
  Table input = input_->execute(context);
  std::size_t keys = 0;
  for (const YieldColumn &column : columns_) {
    keys += column.aggregate == Aggregate::none ? 1 : 0;
  }
  std::size_t aggregates = columns_.size() - keys;

  RowIndex groups(keys);
  std::vector<State> states;
  std::vector<Value> key;
  Value scratch;
  const Value counted(true);
  if (keys == 0) {
    // One group, even without rows.
    groups.insert(nullptr);
    states.resize(aggregates);
  }
  for (std::size_t i = 0; i < input.rows(); ++i) {
    TableRow row(input.row(i));
    key.clear();
    for (const YieldColumn &column : columns_) {
      if (column.aggregate == Aggregate::none) {
        key.push_back(column.expression->evaluate(row, scratch));
      }
    }
    auto [group, added] = groups.insert(key.data());
    if (added) {
      states.resize(states.size() + aggregates);
    }
    State *state = states.data() + group * aggregates;
    for (const YieldColumn &column : columns_) {
      if (column.aggregate != Aggregate::none) {
        take_into(*state++, column.aggregate, column.expression ? column.expression->evaluate(row, scratch) : counted);
      }
    }
  }

  Table output;
  for (const YieldColumn &column : columns_) {
    output.names.push_back(column.name);
  }
  for (std::size_t group = 0; group < groups.size(); ++group) {
    const Value *own_key = groups.row(group);
    State *state = states.data() + group * aggregates;
    for (const YieldColumn &column : columns_) {
      output.cells.push_back(column.aggregate == Aggregate::none ? *own_key++ : result_of(*state++, column.aggregate));
    }
  }
  return output;
}

std::string Group::describe() const {
  std::string text = "Group";
  for (const YieldColumn &column : columns_) {
    text += (&column == columns_.data() ? " " : ", ") + column.name;
  }
  return text;
}

Table Distinct::execute(Context &context) {
  Table input = input_->execute(context);
  RowIndex index(input.width());
  for (std::size_t i = 0; i < input.rows(); ++i) {
    index.insert(input.row(i));
  }
  input.cells = std::move(index.cells());
  return input;
}

Table Sort::execute(Context &context) {
  Table input = input_->execute(context);
  std::vector<std::uint32_t> order(input.rows());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
    for (const Key &key : keys_) {
      const Value &a = input.row(left)[key.column];
      const Value &b = input.row(right)[key.column];
      if (sorts_before(a, b)) {
        return !key.descending;
      }
      if (sorts_before(b, a)) {
        return key.descending;
      }
    }
    // Equal rows stay as they are.
    return left < right;
  });
  std::vector<Value> sorted;
  sorted.reserve(input.cells.size());
  for (std::uint32_t number : order) {
    Value *row = input.row(number);
    sorted.insert(sorted.end(), std::make_move_iterator(row), std::make_move_iterator(row + input.width()));
  }
  input.cells = std::move(sorted);
  return input;
}

Table Limit::execute(Context &context) {
  Table input = input_->execute(context);
  if (input.rows() > rows_) {
    input.cells.resize(rows_ * input.width());
  }
  return input;
}

Table Create::execute(Context &context) {
  context.catalogs.create(statement_);
  return {};
}

namespace {

std::string columns_text(const Definition &definition) {
  std::string text;
  for (const Column &column : definition.columns) {
    text += (text.empty() ? "" : ", ") + column.name + " " + type_name(column.type);
  }
  return text;
}

}  // namespace

Table Show::execute(Context &context) {
  auto catalog = context.catalogs.current();
  Table table;
  switch (statement_.what) {
    case Shown::tags:
    case Shown::edges:
      table.names = {"name", "properties"};
      for (const Definition &definition : statement_.what == Shown::tags ? catalog->tags : catalog->edges) {
        table.cells.emplace_back(definition.name);
        table.cells.emplace_back(columns_text(definition));
      }
      break;
    case Shown::hosts:
      table.names = {"host", "partitions"};
      for (std::uint32_t host = 0; host < catalog->hosts.size(); ++host) {
        auto own = std::count(catalog->placement.begin(), catalog->placement.end(), host);
        table.cells.emplace_back(catalog->hosts[host]);
        table.cells.emplace_back(static_cast<std::int64_t>(own));
      }
      break;
    case Shown::statistics: {
      table.names = {"vertices", "edges", "bytes"};
      SpaceStatistics statistics = context.storage.statistics();
      for (std::uint64_t number : {statistics.vertices, statistics.edges, statistics.bytes}) {
        table.cells.emplace_back(static_cast<std::int64_t>(number));
      }
      break;
    }
  }
  return table;
}

}  // namespace graph

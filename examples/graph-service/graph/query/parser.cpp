#include "query/parser.hpp"

#include "common/errors.hpp"

namespace graph {

namespace {

class NoRow final : public Row {
 public:
  const Value &at(const Reference &, Value &) const override { throw Error("values to insert have no properties"); }
};

}  // namespace

Parser::Parser(std::string_view statement) : statement_(statement), lexer_(statement) { advance(); }

void Parser::advance() { token_ = lexer_.next(); }

bool Parser::take(Kind kind) {
  if (!at(kind)) {
    return false;
  }
  advance();
  return true;
}

bool Parser::take(Word word) {
  if (!at(word)) {
    return false;
  }
  advance();
  return true;
}

void Parser::expect(Kind kind, const char *what) {
  if (!take(kind)) {
    unexpected(what);
  }
}

void Parser::expect(Word word, const char *what) {
  if (!take(word)) {
    unexpected(what);
  }
}

void Parser::unexpected(const char *wanted) const {
  std::string found = at(Kind::end) ? "the end" : "`" + std::string(token_.text) + "`";
  syntax_error(token_.position, std::string(wanted) + " expected, not " + found);
}

std::string Parser::name(const char *what) {
  if (!at(Kind::word)) {
    unexpected(what);
  }
  std::string result(token_.text);
  advance();
  return result;
}

VertexId Parser::id() {
  bool negative = take(Kind::minus);
  if (!at(Kind::integer)) {
    unexpected("the id of a vertex");
  }
  VertexId result = negative ? -token_.integer : token_.integer;
  advance();
  return result;
}

std::vector<VertexId> Parser::ids() {
  std::vector<VertexId> result;
  do {
    result.push_back(id());
  } while (take(Kind::comma));
  return result;
}

std::uint64_t Parser::count(const char *what) {
  if (!at(Kind::integer)) {
    unexpected(what);
  }
  auto result = static_cast<std::uint64_t>(token_.integer);
  advance();
  return result;
}

std::vector<Value> Parser::values() {
  std::vector<Value> result;
  expect(Kind::left_paren, "`(`");
  if (take(Kind::right_paren)) {
    return result;
  }
  do {
    ExpressionPtr parsed = expression();
    if (auto *literal = dynamic_cast<Literal *>(parsed.get())) {
      result.push_back(literal->take());
      continue;
    }
    Value scratch;
    result.push_back(parsed->evaluate(NoRow(), scratch));
  } while (take(Kind::comma));
  expect(Kind::right_paren, "`,` or `)`");
  return result;
}

Statement Parser::parse() {
  Statement statement;
  statement.explain = take(Word::explain);
  if (take(Word::go)) {
    statement.content = go();
  } else if (take(Word::fetch)) {
    fetch(statement);
  } else if (take(Word::insert)) {
    statement.content = insert();
  } else if (take(Word::find)) {
    statement.content = find_path();
  } else if (take(Word::lookup)) {
    statement.content = lookup();
  } else if (take(Word::show)) {
    statement.content = show();
  } else if (take(Word::create)) {
    statement.content = create();
  } else {
    unexpected("GO, FETCH, LOOKUP, FIND, INSERT, CREATE or SHOW");
  }
  take(Kind::semicolon);
  if (!at(Kind::end)) {
    unexpected("the end of the statement");
  }
  return statement;
}

CreateStatement Parser::create() {
  CreateStatement result;
  result.edge = take(Word::edge);
  if (!result.edge) {
    expect(Word::tag, "TAG or EDGE");
  }
  if (take(Word::if_)) {
    expect(Word::not_, "NOT");
    expect(Word::exists, "EXISTS");
    result.may_exist = true;
  }
  result.name = name("a name");
  expect(Kind::left_paren, "`(`");
  if (take(Kind::right_paren)) {
    return result;
  }
  do {
    Column column;
    column.name = name("the name of a property");
    for (const Column &other : result.columns) {
      if (other.name == column.name) {
        throw Error("property `" + column.name + "` is there twice");
      }
    }
    if (take(Word::int_)) {
      column.type = Type::integer;
    } else if (take(Word::double_)) {
      column.type = Type::real;
    } else if (take(Word::string)) {
      column.type = Type::string;
    } else if (take(Word::bool_)) {
      column.type = Type::boolean;
    } else {
      unexpected("int, double, string or bool");
    }
    result.columns.push_back(std::move(column));
  } while (take(Kind::comma));
  expect(Kind::right_paren, "`,` or `)`");
  return result;
}

ShowStatement Parser::show() {
  if (take(Word::tags)) {
    return {Shown::tags};
  }
  if (take(Word::edges)) {
    return {Shown::edges};
  }
  if (take(Word::hosts)) {
    return {Shown::hosts};
  }
  expect(Word::stats, "TAGS, EDGES, HOSTS or STATS");
  return {Shown::statistics};
}

InsertStatement Parser::insert() {
  InsertStatement result;
  result.edge = take(Word::edge);
  if (!result.edge) {
    expect(Word::vertex, "VERTEX or EDGE");
  }
  result.name = name("the name of a tag or of an edge");
  expect(Kind::left_paren, "`(`");
  if (!take(Kind::right_paren)) {
    do {
      result.columns.push_back(name("the name of a property"));
    } while (take(Kind::comma));
    expect(Kind::right_paren, "`,` or `)`");
  }
  expect(Word::values, "VALUES");
  do {
    InsertItem &item = result.items.emplace_back();
    item.id = id();
    if (result.edge) {
      expect(Kind::arrow, "`->`");
      item.destination = id();
    }
    expect(Kind::colon, "`:`");
    std::size_t position = token_.position;
    item.values = values();
    if (item.values.size() != result.columns.size()) {
      syntax_error(position, std::to_string(item.values.size()) + " values for " +
                                 std::to_string(result.columns.size()) + " properties");
    }
  } while (take(Kind::comma));
  return result;
}

void Parser::fetch(Statement &statement) {
  expect(Word::prop, "PROP");
  expect(Word::on, "ON");
  std::string owner = name("the name of a tag or of an edge");
  VertexId first = id();
  if (!at(Kind::arrow)) {
    FetchVertices result;
    result.tag = std::move(owner);
    result.ids.push_back(first);
    while (take(Kind::comma)) {
      result.ids.push_back(id());
    }
    yields(result.output);
    order_and_limit(result.output);
    statement.content = std::move(result);
    return;
  }
  FetchEdges result;
  result.edge = std::move(owner);
  for (;;) {
    expect(Kind::arrow, "`->`");
    result.ends.emplace_back(first, id());
    if (!take(Kind::comma)) {
      break;
    }
    first = id();
  }
  yields(result.output);
  order_and_limit(result.output);
  statement.content = std::move(result);
}

GoStatement Parser::go() {
  GoStatement result;
  if (at(Kind::integer)) {
    result.steps = count("a number of steps");
    expect(Word::steps, "STEPS");
  }
  expect(Word::from, "FROM");
  result.from = ids();
  expect(Word::over, "OVER");
  result.edge = name("the name of an edge");
  result.reversely = take(Word::reversely);
  result.where = where();
  yields(result.output);
  order_and_limit(result.output);
  return result;
}

PathStatement Parser::find_path() {
  PathStatement result;
  expect(Word::shortest, "SHORTEST");
  expect(Word::path, "PATH");
  expect(Word::from, "FROM");
  result.from = id();
  expect(Word::to, "TO");
  result.to = id();
  expect(Word::over, "OVER");
  result.edge = name("the name of an edge");
  if (take(Word::upto)) {
    result.steps = count("a number of steps");
    expect(Word::steps, "STEPS");
  }
  if (take(Word::limit)) {
    result.limit = count("a number of paths");
  }
  return result;
}

LookupStatement Parser::lookup() {
  LookupStatement result;
  expect(Word::on, "ON");
  result.tag = name("the name of a tag");
  result.where = where();
  yields(result.output);
  order_and_limit(result.output);
  return result;
}

ExpressionPtr Parser::where() { return take(Word::where) ? expression() : nullptr; }

void Parser::yields(Output &output) {
  if (!take(Word::yield)) {
    return;
  }
  output.distinct = take(Word::distinct);
  do {
    output.columns.push_back(yield_column());
  } while (take(Kind::comma));
}

YieldColumn Parser::yield_column() {
  YieldColumn column;
  std::size_t start = token_.position;
  std::size_t end = start;
  // An aggregate looks like a function with a name of its own.
  Aggregate aggregate = at(Kind::word) ? find_aggregate(token_.text) : Aggregate::none;
  if (aggregate != Aggregate::none) {
    column.aggregate = aggregate;
    advance();
    expect(Kind::left_paren, "`(`");
    if (aggregate != Aggregate::count || !take(Kind::star)) {
      column.expression = expression();
    }
    expect(Kind::right_paren, "`)`");
  } else {
    column.expression = expression();
  }
  end = token_.position;
  if (take(Word::as)) {
    column.name = name("a name");
    return column;
  }
  std::string_view text = statement_.substr(start, end - start);
  while (!text.empty() && text.back() == ' ') {
    text.remove_suffix(1);
  }
  column.name = text;
  return column;
}

void Parser::order_and_limit(Output &output) {
  if (take(Word::order)) {
    expect(Word::by, "BY");
    do {
      OrderKey &key = output.order.emplace_back();
      key.column = name("the name of a column");
      key.descending = take(Word::desc);
      if (!key.descending) {
        take(Word::asc);
      }
    } while (take(Kind::comma));
  }
  if (take(Word::limit)) {
    output.limit = count("a number of rows");
  }
}

}  // namespace graph

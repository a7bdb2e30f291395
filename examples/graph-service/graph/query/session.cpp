#include "query/session.hpp"

#include "common/errors.hpp"
#include "query/parser.hpp"
#include "query/planner.hpp"

namespace graph {

namespace {

void append_error(std::string &out, std::string_view message) {
  out += "error ";
  // Whatever it quotes, it is one line.
  for (char c : message) {
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  out += '\n';
}

void append_table(std::string &out, const Table &table) {
  out += "ok " + std::to_string(table.rows()) + "\n";
  std::size_t width = table.width();
  for (std::size_t i = 0; i < width; ++i) {
    out += i == 0 ? "" : "\t";
    append_text(out, Value(table.names[i]));
  }
  out += '\n';
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const Value *cells = table.row(row);
    for (std::size_t i = 0; i < width; ++i) {
      if (i > 0) {
        out += '\t';
      }
      append_text(out, cells[i]);
    }
    out += '\n';
  }
}

}  // namespace

void Session::serve(Socket &socket) {
  Inbox inbox(socket);
  std::string_view line;
  std::string out;
  while (inbox.line(line)) {
    out.clear();
    answer(line, out);
    socket.send(out);
  }
}

void Session::answer(std::string_view line, std::string &out) {
  try {
    append_table(out, run(line));
  } catch (const Error &error) {
    out.clear();
    append_error(out, error.what());
  }
}

Table Session::run(std::string_view text) {
  Statement statement = Parser(text).parse();
  bool explained = statement.explain;
  auto catalog = catalogs_.current();
  PlanStepPtr steps;
  try {
    steps = plan(std::move(statement), *catalog);
  } catch (const UnknownName &) {
    // Another graphd may have made it.
    catalogs_.refresh();
    catalog = catalogs_.current();
    steps = plan(Parser(text).parse(), *catalog);
  }
  if (explained) {
    return explain(*steps);
  }
  storage_.use(catalog);
  Context context{storage_, catalogs_};
  return steps->execute(context);
}

}  // namespace graph

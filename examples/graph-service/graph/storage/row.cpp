#include "storage/row.hpp"

#include <cstring>

#include "common/errors.hpp"

namespace graph {

namespace {

std::size_t bitmap_size(std::size_t columns) { return (columns + 7) / 8; }

[[noreturn]] void wrong_type(const Definition &definition, const Column &column, const Value &value) {
  throw Error("property `" + column.name + "` of `" + definition.name + "` is of type " + type_name(column.type) +
              ", not " + type_name(value.type()));
}

template <typename T>
void store(std::string &out, std::size_t at, T value) {
  std::memcpy(&out[at], &value, sizeof value);
}

}  // namespace

void encode_row(std::string &out, const Definition &definition, const std::vector<Value> &values) {
  std::size_t columns = definition.columns.size();
  std::size_t slots = bitmap_size(columns);
  out.assign(slots + columns * 8, '\0');
  for (std::size_t i = 0; i < columns; ++i) {
    const Value &value = values[i];
    const Column &column = definition.columns[i];
    std::size_t slot = slots + i * 8;
    if (value.is_null()) {
      out[i / 8] = static_cast<char>(out[i / 8] | (1 << (i % 8)));
      continue;
    }
    if (column.type == Type::real && value.type() == Type::integer) {
      store(out, slot, value.as_real());
      continue;
    }
    if (column.type != value.type()) {
      wrong_type(definition, column, value);
    }
    switch (value.type()) {
      case Type::null: break;
      case Type::boolean: out[slot] = value.boolean() ? 1 : 0; break;
      case Type::integer: store(out, slot, value.integer()); break;
      case Type::real: store(out, slot, value.real()); break;
      case Type::string:
        store(out, slot, static_cast<std::uint32_t>(out.size()));
        store(out, slot + 4, static_cast<std::uint32_t>(value.string().size()));
        out += value.string();
        break;
    }
  }
}

void RowView::read(const Definition &definition, std::size_t column, Value &value) const {
  if (column >= columns_ || ((bytes_[column / 8] >> (column % 8)) & 1) != 0) {
    value = Value();
    return;
  }
  const char *slot = bytes_.data() + bitmap_size(columns_) + column * 8;
  switch (definition.columns[column].type) {
    case Type::null: value = Value(); break;
    case Type::boolean: value = Value(*slot != 0); break;
    case Type::integer: {
      std::int64_t number;
      std::memcpy(&number, slot, sizeof number);
      value = Value(number);
      break;
    }
    case Type::real: {
      double number;
      std::memcpy(&number, slot, sizeof number);
      value = Value(number);
      break;
    }
    case Type::string: {
      std::uint32_t place[2];
      std::memcpy(place, slot, sizeof place);
      value.assign(bytes_.substr(place[0], place[1]));
      break;
    }
  }
}

}  // namespace graph

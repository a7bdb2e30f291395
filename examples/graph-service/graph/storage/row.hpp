#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/catalog.hpp"
#include "common/value.hpp"

namespace graph {

/// Properties as they are stored: a bit for each that is null, eight bytes for each, then the texts of strings.
/// A string's eight bytes are its offset and its length.

/// Throws if a value is not of its column's type.
void encode_row(std::string &out, const Definition &definition, const std::vector<Value> &values);

class RowView {
 public:
  RowView(std::string_view bytes, std::size_t columns) : bytes_(bytes), columns_(columns) {}

  void read(const Definition &definition, std::size_t column, Value &value) const;

 private:
  std::string_view bytes_;
  std::size_t columns_;
};

}  // namespace graph

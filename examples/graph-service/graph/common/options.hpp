#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace graph {

struct Option {
  std::string name;
  std::string value_name;
  std::string help;
  /// What it is if it is not given; "" for an option that has to be.
  std::string fallback;
};

/// Options of the form `--name value` or `--name=value`.
class Options {
 public:
  Options(std::string program, std::string about, std::vector<Option> known);

  /// False after `--help`.
  bool parse(int count, char **arguments);

  const std::string &text(const std::string &name) const;
  std::uint64_t number(const std::string &name, std::uint64_t least, std::uint64_t most) const;
  std::uint16_t port() const { return static_cast<std::uint16_t>(number("port", 1, 65535)); }

 private:
  void print_help() const;
  const Option &find(const std::string &name) const;

  std::string program_;
  std::string about_;
  std::vector<Option> known_;
  std::map<std::string, std::string> given_;
};

}  // namespace graph

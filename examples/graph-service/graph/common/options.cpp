#include "common/options.hpp"

#include <charconv>
#include <iostream>

#include "common/errors.hpp"

namespace graph {

Options::Options(std::string program, std::string about, std::vector<Option> known)
    : program_(std::move(program)), about_(std::move(about)), known_(std::move(known)) {}

bool Options::parse(int count, char **arguments) {
  for (int i = 1; i < count; ++i) {
    std::string argument = arguments[i];
    if (argument == "--help" || argument == "-h") {
      print_help();
      return false;
    }
    if (argument.compare(0, 2, "--") != 0) {
      throw Error("unexpected argument `" + argument + "`; see --help");
    }
    std::size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    find(name);
    if (equals != std::string::npos) {
      given_[name] = argument.substr(equals + 1);
    } else if (++i < count) {
      given_[name] = arguments[i];
    } else {
      throw Error("option --" + name + " needs a value; see --help");
    }
  }
  for (const Option &option : known_) {
    if (option.fallback.empty() && given_.count(option.name) == 0) {
      throw Error("option --" + option.name + " is missing; see --help");
    }
  }
  return true;
}

const std::string &Options::text(const std::string &name) const {
  auto found = given_.find(name);
  return found != given_.end() ? found->second : find(name).fallback;
}

std::uint64_t Options::number(const std::string &name, std::uint64_t least, std::uint64_t most) const {
  const std::string &value = text(name);
  std::uint64_t number = 0;
  const char *end = value.data() + value.size();
  auto result = std::from_chars(value.data(), end, number);
  if (result.ec != std::errc() || result.ptr != end || number < least || number > most) {
    throw Error("--" + name + " is `" + value + "`, but has to be a number from " + std::to_string(least) + " to " +
                std::to_string(most));
  }
  return number;
}

const Option &Options::find(const std::string &name) const {
  for (const Option &option : known_) {
    if (option.name == name) {
      return option;
    }
  }
  throw Error("unknown option --" + name + "; see --help");
}

void Options::print_help() const {
  std::cout << about_ << "\n\nUsage: " << program_ << " [OPTIONS]\n\n";
  for (const Option &option : known_) {
    std::cout << "  --" << option.name << " " << option.value_name << "\n        " << option.help;
    if (!option.fallback.empty()) {
      std::cout << " [default: " << option.fallback << "]";
    }
    std::cout << "\n";
  }
}

}  // namespace graph

#pragma once

#include <stdexcept>

namespace textpack {

/// The packed data is damaged, or is not ours.
class BadData : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller asked for something that does not exist.
class BadArgument : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

}  // namespace textpack

#pragma once

#include <stdexcept>

namespace graph {

/// What a user or a peer is told.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A peer can't be reached, or went away.
class ConnectionError : public Error {
 public:
  using Error::Error;
};

/// A name that the catalog does not have: it may be older than the statement.
class UnknownName : public Error {
 public:
  using Error::Error;
};

}  // namespace graph

#pragma once

#include "query/ast.hpp"
#include "query/executor.hpp"

namespace graph {

/// Looks names up, decides what storage daemons do and what is done here.
PlanStepPtr plan(Statement statement, const Catalog &catalog);

}  // namespace graph

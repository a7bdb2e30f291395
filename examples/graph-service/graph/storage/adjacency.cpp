#include "storage/adjacency.hpp"

#include <algorithm>

namespace graph {

std::ptrdiff_t Adjacency::find(VertexId neighbour) const {
  auto found = std::lower_bound(neighbours_.begin(), neighbours_.end(), neighbour);
  return found != neighbours_.end() && *found == neighbour ? found - neighbours_.begin() : -1;
}

bool Adjacency::insert(VertexId neighbour, std::string_view row) {
  auto found = std::lower_bound(neighbours_.begin(), neighbours_.end(), neighbour);
  auto position = found - neighbours_.begin();
  if (found != neighbours_.end() && *found == neighbour) {
    replace(places_[static_cast<std::size_t>(position)], row);
    return false;
  }
  Place place{static_cast<std::uint32_t>(rows_.size()), static_cast<std::uint32_t>(row.size())};
  neighbours_.insert(found, neighbour);
  places_.insert(places_.begin() + position, place);
  rows_ += row;
  return true;
}

void Adjacency::replace(Place &place, std::string_view row) {
  if (row.size() == place.size) {
    rows_.replace(place.offset, place.size, row);
    return;
  }
  dead_ += place.size;
  place.offset = static_cast<std::uint32_t>(rows_.size());
  place.size = static_cast<std::uint32_t>(row.size());
  rows_ += row;
  if (dead_ * 2 > rows_.size()) {
    compact();
  }
}

void Adjacency::compact() {
  std::string kept;
  kept.reserve(rows_.size() - dead_);
  for (Place &place : places_) {
    std::string_view row = std::string_view(rows_).substr(place.offset, place.size);
    place.offset = static_cast<std::uint32_t>(kept.size());
    kept += row;
  }
  rows_ = std::move(kept);
  dead_ = 0;
}

}  // namespace graph

#include "query/path.hpp"

#include <algorithm>

#include "common/hash.hpp"

namespace graph {

namespace {

constexpr std::uint32_t nothing = ~0U;

/// What is known from one end: each vertex that was reached, with all edges of shortest ways to it.
class Side {
 public:
  Side(VertexId start, bool reversely) : reversely_(reversely), frontier_{start} { visits_.insert(start, Visit{}); }

  std::uint64_t depth() const { return depth_; }
  const std::vector<VertexId> &frontier() const { return frontier_; }
  bool reached(VertexId id) const { return visits_.find(id) != nullptr; }

  /// One step further from all vertices that were reached last.
  void expand(StorageClient &storage, const Definition &edge) {
    found_.clear();
    storage.follow(edge, reversely_, frontier_, found_);
    ++depth_;
    frontier_.clear();
    for (auto [parent, id] : found_) {
      auto [visit, added] = visits_.insert(id, Visit{depth_, nothing});
      if (added) {
        frontier_.push_back(id);
      } else if (visit->depth != depth_) {
        continue;
      }
      parents_.push_back({parent, visit->first_parent});
      visit->first_parent = static_cast<std::uint32_t>(parents_.size() - 1);
    }
    std::sort(frontier_.begin(), frontier_.end());
  }

  /// All ways from a vertex back to the start, without the vertex.
  void ways(VertexId id, std::vector<VertexId> &way, std::vector<std::vector<VertexId>> &all, std::size_t most) const {
    const Visit *visit = visits_.find(id);
    if (visit->depth == 0) {
      all.push_back(way);
      return;
    }
    for (std::uint32_t at = visit->first_parent; at != nothing && all.size() < most; at = parents_[at].next) {
      way.push_back(parents_[at].id);
      ways(parents_[at].id, way, all, most);
      way.pop_back();
    }
  }

 private:
  struct Visit {
    std::uint64_t depth = 0;
    std::uint32_t first_parent = nothing;
  };

  struct Parent {
    VertexId id;
    std::uint32_t next;
  };

  bool reversely_;
  std::uint64_t depth_ = 0;
  std::vector<VertexId> frontier_;
  IdMap<Visit> visits_;
  std::vector<Parent> parents_;
  std::vector<std::pair<VertexId, VertexId>> found_;
};

std::string path_text(const std::vector<VertexId> &path) {
  std::string text;
  for (VertexId id : path) {
    text += text.empty() ? "" : "->";
    append_text(text, Value(id));
  }
  return text;
}

}  // namespace

Table ShortestPaths::execute(Context &context) {
  Table table;
  table.names = {"path", "length"};
  Side forward(from_, false);
  Side backward(to_, true);
  std::vector<VertexId> meetings;
  if (from_ == to_) {
    meetings.push_back(from_);
  }
  while (meetings.empty() && forward.depth() + backward.depth() < steps_ && !forward.frontier().empty() &&
         !backward.frontier().empty()) {
    bool from_start = forward.frontier().size() <= backward.frontier().size();
    Side &side = from_start ? forward : backward;
    const Side &other = from_start ? backward : forward;
    side.expand(context.storage, edge_);
    // They meet in the last layer of both, or they would have met before.
    for (VertexId id : side.frontier()) {
      if (other.reached(id)) {
        meetings.push_back(id);
      }
    }
  }

  std::vector<std::vector<VertexId>> paths;
  std::vector<VertexId> way;
  for (VertexId meeting : meetings) {
    std::vector<std::vector<VertexId>> heads;
    std::vector<std::vector<VertexId>> tails;
    forward.ways(meeting, way, heads, limit_);
    backward.ways(meeting, way, tails, limit_);
    for (const auto &head : heads) {
      for (const auto &tail : tails) {
        std::vector<VertexId> path(head.rbegin(), head.rend());
        path.push_back(meeting);
        path.insert(path.end(), tail.begin(), tail.end());
        paths.push_back(std::move(path));
      }
    }
    if (paths.size() >= limit_) {
      break;
    }
  }
  std::sort(paths.begin(), paths.end());
  paths.resize(std::min<std::size_t>(paths.size(), limit_));
  for (const auto &path : paths) {
    table.cells.emplace_back(path_text(path));
    table.cells.emplace_back(static_cast<std::int64_t>(path.size() - 1));
  }
  return table;
}

std::string ShortestPaths::describe() const {
  return "ShortestPaths " + edge_.name + ", at most " + std::to_string(steps_) + " steps";
}

}  // namespace graph

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace graph {

/// Spreads the bits of a number over all bits of the result.
inline std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9U;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebU;
  x ^= x >> 31;
  return x;
}

inline std::uint64_t hash_bytes(std::string_view bytes, std::uint64_t seed) {
  std::uint64_t state = seed ^ 0xcbf29ce484222325U;
  for (char c : bytes) {
    state = (state ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return mix(state);
}

/// A map from vertex ids: open addressing, linear probing, nothing is ever removed.
template <typename Mapped>
class IdMap {
 public:
  explicit IdMap(std::size_t expected = 0) { rehash(expected * 2); }

  std::size_t size() const { return size_; }

  const Mapped *find(std::int64_t id) const {
    const Slot &slot = slots_[position(id)];
    return slot.used ? &slot.mapped : nullptr;
  }

  Mapped *find(std::int64_t id) {
    Slot &slot = slots_[position(id)];
    return slot.used ? &slot.mapped : nullptr;
  }

  /// The mapped value, and whether it is new.
  std::pair<Mapped *, bool> insert(std::int64_t id, const Mapped &mapped) {
    Slot *slot = &slots_[position(id)];
    if (slot->used) {
      return {&slot->mapped, false};
    }
    if ((size_ + 1) * 4 > slots_.size() * 3) {
      rehash(slots_.size() * 2);
      slot = &slots_[position(id)];
    }
    slot->id = id;
    slot->mapped = mapped;
    slot->used = true;
    ++size_;
    return {&slot->mapped, true};
  }

 private:
  struct Slot {
    std::int64_t id = 0;
    Mapped mapped{};
    bool used = false;
  };

  /// Of the id, or of the free slot where it belongs.
  std::size_t position(std::int64_t id) const {
    std::size_t mask = slots_.size() - 1;
    std::size_t at = mix(static_cast<std::uint64_t>(id)) & mask;
    while (slots_[at].used && slots_[at].id != id) {
      at = (at + 1) & mask;
    }
    return at;
  }

  void rehash(std::size_t wanted) {
    std::size_t capacity = 16;
    while (capacity < wanted) {
      capacity *= 2;
    }
    std::vector<Slot> old(capacity);
    old.swap(slots_);
    for (Slot &slot : old) {
      if (slot.used) {
        slots_[position(slot.id)] = std::move(slot);
      }
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

/// Which partition a vertex is in; daemons and data directories have to agree.
inline std::uint32_t partition_of(std::int64_t id, std::uint32_t partitions) {
  return static_cast<std::uint32_t>(mix(static_cast<std::uint64_t>(id) ^ 0x9e3779b97f4a7c15U) % partitions);
}

}  // namespace graph

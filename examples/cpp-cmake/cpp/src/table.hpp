#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace textpack {

/// A hash table with open addressing. Entries are never removed.
///
/// `Traits` gives the hash of a key, and tells whether a stored key equals the one looked for,
/// which may be of another type: a string is found by a view, without a copy.
template <typename Key, typename Value, typename Traits>
class Table {
 public:
  Table() : slots_(16) {}

  size_t size() const { return size_; }

  /// The value of `key`, or null.
  template <typename Query>
  const Value *find(const Query &key) const {
    const Slot &slot = slots_[locate(slots_, key)];
    return slot.used ? &slot.entry.second : nullptr;
  }

  /// The value of `key`, which is added with an empty value if it is new.
  template <typename Query>
  Value &operator[](const Query &key) {
    size_t place = locate(slots_, key);
    if (!slots_[place].used) {
      if ((size_ + 1) * 4 > slots_.size() * 3) {
        grow();
        place = locate(slots_, key);
      }
      slots_[place].used = true;
      slots_[place].entry.first = Key(key);
      size_++;
    }
    return slots_[place].entry.second;
  }

  /// Calls `visit` with each key and value, in no useful order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const Slot &slot : slots_) {
      if (slot.used) {
        visit(slot.entry.first, slot.entry.second);
      }
    }
  }

 private:
  struct Slot {
    bool used = false;
    std::pair<Key, Value> entry{};
  };

  template <typename Query>
  static size_t locate(const std::vector<Slot> &slots, const Query &key) {
    const size_t mask = slots.size() - 1;
    size_t place = Traits::hash(key) & mask;
    while (slots[place].used && !Traits::equal(slots[place].entry.first, key)) {
      place = (place + 1) & mask;
    }
    return place;
  }

  void grow() {
    std::vector<Slot> larger(slots_.size() * 2);
    for (Slot &slot : slots_) {
      if (slot.used) {
        larger[locate(larger, slot.entry.first)] = std::move(slot);
      }
    }
    slots_ = std::move(larger);
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace textpack

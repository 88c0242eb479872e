// The memory that the trees point to, counted by table.
//
// An Item is one allocation: a header and bytes, the key first. Three things are items: a row (key, then the encoded
// message), an index record (index key and primary key) and a separator in an inner node (key only). Items are
// immutable once their transaction has been published.
//
// Memory allocates and counts, by table: operators must see what eats memory. [any]
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace drover::state {

inline constexpr size_t kMaxTables = 1024;
inline constexpr size_t kMaxKeyBytes = UINT16_MAX;

struct Item {
  uint64_t birth;                      // the version that made it
  uint32_t value_length;               //
  uint16_t key_length;                 // of the key in the tree that holds the item
  uint16_t primary_offset;             // index records: where the primary key begins in the bytes
  mutable std::atomic<uint32_t> pins;  // one for the store, one for each RowRef; the last one frees
  uint16_t table;

  char* bytes() { return reinterpret_cast<char*>(this + 1); }
  const char* bytes() const { return reinterpret_cast<const char*>(this + 1); }
  std::string_view key() const { return {bytes(), key_length}; }
  std::string_view value() const { return {bytes() + key_length, value_length}; }
  std::string_view primary_key() const {
    return {bytes() + primary_offset, size_t{key_length} + value_length - primary_offset};
  }
  size_t allocated() const { return sizeof(Item) + key_length + value_length; }
};
static_assert(sizeof(Item) == 24);

class Memory {
 public:
  // An item with one pin. `key_tail` is appended to the key. Requires: the key fits kMaxKeyBytes.
  Item* make_item(uint64_t birth, uint16_t table, std::string_view key, std::string_view key_tail,
                  std::string_view value);
  void release(const Item* item);  // drops one pin

  void* allocate(size_t size, uint16_t table);
  void deallocate(void* memory, size_t size, uint16_t table);

  int64_t bytes(size_t table) const { return bytes_[table].load(std::memory_order_relaxed); }

 private:
  std::array<std::atomic<int64_t>, kMaxTables> bytes_{};
};

// Keeps one row's bytes alive beyond the version that holds it: the change feed, answers in flight. Never the trees.
class RowRef {
 public:
  RowRef(Memory& memory, const Item* row) : memory_(&memory), row_(row) {
    row_->pins.fetch_add(1, std::memory_order_relaxed);
  }
  RowRef(RowRef&& other) noexcept : memory_(other.memory_), row_(other.row_) { other.row_ = nullptr; }
  RowRef& operator=(RowRef&&) = delete;
  ~RowRef() {
    if (row_ != nullptr) memory_->release(row_);
  }
  const Item& operator*() const { return *row_; }

 private:
  Memory* memory_;
  const Item* row_;
};

}  // namespace drover::state

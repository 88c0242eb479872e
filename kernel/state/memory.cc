#include "kernel/state/memory.h"

#include <cstring>
#include <new>

#include "drover/result.h"

namespace drover::state {

Item* Memory::make_item(uint64_t birth, uint16_t table, std::string_view key, std::string_view key_tail,
                        std::string_view value) {
  DROVER_CHECK(key.size() + key_tail.size() <= kMaxKeyBytes && value.size() <= UINT32_MAX);
  const size_t key_length = key.size() + key_tail.size();
  Item* item = new (allocate(sizeof(Item) + key_length + value.size(), table)) Item{
      .birth = birth,
      .value_length = static_cast<uint32_t>(value.size()),
      .key_length = static_cast<uint16_t>(key_length),
      .primary_offset = static_cast<uint16_t>(key.size()),
      .pins = 1,
      .table = table,
  };
  char* at = item->bytes();
  if (!key.empty()) std::memcpy(at, key.data(), key.size());
  if (!key_tail.empty()) std::memcpy(at + key.size(), key_tail.data(), key_tail.size());
  if (!value.empty()) std::memcpy(at + key_length, value.data(), value.size());
  return item;
}

void Memory::release(const Item* item) {
  if (item->pins.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  deallocate(const_cast<Item*>(item), item->allocated(), item->table);
}

void* Memory::allocate(size_t size, uint16_t table) {
  bytes_[table].fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
  return ::operator new(size);
}

void Memory::deallocate(void* memory, size_t size, uint16_t table) {
  bytes_[table].fetch_sub(static_cast<int64_t>(size), std::memory_order_relaxed);
  ::operator delete(memory, size);
}

}  // namespace drover::state

// Makes up for what the system's libprotobuf.a lacks to go inside a plugin of the stable tier. The archive is made
// for programs: all of its objects can be put into a shared object with hidden symbols but two, which reach something
// in a way that only a program may. Here is what those two need, made for shared objects:
//
//   arena.o    keeps a variable of each thread. All of its functions are here, behind protobuf's own declarations.
//   common.o   names `stderr` as if it were its own; now it is.
//
// The linker takes this before the archive and then leaves the archive's arena.o alone. docs/decisions.md, "The
// stable tier from C++", says what was tried. Threads: as protobuf says of Arena.
#include <google/protobuf/arena.h>
#include <google/protobuf/stubs/common.h>

#include <cstdio>
#include <limits>
#include <new>
#include <optional>

#if GOOGLE_PROTOBUF_VERSION < 3021000 || GOOGLE_PROTOBUF_VERSION >= 3022000
#error "written for the arena of protobuf 3.21; another release needs another one, or a position-independent archive"
#endif

extern "C" {
extern char _IO_2_1_stderr_;  // of the C library: what `stderr` points to
__attribute__((visibility("hidden"), used)) void* drover_own_stderr __asm__("stderr") = &_IO_2_1_stderr_;
}

namespace google::protobuf {
namespace internal {
namespace {

constexpr size_t kPolicySize = AlignUpTo8(sizeof(AllocationPolicy));
constexpr size_t kSmallestFirstBlock = ThreadSafeArena::kBlockHeaderSize + ThreadSafeArena::kSerialArenaSize;

// A block with room for `room` bytes behind its header; each is twice as large as the one before it.
SerialArena::Memory take_block(const AllocationPolicy* chosen, size_t size_before, size_t room) {
  const AllocationPolicy policy = chosen ? *chosen : AllocationPolicy();
  GOOGLE_CHECK_LE(room, std::numeric_limits<size_t>::max() - SerialArena::kBlockHeaderSize);
  const size_t usual = size_before == 0 ? policy.start_block_size : std::min(2 * size_before, policy.max_block_size);
  const size_t size = std::max(usual, SerialArena::kBlockHeaderSize + room);
  return {policy.block_alloc ? policy.block_alloc(size) : ::operator new(size), size};
}

void give_block(const AllocationPolicy& policy, SerialArena::Memory block) {
  if (block.ptr == nullptr) return;
  if (policy.block_dealloc) return policy.block_dealloc(block.ptr, block.size);
  ::operator delete(block.ptr, block.size);
}

}  // namespace

// ---- one thread's part of an arena ----
//
// Block: header │ (the SerialArena, in its first one) │ objects ─▶ ptr_ … limit_ ◀─ cleanups │

SerialArena::SerialArena(Block* first, void* owner, ThreadSafeArenaStats* stats)
    : owner_(owner),
      head_(first),
      next_(nullptr),
      space_allocated_(first->size),
      ptr_(first->Pointer(kBlockHeaderSize + ThreadSafeArena::kSerialArenaSize)),
      limit_(first->Pointer(first->size & ~size_t{7})),
      arena_stats_(stats) {}

SerialArena* SerialArena::New(Memory memory, void* owner, ThreadSafeArenaStats* stats) {
  GOOGLE_CHECK_GE(memory.size, kSmallestFirstBlock);
  auto* const block = new (memory.ptr) Block(nullptr, memory.size);
  return new (block->Pointer(kBlockHeaderSize)) SerialArena(block, owner, stats);
}

template <typename Deallocator>
SerialArena::Memory SerialArena::Free(Deallocator deallocator) {
  Block* block = head_;
  while (Block* const older = block->next) {  // this object lives in the oldest
    deallocator(Memory{block, block->size});
    block = older;
  }
  return {block, block->size};
}

void SerialArena::CleanupList() {
  head_->start = reinterpret_cast<CleanupNode*>(limit_);
  for (Block* block = head_; block != nullptr; block = block->next) {
    auto* const end = reinterpret_cast<CleanupNode*>(block->Pointer(block->size & ~size_t{7}));
    for (CleanupNode* node = block->start; node < end; ++node) node->cleanup(node->elem);
  }
}

uint64_t SerialArena::SpaceUsed() const {
  const auto in_head = static_cast<uint64_t>(ptr_ - head_->Pointer(kBlockHeaderSize));
  return space_used_ + in_head - ThreadSafeArena::kSerialArenaSize;
}

void SerialArena::AllocateNewBlock(size_t n, const AllocationPolicy* policy) {
  head_->start = reinterpret_cast<CleanupNode*>(limit_);
  space_used_ += static_cast<size_t>(ptr_ - head_->Pointer(kBlockHeaderSize));
  const Memory memory = take_block(policy, head_->size, n);
  space_allocated_.store(space_allocated_.load(std::memory_order_relaxed) + memory.size, std::memory_order_relaxed);
  head_ = new (memory.ptr) Block(head_, memory.size);
  ptr_ = head_->Pointer(kBlockHeaderSize);
  limit_ = head_->Pointer(head_->size & ~size_t{7});
}

void* SerialArena::AllocateAlignedFallback(size_t n, const AllocationPolicy* policy) {
  AllocateNewBlock(n, policy);
  return AllocateFromExisting(n);
}

std::pair<void*, SerialArena::CleanupNode*> SerialArena::AllocateAlignedWithCleanupFallback(
    size_t n, const AllocationPolicy* policy) {
  AllocateNewBlock(n + kCleanupSize, policy);
  return AllocateFromExistingWithCleanupFallback(n);
}

// ---- the arena: a list of such parts ----

__thread ThreadSafeArena::ThreadCache ThreadSafeArena::thread_cache_ = {0, std::numeric_limits<uint64_t>::max(),
                                                                        nullptr};
ThreadSafeArena::CacheAlignedLifecycleIdGenerator ThreadSafeArena::lifecycle_id_generator_;

// A number of its own in this life, so that no thread takes what it remembers of another arena for this one's. The
// lowest bit is not part of it: it says who owns the arena.
void ThreadSafeArena::Init() {
  constexpr uint64_t kStep = 2;
  constexpr uint64_t kBatch = ThreadCache::kPerThreadIds * kStep;
  uint64_t& next = thread_cache().next_lifecycle_id;
  if ((next & (kBatch - 1)) == 0) next = kBatch * lifecycle_id_generator_.id.fetch_add(1, std::memory_order_relaxed);
  tag_and_id_ = next | (tag_and_id_ & kMessageOwnedArena);
  next += kStep;
  hint_.store(nullptr, std::memory_order_relaxed);
  threads_.store(nullptr, std::memory_order_relaxed);
}

void ThreadSafeArena::SetInitialBlock(void* mem, size_t size) {
  SerialArena* const serial = SerialArena::New({mem, size}, &thread_cache(), arena_stats_.MutableStats());
  threads_.store(serial, std::memory_order_relaxed);
  CacheSerialArena(serial);
}

void ThreadSafeArena::InitializeFrom(void* mem, size_t size) {
  Init();
  if (mem == nullptr || size < kSmallestFirstBlock) return;
  alloc_policy_.set_is_user_owned_initial_block(true);
  SetInitialBlock(mem, size);
}

// The policy is kept in the first block.
void ThreadSafeArena::InitializeWithPolicy(void* mem, size_t size, AllocationPolicy policy) {
  if (policy.IsDefault()) return InitializeFrom(mem, size);
  Init();
  if (mem == nullptr || size < kSmallestFirstBlock + kPolicySize) {
    const SerialArena::Memory first = take_block(&policy, 0, kSerialArenaSize + kPolicySize);
    SetInitialBlock(first.ptr, first.size);
  } else {
    alloc_policy_.set_is_user_owned_initial_block(true);
    SetInitialBlock(mem, size);
  }
  void* const place = threads_.load(std::memory_order_relaxed)->AllocateAligned(kPolicySize, &policy);
  alloc_policy_.set_policy(new (place) AllocationPolicy(policy));
  alloc_policy_.set_should_record_allocs(policy.metrics_collector && policy.metrics_collector->RecordAllocs());
}

// Returns the oldest thread's first block: the policy may be in it, and it may be the user's.
SerialArena::Memory ThreadSafeArena::Free(size_t* space_allocated) {
  const AllocationPolicy policy = AllocPolicy() ? *AllocPolicy() : AllocationPolicy();
  const auto give = [&](SerialArena::Memory block) {
    *space_allocated += block.size;
    give_block(policy, block);
  };
  SerialArena::Memory first{nullptr, 0};
  for (SerialArena* serial = threads_.load(std::memory_order_relaxed); serial != nullptr;) {
    SerialArena* const next = serial->next();
    if (first.ptr != nullptr) give(first);
    first = serial->Free(give);
    serial = next;
  }
  return first;
}

ThreadSafeArena::~ThreadSafeArena() {
  CleanupList();
  const AllocationPolicy policy = AllocPolicy() ? *AllocPolicy() : AllocationPolicy();
  size_t space = 0;
  const SerialArena::Memory first = Free(&space);
  space += first.size;
  if (policy.metrics_collector) policy.metrics_collector->OnDestroy(space);
  if (!alloc_policy_.is_user_owned_initial_block()) give_block(policy, first);
}

uint64_t ThreadSafeArena::Reset() {
  CleanupList();
  const std::optional<AllocationPolicy> policy = AllocPolicy() ? std::optional(*AllocPolicy()) : std::nullopt;
  size_t space = 0;
  SerialArena::Memory first = Free(&space);
  space += first.size;
  if (policy && policy->metrics_collector) policy->metrics_collector->OnReset(space);
  if (!alloc_policy_.is_user_owned_initial_block()) {
    give_block(policy.value_or(AllocationPolicy()), first);
    first = {nullptr, 0};
  }
  alloc_policy_ = {};
  policy ? InitializeWithPolicy(first.ptr, first.size, *policy) : InitializeFrom(first.ptr, first.size);
  return space;
}

uint64_t ThreadSafeArena::SpaceAllocated() const {
  uint64_t space = 0;
  for (const SerialArena* serial = threads_.load(std::memory_order_acquire); serial != nullptr; serial = serial->next())
    space += serial->SpaceAllocated();
  return space;
}

uint64_t ThreadSafeArena::SpaceUsed() const {
  uint64_t space = 0;
  for (const SerialArena* serial = threads_.load(std::memory_order_acquire); serial != nullptr; serial = serial->next())
    space += serial->SpaceUsed();
  return space - (AllocPolicy() ? kPolicySize : 0);
}

void ThreadSafeArena::CleanupList() {
  PerSerialArena([](SerialArena* serial) { serial->CleanupList(); });
}

void ThreadSafeArena::AddCleanup(void* elem, void (*cleanup)(void*)) {
  SerialArena* arena = nullptr;
  if (!GetSerialArenaFast(&arena)) arena = GetSerialArenaFallback(&thread_cache());
  arena->AddCleanup(elem, cleanup, AllocPolicy());
}

void* ThreadSafeArena::AllocateAlignedFallback(size_t n, const std::type_info* type) {
  if (alloc_policy_.should_record_allocs()) alloc_policy_.RecordAlloc(type, n);
  SerialArena* arena = nullptr;
  if (!GetSerialArenaFast(&arena)) arena = GetSerialArenaFallback(&thread_cache());
  return arena->AllocateAligned(n, AllocPolicy());
}

std::pair<void*, SerialArena::CleanupNode*> ThreadSafeArena::AllocateAlignedWithCleanup(size_t n,
                                                                                        const std::type_info* type) {
  SerialArena* arena = nullptr;
  if (alloc_policy_.should_record_allocs() || !GetSerialArenaFast(&arena))
    return AllocateAlignedWithCleanupFallback(n, type);
  return arena->AllocateAlignedWithCleanup(n, AllocPolicy());
}

std::pair<void*, SerialArena::CleanupNode*> ThreadSafeArena::AllocateAlignedWithCleanupFallback(
    size_t n, const std::type_info* type) {
  if (alloc_policy_.should_record_allocs()) alloc_policy_.RecordAlloc(type, n);
  SerialArena* arena = nullptr;
  if (!GetSerialArenaFast(&arena)) arena = GetSerialArenaFallback(&thread_cache());
  return arena->AllocateAlignedWithCleanup(n, AllocPolicy());
}

// The part of the thread whose cache is `me`: one that it has already, or a new one.
SerialArena* ThreadSafeArena::GetSerialArenaFallback(void* me) {
  SerialArena* serial = threads_.load(std::memory_order_acquire);
  while (serial != nullptr && serial->owner() != me) serial = serial->next();
  if (serial == nullptr) {
    const SerialArena::Memory first = take_block(AllocPolicy(), 0, kSerialArenaSize);
    serial = SerialArena::New(first, me, arena_stats_.MutableStats());
    SerialArena* newest = threads_.load(std::memory_order_relaxed);
    do serial->set_next(newest);
    while (!threads_.compare_exchange_weak(newest, serial, std::memory_order_release, std::memory_order_relaxed));
  }
  CacheSerialArena(serial);
  return serial;
}

}  // namespace internal

void* Arena::AllocateAlignedNoHook(size_t n) { return impl_.AllocateAligned(n, nullptr); }

void* Arena::AllocateAlignedWithHook(size_t n, const std::type_info* type) { return impl_.AllocateAligned(n, type); }

void* Arena::AllocateAlignedWithHookForArray(size_t n, const std::type_info* type) {
  return impl_.AllocateAligned<internal::AllocationClient::kArray>(n, type);
}

std::pair<void*, internal::SerialArena::CleanupNode*> Arena::AllocateAlignedWithCleanup(size_t n,
                                                                                        const std::type_info* type) {
  return impl_.AllocateAlignedWithCleanup(n, type);
}

}  // namespace google::protobuf

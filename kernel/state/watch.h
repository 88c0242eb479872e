// Wakes readers when a commit has changed something that they read.
//
// A read records what it looked at in a ReadSet (Snapshot::recording). Store::watch turns the set into a waiter: a few
// list nodes in hash buckets, no thread. A commit hashes each changed key, and the prefixes of it whose length somebody
// watches, and wakes the waiters whose key or prefix is the same; other ranges are kept in a short list per index.
//
//   registered ──a commit changes something in the set──▶ called once (changed)
//        │      ──restore───────────────────────────────▶ called once (abandoned)
//        └──────the handle is dropped or cancelled──────▶ never called
//
// No lost wake-up: the waiter is registered first and then compared with the last changes; a commit publishes first and
// wakes afterwards. Each bucket remembers the last commit that touched it, so a waiter whose read is already outdated
// is called at once. For single keys a touched bucket is only a hint, settled by looking at the row: no spurious
// wake-ups.
//
// Callbacks run inline: on the apply thread after publication, or inside Store::watch when something has changed
// already. They post and return; they take no lock that is held while calling into the store.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "drover/mutex.h"
#include "drover/tables.h"

namespace drover::state {

class Snapshot;

// The rows and ranges that a read looked at. Belongs to one reader.
class ReadSet {
 public:
  struct Key {
    uint32_t table;
    uint32_t index;
    uint32_t root;
    std::string key;
    uint64_t birth;  // of the row that was found; 0: none
  };
  struct Range {
    uint32_t table;
    uint32_t root;
    KeyRange range;
  };

  bool empty() const { return keys_.empty() && ranges_.empty() && tables_.empty(); }
  // The log index of the view that was read; of the oldest, if several were.
  uint64_t seen_index() const { return seen_index_; }

 private:
  friend class RecordingView;
  friend class WatchTable;
  static constexpr size_t kMaxKeys = 4096;  // more become a watch on the whole table

  uint64_t seen_index_ = UINT64_MAX;
  uint64_t seen_version_ = UINT64_MAX;
  std::vector<Key> keys_;
  std::vector<Range> ranges_;
  std::vector<uint32_t> tables_;
};

enum class WakeReason : uint8_t {
  changed,    // something in the set may have changed, or the awaited index has come
  abandoned,  // restore: start again from the beginning
};
using WakeCallback = std::function<void(WakeReason)>;

class WatchTable;

// A registered waiter. Dropping it cancels.
class Watch {
 public:
  Watch() = default;
  Watch(Watch&&) noexcept = default;
  Watch& operator=(Watch&& other) noexcept {
    cancel();
    table_ = std::move(other.table_);
    waiter_ = std::move(other.waiter_);
    return *this;
  }
  ~Watch() { cancel(); }

  // After this returns the callback does not run and never will; waits for one that is running, unless called by it.
  void cancel();

 private:
  friend class Store;
  friend class WatchTable;
  struct Waiter;
  Watch(std::shared_ptr<WatchTable> table, std::shared_ptr<Waiter> waiter)
      : table_(std::move(table)), waiter_(std::move(waiter)) {}
  std::shared_ptr<WatchTable> table_;
  std::shared_ptr<Waiter> waiter_;
};

// Reads through a snapshot and writes down what it looked at. Requires: snapshot and set outlive it.
class RecordingView final : public ReadView {
 public:
  RecordingView(const Snapshot& snapshot, ReadSet& set);

  uint64_t index() const override;
  std::optional<std::string_view> get(TableId table, std::string_view key) const override;
  std::optional<std::string_view> get_by(TableId table, uint32_t index, std::string_view key) const override;
  std::unique_ptr<Cursor> scan(TableId table, uint32_t index, const KeyRange& range, Order order) const override;
  uint64_t row_count(TableId table) const override;
  uint64_t table_index(TableId table) const override;

 private:
  void add_table(TableId table) const;
  const Snapshot& snapshot_;
  ReadSet& set_;
};

// The register of waiters. One mutex, a leaf; callbacks run outside it. [any]
class WatchTable {
 public:
  // A key of one index that a commit inserted, changed or removed.
  struct Touched {
    uint32_t root;
    bool unique;
    std::string_view key;
  };

  WatchTable();
  // Called for each declared table, before any waiter.
  void resize(size_t tables, size_t roots);

  enum class Added : uint8_t { waiting, changed, abandoned };
  // Registers the waiter, or says why not. `suspects` are keys of the waiter's set that may have changed since.
  Added add(const std::shared_ptr<Watch::Waiter>& waiter, std::vector<const ReadSet::Key*>& suspects);
  void add_index_wait(uint64_t index, const std::shared_ptr<Watch::Waiter>& waiter);
  void remove(Watch::Waiter& waiter);

  // [apply] After publication.
  void notify(uint64_t index, std::span<const Touched> touched, std::span<const uint32_t> tables);
  // Calls everybody. Reads of versions older than the restored one are abandoned as soon as they are watched.
  void abandon_all(uint64_t restored_version, WakeReason reason = WakeReason::abandoned);
  size_t waiters() const;

  static std::shared_ptr<Watch::Waiter> make_waiter(const ReadSet& set, WakeCallback callback);
  static void fire(Watch::Waiter& waiter, WakeReason reason);

 private:
  struct Registration;
  struct Bucket {
    uint64_t stamp = 0;  // the last commit that touched a key of this bucket
    Registration* waiters = nullptr;
  };
  struct PrefixLength {
    size_t length;
    uint64_t since;  // stamps of this length are complete for commits after this one
  };
  struct IndexState {
    std::vector<PrefixLength> lengths;
    Registration* intervals = nullptr;
  };
  struct TableState {
    uint64_t stamp = 0;
    Registration* waiters = nullptr;
  };
  using WakeList = std::vector<std::shared_ptr<Watch::Waiter>>;
  friend struct Watch::Waiter;

  static uint64_t hash(uint32_t root, size_t length, std::string_view bytes);
  Bucket& bucket(uint64_t hash) DROVER_REQUIRES(mutex_) { return buckets_[hash >> (64 - kBucketBits)]; }
  bool add_range(Watch::Waiter& waiter, const ReadSet::Range& range, bool outdated) DROVER_REQUIRES(mutex_);
  void touch(uint64_t index, uint32_t root, size_t length, std::string_view bytes, WakeList& wake)
      DROVER_REQUIRES(mutex_);
  void wake_matching(Registration* list, uint64_t index, WakeList& wake) DROVER_REQUIRES(mutex_);
  void detach(Watch::Waiter& waiter) DROVER_REQUIRES(mutex_);
  static void collect(Watch::Waiter& waiter, WakeList& wake);

  static constexpr uint32_t kBucketBits = 16;
  static constexpr size_t kExact = SIZE_MAX;  // the "length" of a watch on one key
  static constexpr size_t kMaxLengths = 16;   // prefixes of further lengths are watched as intervals

  mutable Mutex mutex_;
  std::vector<Bucket> buckets_ DROVER_GUARDED_BY(mutex_);
  std::vector<IndexState> indexes_ DROVER_GUARDED_BY(mutex_);
  std::vector<TableState> tables_ DROVER_GUARDED_BY(mutex_);
  std::multimap<uint64_t, std::shared_ptr<Watch::Waiter>> index_waits_ DROVER_GUARDED_BY(mutex_);
  Watch::Waiter* all_ DROVER_GUARDED_BY(mutex_) = nullptr;  // those with a read set
  size_t count_ DROVER_GUARDED_BY(mutex_) = 0;
  uint64_t last_index_ DROVER_GUARDED_BY(mutex_) = 0;
  uint64_t epoch_ DROVER_GUARDED_BY(mutex_) = 0;  // the version of the last restore
  // Told to those who looked before it.
  WakeReason epoch_reason_ DROVER_GUARDED_BY(mutex_) = WakeReason::abandoned;
};

}  // namespace drover::state

// The replicated state in memory: tables of immutable rows, in versions.
//
//   begin(index) ─▶ Transaction ─commit─▶ a new Version ─▶ change feed, watches, waits for the index
//   snapshot()   ─▶ a Version held open; never changes, never blocks the writer
//
// A row is its bytes, under a primary key and any number of index keys (drover/tables.h). The store knows nothing of
// what a row means. Owner: the kernel's main. Snapshots, watches and transactions must be gone before the store is;
// subscriptions and batches may outlive it.
//
// Threads: add_table while nothing else runs; begin, commit and restore [apply]; all else [any].
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/clock.h"
#include "drover/mutex.h"
#include "drover/tables.h"
#include "kernel/state/change_feed.h"
#include "kernel/state/reader.h"
#include "kernel/state/schema.h"
#include "kernel/state/version.h"
#include "kernel/state/watch.h"

namespace drover::state {

class Store;
class Transaction;

struct StoreOptions {
  size_t feed_batches = 4096;             // commits that a subscriber may lag behind
  size_t feed_bytes = 256 * 1024 * 1024;  // and the bytes they may pin, decoded
};

struct TableInfo {
  std::string name;
  std::string message;
  uint64_t rows;
  int64_t bytes;  // rows, indexes and nodes, with what old snapshots and the change feed still hold
};

// The state at one moment. Reads may run on several threads at once; its destruction closes it.
class Snapshot final : public ReadView {
 public:
  Snapshot(Store& store, const char* holder);  // `holder` is a literal: it names the reader in logs and metrics
  ~Snapshot() override;
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  uint64_t index() const override { return holder_.version->index; }
  std::optional<std::string_view> get(TableId table, std::string_view key) const override;
  std::optional<std::string_view> get_by(TableId table, uint32_t index, std::string_view key) const override;
  std::unique_ptr<Cursor> scan(TableId table, uint32_t index, const KeyRange& range,
                               Order order = Order::forward) const override;
  uint64_t row_count(TableId table) const override;
  uint64_t table_index(TableId table) const override;

  // Entries in a range of an index, without walking it. O(log n).
  uint64_t count(TableId table, uint32_t index, const KeyRange& range) const;
  // No answer from this state has a lower index: the log index of the table that changed longest ago.
  uint64_t floor_index() const;
  // The same reads, written down in `set`. Requires: this snapshot and the set outlive the view.
  std::unique_ptr<ReadView> recording(ReadSet& set) const;
  // Verifies every invariant of the trees and that each row is in each index exactly as its key functions say.
  Status check() const;

  Reader reader() const;

 private:
  Store& store_;
  Holder holder_;
};

class Store {
 public:
  explicit Store(StoreOptions options = {});
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Declares a table. Errors: already_exists; failed_precondition once there is data or a reader.
  Result<TableId> add_table(TableSpec spec);
  std::optional<TableId> find_table(std::string_view name) const { return schema_.find(name); }
  std::vector<TableInfo> tables();

  // The log index of the newest version.
  uint64_t index() const { return index_.load(std::memory_order_acquire); }
  std::unique_ptr<Snapshot> snapshot(const char* holder) { return std::make_unique<Snapshot>(*this, holder); }
  // The same, to be handed around. Its reads may run on several threads at once; each cursor belongs to one.
  std::shared_ptr<const ReadView> shared_snapshot(const char* holder);

  // Opens the transaction of a log entry, or of a batch whose last entry is `index`. One at a time.
  // Requires: index > index().
  std::unique_ptr<Transaction> begin(uint64_t index);

  // Calls back once when a commit changes something in the set, at once if that has happened since the set was read.
  Watch watch(const ReadSet& set, WakeCallback callback);
  // Calls back once when the store has reached `index`, at once if it has.
  Watch when_index(uint64_t index, WakeCallback callback);
  // Errors: deadline_exceeded; cancelled by the stop token.
  Status wait_for_index(uint64_t index, SteadyTime deadline, const std::stop_token& stop = {});
  size_t waiters() const { return watches_->waiters(); }

  // The commits after `after_index` that change one of the tables; none named: all.
  Subscription subscribe(uint64_t after_index, std::vector<TableId> tables = {}) {
    return {feed_, after_index, std::move(tables)};
  }
  // Ends all subscriptions.
  void close_feed() { feed_->close(); }

  // Replaces everything by what a snapshot file holds (storage/state_snapshot.h), as one new version. On error nothing
  // changes. Open snapshots stay valid; watchers are called with abandoned, subscribers must resync.
  Status restore(ByteSource& source);

  // Frees a few thousand things that no version needs any more; for idle loops. False when nothing was left to free.
  bool reclaim() { return versions_.reclaim(); }
  // Snapshot::check, and that the accounted bytes are the reachable ones. Requires: no other snapshot is open and the
  // feed holds nothing.
  Status check();

  const Schema& schema() const { return schema_; }

 private:
  friend class Snapshot;
  friend class Transaction;

  void publish(Transaction& transaction);
  Result<uint64_t> replace_all(ByteSource& source, Version& version, std::vector<Dead>& dead);
  void publish_replaced(std::unique_ptr<Version> version, std::vector<Dead>& dead, WakeReason reason);

  const std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  const std::shared_ptr<WatchTable> watches_ = std::make_shared<WatchTable>();
  const std::shared_ptr<ChangeFeed> feed_;
  Schema schema_;  // constant after the first data
  VersionList versions_{*memory_};
  std::atomic<uint64_t> index_{0};

  // [apply]
  bool in_transaction_ = false;
  bool has_data_ = false;
};

}  // namespace drover::state

// One write transaction: edits a private copy of the roots, then publishes it with its log index, or leaves no trace.
//
// It reads its own writes. Rows are immutable, so undoing is cheap: the log holds, for each write, the row before and
// the row after. Rows and index records that die here are kept until the end, so that views of them stay valid.
// [apply]
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernel/state/store.h"

namespace drover::state {

class Transaction final : public WriteTransaction {
 public:
  ~Transaction() override;  // rolls back unless committed
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  uint64_t index() const override { return version_->index; }
  std::optional<std::string_view> get(TableId table, std::string_view key) const override;
  std::optional<std::string_view> get_by(TableId table, uint32_t index, std::string_view key) const override;
  std::unique_ptr<Cursor> scan(TableId table, uint32_t index, const KeyRange& range,
                               Order order = Order::forward) const override;
  uint64_t row_count(TableId table) const override;
  uint64_t table_index(TableId table) const override;

  // Errors: already_exists when another row holds a unique index key; invalid_argument for a key that is too long or
  // an index whose keys are not self-delimiting. Nothing has changed then. Writing the same bytes again is no change.
  Status put(TableId table, std::string row, const KnownKeys& known = {}) override;
  bool erase(TableId table, std::string_view key) override;
  // Nothing may be written before or after it, and once it has succeeded only a commit may follow. Subscribers must
  // resync, every waiter is woken, and every table counts as changed by this entry.
  Status replace_all(ByteSource& source) override;
  bool has_replaced() const { return replaced_; }
  // Names the command that all of this is the effect of.
  void set_command(std::string_view name) { command_ = name; }

  // A place to return to. Everything written after it is undone by rollback_to; earlier savepoints stay valid.
  size_t savepoint() const { return log_.size(); }
  void rollback_to(size_t savepoint);

  // Publishes all writes as one version, moves the index and tells the feed and the watches. Once; nothing after it.
  void commit();

 private:
  friend class Store;
  struct LogEntry {
    Item* before;
    Item* after;
    uint64_t table_index_before;
    uint32_t table;
    size_t touched_before;
  };
  struct Touched {
    uint32_t root;
    uint32_t length;
    size_t offset;  // in touched_bytes_
  };
  Transaction(Store& store, uint64_t index);
  Reader reader() const { return {&store_.schema_, version_.get(), &edits_}; }
  void load_keys(const Schema::Entry& entry, const Item* row, RowKeys& keys);
  Status check_keys(const Schema::Entry& entry, const RowKeys& before, const RowKeys& after) const;
  void write(uint32_t table, Item* before, Item* after, const RowKeys& old_keys, const RowKeys& new_keys);
  // Makes `after` stand where `before` stood, in all indexes. Either may be null.
  void replace(uint32_t table, Item* before, Item* after, const RowKeys& old_keys, const RowKeys& new_keys);
  void touch(uint32_t root, std::string_view key, std::string_view tail);
  void free_new(Node* node, bool primary);
  std::shared_ptr<const Batch> make_batch() const;

  Store& store_;
  std::unique_ptr<Version> version_;  // null once committed
  uint64_t edits_ = 0;
  std::string command_;
  bool replaced_ = false;
  bool erases_ = false;
  bool revisits_ = false;  // some row may have been written more than once
  std::vector<LogEntry> log_;
  std::vector<Dead> dead_;
  std::vector<Touched> touched_;
  std::string touched_bytes_;
  RowKeys before_, after_;  // of the write in hand, where they are not known
};

}  // namespace drover::state

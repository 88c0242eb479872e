#include "kernel/state/store.h"

#include <algorithm>

#include "kernel/state/transaction.h"

namespace drover::state {

Snapshot::Snapshot(Store& store, const char* holder) : store_(store) {
  holder_.name = holder;
  store_.versions_.open(holder_);
}

Snapshot::~Snapshot() { store_.versions_.close(holder_); }

Reader Snapshot::reader() const { return {&store_.schema_, holder_.version, nullptr}; }

std::optional<std::string_view> Snapshot::get(TableId table, std::string_view key) const {
  return get_by(table, kPrimary, key);
}

std::optional<std::string_view> Snapshot::get_by(TableId table, uint32_t index, std::string_view key) const {
  const Item* row = reader().find(table, index, key);
  if (row == nullptr) return std::nullopt;
  return row->value();
}

std::unique_ptr<Cursor> Snapshot::scan(TableId table, uint32_t index, const KeyRange& range, Order order) const {
  return reader().scan(table, index, range, order);
}

uint64_t Snapshot::row_count(TableId table) const {
  return tree::rows(holder_.version->roots[store_.schema_.root(table, kPrimary)]);
}

uint64_t Snapshot::table_index(TableId table) const {
  DROVER_CHECK(table.value < store_.schema_.tables.size());
  return holder_.version->table_indexes[table.value];
}

uint64_t Snapshot::count(TableId table, uint32_t index, const KeyRange& range) const {
  return reader().count(table, index, range);
}

std::unique_ptr<ReadView> Snapshot::recording(ReadSet& set) const {
  return std::make_unique<RecordingView>(*this, set);
}

Store::Store(StoreOptions options) : feed_(std::make_shared<ChangeFeed>(options.feed_batches, options.feed_bytes)) {}

Store::~Store() {
  DROVER_CHECK(!in_transaction_);
  feed_->close();
}

Result<TableId> Store::add_table(TableSpec spec) {
  if (find_table(spec.name)) return already_exists("table " + spec.name + " is declared twice");
  bool has_readers = false;
  versions_.for_each_holder([&](Holder&) { has_readers = true; });
  if (has_data_ || has_readers) return failed_precondition("table " + spec.name + " is declared after the first use");
  if (schema_.tables.size() == kMaxTables) return resource_exhausted("table " + spec.name + ": too many tables");
  const auto table = static_cast<uint32_t>(schema_.tables.size());
  const auto first_root = static_cast<uint32_t>(schema_.roots.size());
  schema_.roots.push_back({table, true});
  for (const IndexSpec& index : spec.indexes) schema_.roots.push_back({table, index.unique});
  schema_.tables.push_back({std::move(spec), first_root});
  versions_.current().roots.resize(schema_.roots.size());
  versions_.current().table_indexes.resize(schema_.tables.size());
  watches_->resize(schema_.tables.size(), schema_.roots.size());
  return TableId{table};
}

std::vector<TableInfo> Store::tables() {
  Snapshot snapshot(*this, "table list");
  std::vector<TableInfo> out;
  for (uint32_t i = 0; i < schema_.tables.size(); ++i) {
    const TableSpec& spec = schema_.tables[i].spec;
    out.push_back({spec.name, spec.message, snapshot.row_count(TableId{i}), memory_->bytes(i)});
  }
  return out;
}

uint64_t Snapshot::floor_index() const {
  const std::vector<uint64_t>& indexes = holder_.version->table_indexes;
  return indexes.empty() ? 0 : *std::ranges::min_element(indexes);
}

std::shared_ptr<const ReadView> Store::shared_snapshot(const char* holder) {
  return std::make_shared<const Snapshot>(*this, holder);
}

std::unique_ptr<Transaction> Store::begin(uint64_t index) {
  return std::unique_ptr<Transaction>(new Transaction(*this, index));
}

void Store::publish(Transaction& transaction) {
  const uint64_t index = transaction.index();
  if (transaction.replaced_) {
    in_transaction_ = false;
    return publish_replaced(std::move(transaction.version_), transaction.dead_, WakeReason::changed);
  }
  auto batch = transaction.make_batch();
  versions_.publish(std::move(transaction.version_), transaction.dead_);
  in_transaction_ = false;
  index_.store(index, std::memory_order_release);
  feed_->publish(std::move(batch));

  std::vector<WatchTable::Touched> touched;
  std::vector<uint32_t> tables;
  touched.reserve(transaction.touched_.size());
  const std::string_view bytes = transaction.touched_bytes_;
  for (const Transaction::Touched& t : transaction.touched_) {
    const Schema::Root& root = schema_.roots[t.root];
    touched.push_back({t.root, root.unique, bytes.substr(t.offset, t.length)});
    if (std::ranges::find(tables, root.table) == tables.end()) tables.push_back(root.table);
  }
  watches_->notify(index, touched, tables);
}

Watch Store::watch(const ReadSet& set, WakeCallback callback) {
  auto waiter = WatchTable::make_waiter(set, std::move(callback));
  Watch handle(watches_, waiter);
  std::vector<const ReadSet::Key*> suspects;
  const WatchTable::Added added = watches_->add(waiter, suspects);
  if (added == WatchTable::Added::abandoned) {
    WatchTable::fire(*waiter, WakeReason::abandoned);
    return handle;
  }
  bool changed = added == WatchTable::Added::changed;
  if (!changed && !suspects.empty()) {
    // The waiter is registered first, so a commit after this snapshot wakes it itself.
    Snapshot snapshot(*this, "watch");
    for (const ReadSet::Key* key : suspects) {
      const Item* row = snapshot.reader().find(TableId{key->table}, key->index, key->key);
      changed = changed || (row == nullptr ? 0 : row->birth) != key->birth;
    }
  }
  if (changed) {
    watches_->remove(*waiter);
    WatchTable::fire(*waiter, WakeReason::changed);
  }
  return handle;
}

Watch Store::when_index(uint64_t index, WakeCallback callback) {
  auto waiter = WatchTable::make_waiter({}, std::move(callback));
  Watch handle(watches_, waiter);
  watches_->add_index_wait(index, waiter);
  if (this->index() >= index) {
    watches_->remove(*waiter);
    WatchTable::fire(*waiter, WakeReason::changed);
  }
  return handle;
}

Status Store::wait_for_index(uint64_t index, SteadyTime deadline, const std::stop_token& stop) {
  Mutex mutex;
  CondVarAny come;
  bool woken = false;
  while (this->index() < index) {
    woken = false;
    Watch watch = when_index(index, [&](WakeReason) {
      MutexLock guard(mutex);
      woken = true;
      come.notify_all();
    });
    MutexLock lock(mutex);
    if (come.wait_until(lock, stop, deadline, [&]() DROVER_REQUIRES(mutex) { return woken; })) continue;
    if (stop.stop_requested()) return cancelled("the wait for the state's index was cancelled");
    return deadline_exceeded("the state has not reached index " + std::to_string(index) + " in time");
  }
  return ok_status();
}

}  // namespace drover::state

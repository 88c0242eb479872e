#include "kernel/state/transaction.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace drover::state {

Transaction::Transaction(Store& store, uint64_t index) : store_(store), version_(store.versions_.next()) {
  DROVER_CHECK(!store.in_transaction_ && index > version_->index);
  store.in_transaction_ = true;
  store.has_data_ = true;
  version_->index = index;
}

Transaction::~Transaction() {
  if (version_ == nullptr) return;
  DROVER_CHECK(!replaced_);
  for (uint32_t table = 0; table < store_.schema_.tables.size(); ++table) {
    const Schema::Entry& entry = store_.schema_.tables[table];
    for (uint32_t i = 0; i <= entry.spec.indexes.size(); ++i) {
      if (Node* root = version_->roots[entry.first_root + i]) free_new(root, i == kPrimary);
    }
  }
  for (const LogEntry& entry : log_) {
    if (entry.after != nullptr) store_.memory_->release(entry.after);
  }
  for (const Dead& dead : dead_) {
    if (dead.kind() == Dead::item && dead.birth() == version_->number) store_.memory_->release(dead.as_item());
  }
  store_.versions_.discard(std::move(version_));
  store_.in_transaction_ = false;
}

// Frees what this transaction made at and below the node. Rows are freed by way of the log.
void Transaction::free_new(Node* node, bool primary) {
  if (node->birth != version_->number) return;
  for (uint32_t i = 0; i < node->count; ++i) {
    Item* item = node->items[i];
    const bool row = primary && node->level == 0;
    if (item != nullptr && !row && item->birth == version_->number) store_.memory_->release(item);
    if (node->level != 0) free_new(static_cast<Inner*>(node)->children[i], primary);
  }
  tree::free_node(*store_.memory_, node);
}

std::optional<std::string_view> Transaction::get(TableId table, std::string_view key) const {
  return get_by(table, kPrimary, key);
}

std::optional<std::string_view> Transaction::get_by(TableId table, uint32_t index, std::string_view key) const {
  const Item* row = reader().find(table, index, key);
  if (row == nullptr) return std::nullopt;
  return row->value();
}

std::unique_ptr<Cursor> Transaction::scan(TableId table, uint32_t index, const KeyRange& range, Order order) const {
  return reader().scan(table, index, range, order);
}

uint64_t Transaction::row_count(TableId table) const {
  return tree::rows(version_->roots[store_.schema_.root(table, kPrimary)]);
}

uint64_t Transaction::table_index(TableId table) const {
  DROVER_CHECK(table.value < store_.schema_.tables.size());
  return version_->table_indexes[table.value];
}

// All keys of a row that is there already, or of none.
void Transaction::load_keys(const Schema::Entry& entry, const Item* row, RowKeys& keys) {
  keys.reset(entry.spec.indexes.size());
  if (row != nullptr) keys_of(entry.spec, row->value(), keys);
}

// Refuses a row that some index cannot take, before anything is written.
Status Transaction::check_keys(const Schema::Entry& entry, const RowKeys& before, const RowKeys& after) const {
  const std::string& primary = after.primary();
  std::string text;
  for (uint32_t i = 1; i <= entry.spec.indexes.size(); ++i) {
    const IndexSpec& spec = entry.spec.indexes[i - 1];
    const auto place = [&] { return "table " + entry.spec.name + ", index " + spec.name; };
    for (const std::string& key : after.of(i)) {
      if (key.size() + primary.size() > kMaxKeyBytes) return invalid_argument(place() + ": a key is too long");
      if (std::ranges::binary_search(before.of(i), key)) continue;
      text = key;
      if (!spec.unique) text.append(primary);
      if (tree::find(version_->roots[entry.first_root + i], text) == nullptr) continue;
      if (spec.unique) return already_exists(place() + ": another row has this key");
      return invalid_argument(place() + ": two rows make the same entry; its keys are not self-delimiting");
    }
  }
  return ok_status();
}

Status Transaction::put(TableId table, std::string row, const KnownKeys& known) {
  const Schema::Entry& entry = store_.schema_.table(table);
  if (!known.after) keys_of(entry.spec, row, after_);
  const RowKeys& after = known.after ? *known.after : after_;
  const std::string& key = after.primary();
  if (key.size() > kMaxKeyBytes) return invalid_argument("table " + entry.spec.name + ": a key is too long");
  Item* old = tree::find(version_->roots[entry.first_root], key);
  if (old != nullptr && old->value() == row) return ok_status();
  if (!known.before || old == nullptr) load_keys(entry, old, before_);
  const RowKeys& before = known.before && old != nullptr ? *known.before : before_;
  DROVER_RETURN_IF_ERROR(check_keys(entry, before, after));
  const auto short_table = static_cast<uint16_t>(table.value);
  write(table.value, old, store_.memory_->make_item(version_->number, short_table, key, {}, row), before, after);
  return ok_status();
}

bool Transaction::erase(TableId table, std::string_view key) {
  Item* before = tree::find(version_->roots[store_.schema_.root(table, kPrimary)], key);
  if (before == nullptr) return false;
  const Schema::Entry& entry = store_.schema_.table(table);
  load_keys(entry, before, before_);
  load_keys(entry, nullptr, after_);
  write(table.value, before, nullptr, before_, after_);
  return true;
}

void Transaction::write(uint32_t table, Item* before, Item* after, const RowKeys& old_keys, const RowKeys& new_keys) {
  DROVER_CHECK(!replaced_);
  log_.push_back({before, after, version_->table_indexes[table], table, touched_.size()});
  version_->table_indexes[table] = version_->index;
  // Could this row have been written by this transaction before? (Erased rows leave nothing to look at.)
  revisits_ = revisits_ || (before != nullptr ? before->birth == version_->number : erases_);
  erases_ = erases_ || after == nullptr;
  replace(table, before, after, old_keys, new_keys);
}

void Transaction::replace(uint32_t table, Item* before, Item* after, const RowKeys& old_keys, const RowKeys& new_keys) {
  ++edits_;
  const Schema::Entry& entry = store_.schema_.tables[table];
  tree::Edit edit{*store_.memory_, version_->number, static_cast<uint16_t>(table), dead_};
  const std::string_view key = (after != nullptr ? after : before)->key();
  Node*& primary = version_->roots[entry.first_root];
  Item* replaced = after != nullptr ? tree::insert(edit, primary, after) : tree::erase(edit, primary, key);
  DROVER_CHECK(replaced == before);
  touch(entry.first_root, key, {});
  for (uint32_t i = 1; i <= entry.spec.indexes.size(); ++i) {
    const IndexSpec& spec = entry.spec.indexes[i - 1];
    const uint32_t root = entry.first_root + i;
    const std::string_view tail = spec.unique ? std::string_view() : key;
    for (const std::string& old : old_keys.of(i)) {
      touch(root, old, tail);
      if (std::ranges::binary_search(new_keys.of(i), old)) continue;
      const std::string& full = spec.unique ? old : touched_bytes_.substr(touched_.back().offset);
      Item* record = tree::erase(edit, version_->roots[root], full);
      DROVER_CHECK(record != nullptr);
      dead_.emplace_back(record);
    }
    for (const std::string& fresh : new_keys.of(i)) {
      if (std::ranges::binary_search(old_keys.of(i), fresh)) continue;
      touch(root, fresh, tail);
      Item* record = store_.memory_->make_item(version_->number, edit.table, fresh, tail, spec.unique ? key : "");
      DROVER_CHECK(tree::insert(edit, version_->roots[root], record) == nullptr);
    }
  }
}

void Transaction::touch(uint32_t root, std::string_view key, std::string_view tail) {
  touched_.push_back({root, static_cast<uint32_t>(key.size() + tail.size()), touched_bytes_.size()});
  touched_bytes_.append(key).append(tail);
}

void Transaction::rollback_to(size_t savepoint) {
  DROVER_CHECK(savepoint <= log_.size() && !replaced_);
  while (log_.size() > savepoint) {
    const LogEntry entry = log_.back();
    log_.pop_back();
    load_keys(store_.schema_.tables[entry.table], entry.after, before_);
    load_keys(store_.schema_.tables[entry.table], entry.before, after_);
    replace(entry.table, entry.after, entry.before, before_, after_);
    if (entry.after != nullptr) dead_.emplace_back(entry.after);
    version_->table_indexes[entry.table] = entry.table_index_before;
    touched_.resize(entry.touched_before);
    touched_bytes_.resize(touched_.empty() ? 0 : touched_.back().offset + touched_.back().length);
  }
}

// The first `before` and the last `after` of each row, in the order of the first write.
std::shared_ptr<const Batch> Transaction::make_batch() const {
  auto batch = std::make_shared<Batch>(store_.memory_, version_->index, command_);
  batch->reserve(log_.size());
  if (!revisits_) {
    for (const LogEntry& entry : log_) batch->add(entry.before, entry.after);
    return batch;
  }
  std::vector<size_t> order(log_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key_of = [](const LogEntry& e) { return (e.after != nullptr ? e.after : e.before)->key(); };
  const auto row_before = [&](const LogEntry& a, const LogEntry& b) {
    return a.table != b.table ? a.table < b.table : key_of(a) < key_of(b);
  };
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return row_before(log_[a], log_[b]); });
  std::vector<std::pair<size_t, size_t>> rows;  // first and last write of each row
  for (size_t at : order) {
    if (!rows.empty() && !row_before(log_[rows.back().second], log_[at])) {
      rows.back().second = at;
    } else {
      rows.emplace_back(at, at);
    }
  }
  std::ranges::sort(rows);
  for (const auto& [first, last] : rows) {
    const Item* before = log_[first].before;
    const Item* after = log_[last].after;
    if (before != nullptr || after != nullptr) batch->add(before, after);
  }
  return batch;
}

void Transaction::commit() {
  DROVER_CHECK(version_ != nullptr);
  for (const LogEntry& entry : log_) {
    if (entry.before != nullptr) dead_.emplace_back(entry.before);
  }
  store_.publish(*this);
}

}  // namespace drover::state

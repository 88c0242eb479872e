#include "kernel/state/watch.h"

#include <algorithm>

#include "drover/keys.h"
#include "kernel/state/reader.h"
#include "kernel/state/store.h"

namespace drover::state {

struct WatchTable::Registration {
  Watch::Waiter* waiter;
  uint64_t hash;
  uint32_t root;
  size_t length;
  std::string_view key;   // the key, or the prefix
  const KeyRange* range;  // of an interval, else null
  Registration* next = nullptr;
  Registration** link = nullptr;

  void enter(Registration*& list) {
    next = list;
    link = &list;
    if (next != nullptr) next->link = &next;
    list = this;
  }
  void leave() {
    *link = next;
    if (next != nullptr) next->link = link;
    link = nullptr;
  }
};

struct Watch::Waiter : std::enable_shared_from_this<Watch::Waiter> {
  enum State : uint8_t { armed, running, done };

  ReadSet set;
  WakeCallback callback;
  std::atomic<State> state{armed};
  std::atomic<std::thread::id> runner{};

  // Under the table's mutex.
  std::vector<WatchTable::Registration> registrations;  // never grows once entered into lists
  Waiter* next = nullptr;
  Waiter** link = nullptr;  // null when not registered
  std::multimap<uint64_t, std::shared_ptr<Waiter>>::iterator index_wait{};
  bool waits_for_index = false;
  bool collected = false;
};

void Watch::cancel() {
  if (waiter_ == nullptr) return;
  table_->remove(*waiter_);
  auto expected = Waiter::armed;
  if (!waiter_->state.compare_exchange_strong(expected, Waiter::done) && expected == Waiter::running &&
      waiter_->runner.load() != std::this_thread::get_id()) {
    waiter_->state.wait(Waiter::running);
  }
  waiter_.reset();
  table_.reset();
}

std::shared_ptr<Watch::Waiter> WatchTable::make_waiter(const ReadSet& set, WakeCallback callback) {
  auto waiter = std::make_shared<Watch::Waiter>();
  waiter->set = set;
  waiter->callback = std::move(callback);
  return waiter;
}

void WatchTable::fire(Watch::Waiter& waiter, WakeReason reason) {
  auto expected = Watch::Waiter::armed;
  if (!waiter.state.compare_exchange_strong(expected, Watch::Waiter::running)) return;
  waiter.runner.store(std::this_thread::get_id());
  waiter.callback(reason);
  waiter.state.store(Watch::Waiter::done);
  waiter.state.notify_all();
}

WatchTable::WatchTable() : buckets_(size_t{1} << kBucketBits) {}

void WatchTable::resize(size_t tables, size_t roots) {
  MutexLock guard(mutex_);
  tables_.resize(tables);
  indexes_.resize(roots);
}

uint64_t WatchTable::hash(uint32_t root, size_t length, std::string_view bytes) {
  uint64_t h = std::hash<std::string_view>{}(bytes);
  h ^= (uint64_t{root} << 32) + length * 0x9E3779B97F4A7C15u;
  h *= 0xD6E8FEB86659FD93u;  // the upper bits choose the bucket: mix downwards differences up
  return h ^ (h >> 32) * 0xD6E8FEB86659FD93u;
}

// True when the range may have changed since it was read.
bool WatchTable::add_range(Watch::Waiter& waiter, const ReadSet::Range& range, bool outdated) {
  const KeyRange& keys = range.range;
  IndexState& state = indexes_[range.root];
  Registration r{&waiter, 0, range.root, keys.first.size(), keys.first, nullptr};
  if (is_exactly(keys)) {
    r.length = kExact;
  } else if (keys.end == prefix_successor(keys.first)) {
    auto known = std::ranges::find(state.lengths, r.length, &PrefixLength::length);
    if (known == state.lengths.end() && state.lengths.size() < kMaxLengths) {
      state.lengths.push_back({r.length, last_index_});
      known = state.lengths.end() - 1;
    }
    if (known == state.lengths.end()) {
      r.range = &keys;
    } else if (outdated && known->since > waiter.set.seen_index()) {
      return true;
    }
  } else {
    r.range = &keys;
  }
  if (r.range == nullptr) {
    r.hash = hash(r.root, r.length, r.key);
    if (outdated && bucket(r.hash).stamp > waiter.set.seen_index()) return true;
  } else if (outdated) {
    return true;
  }
  waiter.registrations.push_back(r);
  return false;
}

WatchTable::Added WatchTable::add(const std::shared_ptr<Watch::Waiter>& waiter,
                                  std::vector<const ReadSet::Key*>& suspects) {
  const ReadSet& set = waiter->set;
  MutexLock guard(mutex_);
  if (set.seen_version_ < epoch_) return epoch_reason_ == WakeReason::changed ? Added::changed : Added::abandoned;
  const auto outdated = [&](uint32_t table) DROVER_REQUIRES(mutex_) { return tables_[table].stamp > set.seen_index_; };
  waiter->registrations.reserve(set.keys_.size() + set.ranges_.size() + set.tables_.size());
  for (uint32_t table : set.tables_) {
    if (outdated(table)) return Added::changed;
  }
  for (const ReadSet::Range& range : set.ranges_) {
    if (add_range(*waiter, range, outdated(range.table))) return Added::changed;
  }
  for (const ReadSet::Key& key : set.keys_) {
    const uint64_t h = hash(key.root, kExact, key.key);
    if (outdated(key.table) && bucket(h).stamp > set.seen_index_) suspects.push_back(&key);
    waiter->registrations.push_back({waiter.get(), h, key.root, kExact, key.key, nullptr});
  }
  for (Registration& r : waiter->registrations) {
    r.enter(r.range == nullptr ? bucket(r.hash).waiters : indexes_[r.root].intervals);
  }
  for (uint32_t table : set.tables_) {
    waiter->registrations.push_back({waiter.get(), 0, 0, 0, {}, nullptr});
    waiter->registrations.back().enter(tables_[table].waiters);
  }
  waiter->next = all_;
  waiter->link = &all_;
  if (all_ != nullptr) all_->link = &waiter->next;
  all_ = waiter.get();
  ++count_;
  return Added::waiting;
}

void WatchTable::add_index_wait(uint64_t index, const std::shared_ptr<Watch::Waiter>& waiter) {
  MutexLock guard(mutex_);
  waiter->index_wait = index_waits_.emplace(index, waiter);
  waiter->waits_for_index = true;
}

void WatchTable::detach(Watch::Waiter& waiter) {
  if (waiter.waits_for_index) {
    waiter.waits_for_index = false;
    index_waits_.erase(waiter.index_wait);
  }
  if (waiter.link == nullptr) return;
  *waiter.link = waiter.next;
  if (waiter.next != nullptr) waiter.next->link = waiter.link;
  waiter.link = nullptr;
  for (Registration& r : waiter.registrations) r.leave();
  waiter.registrations.clear();
  --count_;
}

void WatchTable::remove(Watch::Waiter& waiter) {
  MutexLock guard(mutex_);
  detach(waiter);
}

size_t WatchTable::waiters() const {
  MutexLock guard(mutex_);
  return count_;
}

void WatchTable::collect(Watch::Waiter& waiter, WakeList& wake) {
  if (waiter.collected) return;
  waiter.collected = true;
  wake.push_back(waiter.shared_from_this());
}

void WatchTable::touch(uint64_t index, uint32_t root, size_t length, std::string_view bytes, WakeList& wake) {
  const uint64_t h = hash(root, length, bytes);
  Bucket& b = bucket(h);
  b.stamp = index;
  for (Registration* r = b.waiters; r != nullptr; r = r->next) {
    // A waiter that read this very version registered before the commit got here: it has seen the change.
    if (r->hash != h || r->root != root || r->length != length || r->key != bytes) continue;
    if (r->waiter->set.seen_index_ < index) collect(*r->waiter, wake);
  }
}

void WatchTable::notify(uint64_t index, std::span<const Touched> touched, std::span<const uint32_t> tables) {
  WakeList wake;
  {
    MutexLock guard(mutex_);
    last_index_ = index;
    for (const Touched& t : touched) {
      if (t.unique) touch(index, t.root, kExact, t.key, wake);
      const IndexState& state = indexes_[t.root];
      for (const PrefixLength& p : state.lengths) {
        if (p.length <= t.key.size()) touch(index, t.root, p.length, t.key.substr(0, p.length), wake);
      }
      for (Registration* r = state.intervals; r != nullptr; r = r->next) {
        const bool inside = t.key >= r->range->first && (r->range->end.empty() || t.key < r->range->end);
        if (inside && r->waiter->set.seen_index_ < index) collect(*r->waiter, wake);
      }
    }
    for (uint32_t table : tables) {
      tables_[table].stamp = index;
      for (Registration* r = tables_[table].waiters; r != nullptr; r = r->next) {
        if (r->waiter->set.seen_index_ < index) collect(*r->waiter, wake);
      }
    }
    for (auto it = index_waits_.begin(); it != index_waits_.end() && it->first <= index; ++it) {
      collect(*it->second, wake);
    }
    for (const auto& waiter : wake) detach(*waiter);
  }
  for (const auto& waiter : wake) fire(*waiter, WakeReason::changed);
}

void WatchTable::abandon_all(uint64_t restored_version, WakeReason reason) {
  WakeList wake;
  {
    MutexLock guard(mutex_);
    for (Watch::Waiter* w = all_; w != nullptr; w = w->next) collect(*w, wake);
    for (auto& [index, waiter] : index_waits_) collect(*waiter, wake);
    for (const auto& waiter : wake) detach(*waiter);
    // Log indexes may begin anew: forget the old ones.
    epoch_ = restored_version;
    epoch_reason_ = reason;
    last_index_ = 0;
    for (Bucket& b : buckets_) b.stamp = 0;
    for (TableState& t : tables_) t.stamp = 0;
    for (IndexState& i : indexes_) i.lengths.clear();
  }
  for (const auto& waiter : wake) fire(*waiter, reason);
}

RecordingView::RecordingView(const Snapshot& snapshot, ReadSet& set) : snapshot_(snapshot), set_(set) {
  set_.seen_index_ = std::min(set_.seen_index_, snapshot.index());
  set_.seen_version_ = std::min(set_.seen_version_, snapshot.reader().version->number);
}

uint64_t RecordingView::index() const { return snapshot_.index(); }

std::optional<std::string_view> RecordingView::get(TableId table, std::string_view key) const {
  return get_by(table, kPrimary, key);
}

std::optional<std::string_view> RecordingView::get_by(TableId table, uint32_t index, std::string_view key) const {
  const Reader reader = snapshot_.reader();
  const Item* row = reader.find(table, index, key);
  if (set_.keys_.size() < ReadSet::kMaxKeys) {
    set_.keys_.push_back(
        {table.value, index, reader.schema->root(table, index), std::string(key), row == nullptr ? 0 : row->birth});
  } else {
    add_table(table);
  }
  if (row == nullptr) return std::nullopt;
  return row->value();
}

std::unique_ptr<Cursor> RecordingView::scan(TableId table, uint32_t index, const KeyRange& range, Order order) const {
  const Reader reader = snapshot_.reader();
  const uint32_t root = reader.schema->root(table, index);
  const bool prefix = is_exactly(range) && !reader.schema->roots[root].unique;  // see TreeCursor
  set_.ranges_.push_back({table.value, root, prefix ? KeyRange::prefix(range.first) : range});
  return reader.scan(table, index, range, order);
}

uint64_t RecordingView::row_count(TableId table) const {
  add_table(table);
  return snapshot_.row_count(table);
}

uint64_t RecordingView::table_index(TableId table) const {
  add_table(table);
  return snapshot_.table_index(table);
}

void RecordingView::add_table(TableId table) const {
  if (std::ranges::find(set_.tables_, table.value) == set_.tables_.end()) set_.tables_.push_back(table.value);
}

}  // namespace drover::state

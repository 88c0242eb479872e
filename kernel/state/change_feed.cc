#include "kernel/state/change_feed.h"

#include <algorithm>

namespace drover::state {
namespace {

constexpr size_t kDecodedShare = 3;  // the memory of a decoded row, in times its bytes: somebody may ask for it

}  // namespace

void Batch::add(const Item* before, const Item* after) {
  Change change{.table = {}, .key = {}, .before = std::nullopt, .after = std::nullopt};
  for (const Item* row : {before, after}) {
    if (row == nullptr) continue;
    change.table = TableId{row->table};
    change.key = row->key();
    (row == before ? change.before : change.after).emplace(row->value());
    rows_.emplace_back(*memory_, row);
    bytes_ += row->allocated() + sizeof(RowRef) + kDecodedShare * row->value().size();
  }
  bytes_ += sizeof(Change);
  if (std::ranges::find(tables_, change.table) == tables_.end()) tables_.push_back(change.table);
  changes_.push_back(std::move(change));
}

bool Batch::changes_one_of(const std::vector<TableId>& tables) const {
  return tables.empty() || std::ranges::find_first_of(tables_, tables) != tables_.end();
}

void ChangeFeed::publish(std::shared_ptr<const Batch> batch) {
  std::vector<std::shared_ptr<const Batch>> evicted;  // their rows are freed outside the lock
  MutexLock guard(mutex_);
  last_index_ = batch->index();
  bytes_ += batch->bytes();
  for (Subscription* each : waiting_) {
    if (each->next_ != end() || batch->changes_one_of(each->tables_)) {
      each->woken_->notify_one();
    } else {
      ++each->next_;
    }
  }
  ring_.push_back(std::move(batch));
  while (!ring_.empty() && (ring_.size() > max_batches_ || bytes_ > max_bytes_)) {
    bytes_ -= ring_.front()->bytes();
    lost_index_ = ring_.front()->index();
    evicted.push_back(std::move(ring_.front()));
    ring_.pop_front();
    ++first_;
  }
}

void ChangeFeed::reset(uint64_t index) {
  std::deque<std::shared_ptr<const Batch>> dropped;
  MutexLock guard(mutex_);
  first_ += ring_.size() + 1;  // the gap is what makes every subscriber resync
  dropped.swap(ring_);
  bytes_ = 0;
  lost_index_ = last_index_ = index;
  for (Subscription* each : waiting_) each->woken_->notify_one();
}

void ChangeFeed::close() {
  MutexLock guard(mutex_);
  closed_ = true;
  for (Subscription* each : waiting_) each->woken_->notify_one();
}

Subscription::Subscription(std::shared_ptr<ChangeFeed> feed, uint64_t after_index, std::vector<TableId> tables)
    : feed_(std::move(feed)),
      tables_(std::move(tables)),
      after_index_(after_index),
      woken_(std::make_unique<CondVarAny>()) {
  MutexLock guard(feed_->mutex_);
  next_ = feed_->first_;
  if (after_index < feed_->lost_index_) --next_;  // before the ring: the first event is a resync
}

FeedEvent Subscription::next(SteadyTime deadline, const std::stop_token& stop) {
  ChangeFeed& feed = *feed_;
  MutexLock lock(feed.mutex_);
  for (;;) {
    if (next_ < feed.first_ || next_ > feed.end()) {
      next_ = feed.end();
      after_index_ = feed.last_index_;
      return {FeedEvent::Kind::resync, nullptr, feed.last_index_};
    }
    while (next_ < feed.end()) {
      std::shared_ptr<const Batch> batch = feed.ring_[next_++ - feed.first_];
      if (batch->index() <= after_index_ || !batch->changes_one_of(tables_)) continue;
      const uint64_t index = batch->index();
      return {FeedEvent::Kind::batch, std::move(batch), index};
    }
    if (feed.closed_) return {FeedEvent::Kind::closed, nullptr, 0};
    feed.waiting_.push_back(this);
    const bool is_woken = woken_->wait_until(lock, stop, deadline, [&]() DROVER_REQUIRES(feed.mutex_) {
      return feed.closed_ || next_ != feed.end();
    });
    std::erase(feed.waiting_, this);
    if (!is_woken) return {stop.stop_requested() ? FeedEvent::Kind::closed : FeedEvent::Kind::timed_out, nullptr, 0};
  }
}

}  // namespace drover::state

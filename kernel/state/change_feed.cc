#include "kernel/state/change_feed.h"

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
  changes_.push_back(std::move(change));
}

void ChangeFeed::publish(std::shared_ptr<const Batch> batch) {
  std::vector<std::shared_ptr<const Batch>> evicted;  // their rows are freed outside the lock
  {
    MutexLock guard(mutex_);
    last_index_ = batch->index();
    bytes_ += batch->bytes();
    ring_.push_back(std::move(batch));
    while (!ring_.empty() && (ring_.size() > max_batches_ || bytes_ > max_bytes_)) {
      bytes_ -= ring_.front()->bytes();
      lost_index_ = ring_.front()->index();
      evicted.push_back(std::move(ring_.front()));
      ring_.pop_front();
      ++first_;
    }
    if (waiting_ == 0) return;
  }
  changed_.notify_all();
}

void ChangeFeed::reset(uint64_t index) {
  std::deque<std::shared_ptr<const Batch>> dropped;
  {
    MutexLock guard(mutex_);
    first_ += ring_.size() + 1;  // the gap is what makes every subscriber resync
    dropped.swap(ring_);
    bytes_ = 0;
    lost_index_ = last_index_ = index;
  }
  changed_.notify_all();
}

void ChangeFeed::close() {
  {
    MutexLock guard(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
}

Subscription::Subscription(std::shared_ptr<ChangeFeed> feed, uint64_t after_index)
    : feed_(std::move(feed)), after_index_(after_index) {
  MutexLock guard(feed_->mutex_);
  next_ = feed_->first_;
  if (after_index < feed_->lost_index_) --next_;  // before the ring: the first event is a resync
}

FeedEvent Subscription::next(SteadyTime deadline, const std::stop_token& stop) {
  ChangeFeed& feed = *feed_;
  MutexLock lock(feed.mutex_);
  const auto ready = [&]() DROVER_REQUIRES(feed.mutex_) {
    return feed.closed_ || next_ != feed.first_ + feed.ring_.size();
  };
  for (;;) {
    if (!ready()) {
      ++feed.waiting_;
      const bool woken = feed.changed_.wait_until(lock, stop, deadline, ready);
      --feed.waiting_;
      if (!woken) {
        return {stop.stop_requested() ? FeedEvent::Kind::closed : FeedEvent::Kind::timed_out, nullptr, 0};
      }
    }
    const uint64_t end = feed.first_ + feed.ring_.size();
    if (next_ < feed.first_ || next_ > end) {
      next_ = end;
      after_index_ = feed.last_index_;
      return {FeedEvent::Kind::resync, nullptr, feed.last_index_};
    }
    if (next_ == end) return {FeedEvent::Kind::closed, nullptr, 0};
    std::shared_ptr<const Batch> batch = feed.ring_[next_++ - feed.first_];
    if (batch->index() <= after_index_) continue;
    const uint64_t index = batch->index();
    return {FeedEvent::Kind::batch, std::move(batch), index};
  }
}

}  // namespace drover::state

// The newest changes that hold events, and the place of each reader among them. One writer appends and never waits; a
// reader that is slower than the buffer is long has lost its place.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <variant>
#include <vector>

#include "drover/clock.h"
#include "drover/mutex.h"
#include "drover/tables.h"
#include "topics.h"

namespace drover::events {

// The events of one log entry. Whoever reads them first makes them, for all.
class Group {
 public:
  Group(std::shared_ptr<const ChangeBatch> batch, Topics::RightsChange rights)
      : batch_(std::move(batch)), rights_(std::move(rights)) {}

  uint64_t index() const { return batch_->index(); }
  const Topics::RightsChange& rights() const { return rights_; }
  const std::vector<Event>& events(const Topics& topics) const;

 private:
  const std::shared_ptr<const ChangeBatch> batch_;
  const Topics::RightsChange rights_;
  mutable std::once_flag made_;
  mutable std::vector<Event> events_;
};

// [any]
class EventBuffer {
 public:
  // `begin`: readers have the state with that index behind them when it begins.
  EventBuffer(size_t groups, uint64_t begin) : most_(groups), lost_index_(begin) {}

  void add(std::shared_ptr<const Group> group);
  // The state became another one: all readers have lost their places.
  void reset(uint64_t index);
  void close();

  // A reader's next group.
  using Place = uint64_t;
  // As the API begins with `index`: the oldest group of at least it, or the newest one when all are older; 0: the oldest.
  Place at_least(uint64_t index) const;
  // Exactly the groups behind the index. Errors: failed_precondition, naming the oldest index, when some are not held any more.
  Result<Place> after(uint64_t index) const;
  Place latest() const;

  struct Idle {};    // nothing came until the deadline, or stop was requested
  struct Lost {};    // it was too slow
  struct Closed {};  // the buffer was, or all places are void
  using Next = std::variant<std::shared_ptr<const Group>, Idle, Lost, Closed>;
  // Moves the place on.
  Next next(Place& place, SteadyTime deadline, const std::stop_token& stop);

 private:
  Place end() const DROVER_REQUIRES(mutex_) { return first_ + groups_.size(); }

  const size_t most_;
  mutable Mutex mutex_;
  CondVarAny changed_;
  std::deque<std::shared_ptr<const Group>> groups_ DROVER_GUARDED_BY(mutex_);
  Place first_ DROVER_GUARDED_BY(mutex_) = 1;   // of groups_.front()
  Place void_ DROVER_GUARDED_BY(mutex_) = 0;    // places up to it are void
  uint64_t lost_index_ DROVER_GUARDED_BY(mutex_);  // the newest index that is not held any more
  bool is_closed_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace drover::events

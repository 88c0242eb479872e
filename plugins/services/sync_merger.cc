#include "sync_merger.h"

#include <algorithm>
#include <utility>

#include "services.pb.h"

namespace drover::services {

void SyncMerger::propose(std::string payload, SteadyTime deadline, uint64_t only_in_term,
                         std::function<void(Result<Applied>)> done) {
  std::vector<Entry> now;
  bool is_first = false;
  {
    MutexLock lock(mutex_);
    const SteadyTime time = host_->clock().steady();
    if (!gathered_.callers.empty() && (gathered_.term != only_in_term || gathered_.payload.size() >= kMostBytes))
      now.push_back(std::exchange(gathered_, {}));
    const bool is_alone = gathered_.callers.empty() && (is_stopped_ || time >= quiet_from_);
    is_first = gathered_.callers.empty() && !is_alone;
    gathered_.payload += payload;
    gathered_.deadline = std::max(gathered_.deadline, deadline);
    gathered_.term = only_in_term;
    gathered_.callers.push_back(std::move(done));
    if (is_alone) now.push_back(std::exchange(gathered_, {}));
    if (is_alone) quiet_from_ = time + kGather;
  }
  for (Entry& entry : now) write(std::move(entry));
  if (is_first) host_->post_after(kGather, [this] { write_gathered(); });
}

void SyncMerger::write_gathered() {
  Entry entry;
  {
    MutexLock lock(mutex_);
    entry = std::exchange(gathered_, {});
    quiet_from_ = host_->clock().steady() + kGather;
  }
  if (!entry.callers.empty()) write(std::move(entry));
}

void SyncMerger::stop() {
  {
    MutexLock lock(mutex_);
    is_stopped_ = true;
  }
  if (host_) write_gathered();
}

void SyncMerger::write(Entry entry) {
  host_->propose(v1::ServicesSynced::descriptor()->full_name(), std::move(entry.payload), entry.deadline, entry.term,
                 [callers = std::move(entry.callers)](const Result<Applied>& applied) {
                   for (const auto& done : callers) done(applied);
                 });
}

}  // namespace drover::services

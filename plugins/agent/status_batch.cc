#include "status_batch.h"

#include <algorithm>

namespace drover::agent {

void StatusBatch::changed(Uuid allocation, bool urgent, SteadyTime now) {
  pending_.insert(allocation);
  const SteadyTime wanted = now + (urgent ? std::chrono::nanoseconds(kUrgent) : std::chrono::nanoseconds(kPatient));
  due_ = due_ ? std::min(*due_, wanted) : wanted;
}

std::optional<SteadyTime> StatusBatch::due() const {
  if (!due_) return std::nullopt;
  return not_before_ ? std::max(*due_, *not_before_) : *due_;
}

std::vector<Uuid> StatusBatch::take(SteadyTime now) {
  const auto when = due();
  if (!when || now < *when) return {};
  std::vector<Uuid> out(pending_.begin(), pending_.end());
  pending_.clear();
  due_.reset();
  return out;
}

void StatusBatch::delivered() {
  not_before_.reset();
  retry_ = {};
}

void StatusBatch::failed(const std::vector<Uuid>& allocations, SteadyTime now, double chance) {
  pending_.insert(allocations.begin(), allocations.end());
  retry_ = retry_.count() == 0 ? std::chrono::nanoseconds(kFirstRetry)
                               : std::min<std::chrono::nanoseconds>(retry_ * 2, kLongestRetry);
  const auto spread =
      std::chrono::nanoseconds(static_cast<int64_t>(chance * 0.25 * static_cast<double>(retry_.count())));
  not_before_ = now + retry_ + spread;
  due_ = due_ ? std::min(*due_, *not_before_) : *not_before_;
}

}  // namespace drover::agent

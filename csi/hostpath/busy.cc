#include "busy.h"

#include <algorithm>

namespace drover::hostpath {

Result<Busy::Hold> Busy::take(std::vector<std::string> what) {
  std::erase(what, "");
  const MutexLock lock(mutex_);
  if (std::ranges::any_of(what, [this](const std::string& each) { return held_.contains(each); }))
    return aborted("another call for the same volume or snapshot is not over yet");
  held_.insert(what.begin(), what.end());
  return Hold(*this, std::move(what));
}

void Busy::release(const std::vector<std::string>& what) {
  const MutexLock lock(mutex_);
  for (const std::string& each : what) held_.erase(held_.find(each));
}

}  // namespace drover::hostpath

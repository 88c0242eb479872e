#include "keeper/later.h"

#include <utility>
#include <vector>

namespace drover::mounts {

void Later::run(const std::string& name, std::chrono::nanoseconds pause, std::function<void()> work) {
  uint64_t number = 0;
  {
    const MutexLock lock(shared_->mutex);
    if (shared_->is_stopped) return;
    number = ++shared_->last;
    shared_->orders[name] = {number, std::move(work)};
  }
  host_.post_after(pause, [shared = shared_, name, number] { begin(shared, name, number); });
}

void Later::hurry() {
  std::vector<std::pair<std::string, uint64_t>> waiting;
  {
    const MutexLock lock(shared_->mutex);
    for (const auto& [name, order] : shared_->orders) waiting.emplace_back(name, order.number);
  }
  for (const auto& [name, number] : waiting)
    host_.post([shared = shared_, name = name, number = number] { begin(shared, name, number); });
}

// One whose time comes while the former of its name still runs is run by that one's thread, after it.
void Later::begin(const std::shared_ptr<Shared>& shared, const std::string& name, uint64_t number) {
  MutexLock lock(shared->mutex);
  while (!shared->is_stopped) {
    const auto at = shared->orders.find(name);
    if (at == shared->orders.end() || at->second.number != number) break;
    if (shared->working.contains(name)) {
      at->second.is_due = true;
      break;
    }
    const std::function<void()> work = std::move(at->second.work);
    shared->orders.erase(at);
    shared->working.insert(name);
    lock.unlock();
    work();
    lock.lock();
    shared->working.erase(name);
    const auto next = shared->orders.find(name);
    if (next == shared->orders.end() || !next->second.is_due) break;
    number = next->second.number;
  }
  shared->idle.notify_all();
}

void Later::stop() {
  stop_.request_stop();
  MutexLock lock(shared_->mutex);
  shared_->is_stopped = true;
  shared_->orders.clear();
  shared_->idle.wait(lock, [this]() DROVER_REQUIRES(shared_->mutex) { return shared_->working.empty(); });
}

}  // namespace drover::mounts

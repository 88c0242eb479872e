#include "drover/exit_watchers.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "drover/mutex.h"
#include "nomad/plugins/driver.pb.h"

namespace drover {
namespace {

class Watcher {
 public:
  explicit Watcher(TaskDriver::TellExit done) : done_(std::move(done)) {}
  void follow(std::stop_token stop) {
    cancelled_.emplace(std::move(stop), [this] { tell(cancelled("the wait for the task was cancelled")); });
  }
  void tell(const Result<driver::ExitResult>& exit) {
    if (!is_told_.exchange(true)) done_(exit);
  }
  bool is_told() const { return is_told_; }

 private:
  const TaskDriver::TellExit done_;
  std::atomic<bool> is_told_ = false;
  std::optional<std::stop_callback<std::function<void()>>> cancelled_;  // last: its end waits for one under way
};

}  // namespace

struct ExitWatchers::State {
  Mutex mutex;
  std::optional<Result<driver::ExitResult>> exit DROVER_GUARDED_BY(mutex);
  std::vector<std::shared_ptr<Watcher>> waiting DROVER_GUARDED_BY(mutex);
};

ExitWatchers::ExitWatchers() : state_(std::make_unique<State>()) {}
ExitWatchers::~ExitWatchers() = default;

void ExitWatchers::add(std::stop_token stop, TaskDriver::TellExit done) {
  const auto watcher = std::make_shared<Watcher>(std::move(done));
  std::optional<Result<driver::ExitResult>> exit;
  std::vector<std::shared_ptr<Watcher>> over;  // let go without the lock: one may be being told
  {
    MutexLock lock(state_->mutex);
    exit = state_->exit;
    const auto is_waiting = [](const std::shared_ptr<Watcher>& one) { return !one->is_told(); };
    const auto told = std::partition(state_->waiting.begin(), state_->waiting.end(), is_waiting);
    over.assign(told, state_->waiting.end());
    state_->waiting.erase(told, state_->waiting.end());
    if (!exit) state_->waiting.push_back(watcher);
  }
  if (exit) return watcher->tell(*exit);
  watcher->follow(std::move(stop));
}

void ExitWatchers::tell(const Result<driver::ExitResult>& exit) {
  std::vector<std::shared_ptr<Watcher>> waiting;
  {
    MutexLock lock(state_->mutex);
    if (state_->exit) return;
    state_->exit = exit;
    waiting.swap(state_->waiting);
  }
  for (const auto& watcher : waiting) watcher->tell(exit);
}

}  // namespace drover

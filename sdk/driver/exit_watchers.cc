#include "drover/exit_watchers.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

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
  std::mutex mutex;
  std::optional<Result<driver::ExitResult>> exit;  // guarded by mutex, as what follows
  std::vector<std::shared_ptr<Watcher>> waiting;
};

ExitWatchers::ExitWatchers() : state_(std::make_unique<State>()) {}
ExitWatchers::~ExitWatchers() = default;

void ExitWatchers::add(std::stop_token stop, TaskDriver::TellExit done) {
  const auto watcher = std::make_shared<Watcher>(std::move(done));
  std::optional<Result<driver::ExitResult>> exit;
  std::vector<std::shared_ptr<Watcher>> over;  // let go without the lock: one may be being told
  {
    std::lock_guard lock(state_->mutex);
    exit = state_->exit;
    const auto told =
        std::ranges::partition(state_->waiting, [](const std::shared_ptr<Watcher>& one) { return !one->is_told(); });
    over.assign(told.begin(), told.end());
    state_->waiting.erase(told.begin(), told.end());
    if (!exit) state_->waiting.push_back(watcher);
  }
  if (exit) return watcher->tell(*exit);
  watcher->follow(std::move(stop));
}

void ExitWatchers::tell(const Result<driver::ExitResult>& exit) {
  std::vector<std::shared_ptr<Watcher>> waiting;
  {
    std::lock_guard lock(state_->mutex);
    if (state_->exit) return;
    state_->exit = exit;
    waiting.swap(state_->waiting);
  }
  for (const auto& watcher : waiting) watcher->tell(exit);
}

}  // namespace drover

#include "log_pipes.h"

#include <sys/stat.h>

#include "drover/log.h"

namespace drover::plugin_programs {
namespace {

SteadyTime soon() { return SystemClock().steady() + std::chrono::seconds(10); }

}  // namespace

Result<std::shared_ptr<Launcher>> LogPipes::launcher() {
  const MutexLock lock(mutex_);
  if (launcher_ && launcher_->is_connected()) return launcher_;
  launcher_.reset();
  DROVER_TRY(launcher_, Launcher::connect(options_, {}, soon()));
  return launcher_;
}

Status LogPipes::hold(std::string_view task_id, const std::vector<std::string>& paths) {
  std::vector<std::string> fifos;
  for (const std::string& path : paths) {
    struct stat found {};
    if (::stat(path.c_str(), &found) == 0 && S_ISFIFO(found.st_mode)) fifos.push_back(path);
  }
  if (fifos.empty()) return ok_status();
  DROVER_TRY(const std::shared_ptr<Launcher> launcher, this->launcher());
  return launcher->hold("pipes:" + std::string(task_id), fifos, soon());
}

void LogPipes::release(std::string_view task_id) {
  const auto launcher = this->launcher();
  const Status status = launcher ? (*launcher)->release("pipes:" + std::string(task_id), soon()) : launcher.status();
  if (!status.ok()) log::warn("plugin", "a task's output stays open", {{"task", task_id}, {"error", status.message()}});
}

}  // namespace drover::plugin_programs

#include "client_hook.h"
#include "drover/v1/job.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::agent {
namespace {

LogStream stream_of(const HookedTask& task, std::string type) {
  LogStream stream{.folder = task.alloc_folders().logs, .task = task.name(), .type = std::move(type)};
  const v1::LogConfig& config = task.spec()->task(task.name())->log_config();
  if (config.max_files() > 0) stream.limits.files = static_cast<uint64_t>(config.max_files());
  if (config.max_file_size_mb() > 0) stream.limits.bytes = static_cast<uint64_t>(config.max_file_size_mb()) << 20;
  return stream;
}

class Logs final : public TaskHook::Part {
 public:
  Logs(const Client& client, HookedTask& task, HookState&) : collector_(client.logs), task_(task) {}

  Status prestart(TaskPrestart& start) override {
    if (task_.spec()->task(task_.name())->log_config().disabled()) {
      start.adds.set_stdout_path("/dev/null");
      start.adds.set_stderr_path("/dev/null");
      return ok_status();
    }
    const LogStream out = stream_of(task_, "stdout"), err = stream_of(task_, "stderr");
    DROVER_RETURN_IF_ERROR(collector_.open(out));
    DROVER_RETURN_IF_ERROR(collector_.open(err));
    start.adds.set_stdout_path(out.fifo());
    start.adds.set_stderr_path(err.fifo());
    return ok_status();
  }
  // An agent that finds its task ended, or ends it at once, has not opened the pipes, and they may not be empty.
  Status exited() override {
    if (task_.spec()->task(task_.name())->log_config().disabled()) return ok_status();
    Status first;
    for (const char* type : {"stdout", "stderr"}) {
      const LogStream stream = stream_of(task_, type);
      if (const Status opened = collector_.open(stream); !opened.ok() && first.ok()) first = opened;
      collector_.close(stream);
    }
    return first;
  }

 private:
  LogCollector& collector_;
  HookedTask& task_;
};

}  // namespace

std::unique_ptr<TaskHook> logs_hook(const ClientSlot& client) {
  return std::make_unique<ClientHook<Logs>>(client, HookInfo{.name = "logs", .after = {"task_dir"}});
}

}  // namespace drover::agent

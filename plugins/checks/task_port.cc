#include "task_port.h"

#include "drover/check_provider.h"

#include "drover/v1/check_provider.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::checks {
namespace {

// Nobody types: there is output only.
class ScriptStream final : public ExecStream {
 public:
  explicit ScriptStream(std::stop_token stop) : stop_(std::move(stop)) {}

  std::optional<driver::ExecTaskStreamingRequest> receive(std::stop_token) override { return std::nullopt; }
  bool send(const driver::ExecTaskStreamingResponse& response) override {
    const MutexLock lock(mutex_);
    for (const auto* part : {&response.stdout(), &response.stderr()}) {
      if (output_.size() <= kMaxCheckOutput) output_ += part->data();
    }
    if (response.exited()) result_ = response.result();
    return !stop_.stop_requested();
  }
  std::stop_token stop() const override { return stop_; }

  Result<v1::CheckResult> result() const {
    const MutexLock lock(mutex_);
    if (!result_) return internal_error("the driver does not say how the script ended");
    return judge_script(result_->exit_code(), result_->signal(), output_);
  }

 private:
  const std::stop_token stop_;
  mutable Mutex mutex_;
  std::string output_ DROVER_GUARDED_BY(mutex_);
  std::optional<driver::ExitResult> result_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace

v1::CheckResult judge_script(int exit_code, int signal, std::string_view output) {
  std::string text = check::cut_output(output);
  if (signal != 0) return check::critical("the script was ended by signal " + std::to_string(signal) + "\n" + text);
  if (exit_code == 0) return check::passing(std::move(text));
  return exit_code == 1 ? check::warning(std::move(text)) : check::critical(std::move(text));
}

void TaskPort::close() {
  closing_.request_stop();
  MutexLock lock(mutex_);
  task_ = nullptr;
  changed_.wait(lock, [this]() DROVER_REQUIRES(mutex_) { return calls_ == 0; });
}

template <typename Call>
auto TaskPort::with_task(Call call) -> decltype(call(std::declval<HookedTask&>())) {
  HookedTask* task = nullptr;
  {
    const MutexLock lock(mutex_);
    if (!task_) return failed_precondition("Task not running");
    task = task_;
    ++calls_;
  }
  auto result = call(*task);
  const MutexLock lock(mutex_);
  --calls_;
  changed_.notify_all();
  return result;
}

Status TaskPort::restart(const std::string& reason) {
  return with_task([&](HookedTask& task) { return task.restart_failed(reason); });
}

Result<v1::CheckResult> TaskPort::run_script(const std::vector<std::string>& command, std::stop_token stop) {
  return with_task([&](HookedTask& task) -> Result<v1::CheckResult> {
    std::stop_source either;
    const std::stop_callback by_caller(std::move(stop), [&] { either.request_stop(); });
    const std::stop_callback by_end(closing_.get_token(), [&] { either.request_stop(); });
    ScriptStream stream(either.get_token());
    DROVER_RETURN_IF_ERROR(task.exec(command, false, stream));
    return stream.result();
  });
}

}  // namespace drover::checks

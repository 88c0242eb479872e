// The driver "nap": tasks that do nothing for some time. The smallest driver whose tasks outlive its program: all that
// it must find again is when a nap ends, and that is in the handle.
#include <condition_variable>
#include <cstdio>
#include <map>
#include <mutex>

#include "drover/hclspec.h"
#include "drover/log.h"
#include "drover/serve.h"
#include "drover/signals.h"
#include "drover/task_options.h"
#include "nomad/plugins/driver.pb.h"
#include "nomad/plugins/hclspec.pb.h"

using namespace drover;
using std::chrono::nanoseconds, std::chrono::system_clock;
using namespace std::chrono_literals;

namespace {

class Nap final : public TaskDriver {
 public:
  hclspec::Spec task_config_schema() const override { return hclspec::object_of({{"for", "string", true}}); }
  driver::DriverCapabilities capabilities() const override { return {}; }
  driver::FingerprintResponse fingerprint() override {
    driver::FingerprintResponse print;
    (*print.mutable_attributes())["driver.nap"].set_string_val("1");
    print.set_health(driver::FingerprintResponse::HEALTHY);
    print.set_health_description("Healthy");
    return print;
  }
  Result<std::string> encode_config(std::string_view json) override { return TaskOptions::to_msgpack(json); }

  Result<driver::StartTaskResponse> start_task(const driver::TaskConfig& config) override {
    if (config.id().empty()) return invalid_argument("a task needs an id");
    DROVER_TRY(TaskOptions options, TaskOptions::from_msgpack(config.msgpack_driver_config()));
    const nanoseconds time = options.duration("for");
    DROVER_RETURN_IF_ERROR(options.finish());
    const auto now = system_clock::now();
    std::lock_guard lock(mutex_);
    if (!tasks_.emplace(config.id(), Task{config.name(), now, now + time}).second)
      return already_exists("task " + config.id() + " runs");
    driver::StartTaskResponse started;
    started.mutable_handle()->set_version(1);
    *started.mutable_handle()->mutable_config() = config;
    started.mutable_handle()->set_driver_state(text_of(now) + " " + text_of(now + time));
    return started;
  }
  Status recover_task(const driver::TaskHandle& handle) override {
    if (handle.version() != 1) return invalid_argument("the handle is of another version of this driver");
    long long started = 0, ends = 0;
    if (std::sscanf(handle.driver_state().c_str(), "%lld %lld", &started, &ends) != 2)
      return invalid_argument("the handle has a driver state that cannot be read");
    std::lock_guard lock(mutex_);
    tasks_.emplace(handle.config().id(), Task{handle.config().name(), time_of(started), time_of(ends)});
    log::info("nap", "a nap goes on", {{"task", handle.config().name()}});
    return ok_status();
  }
  Result<driver::ExitResult> wait_task(std::string_view id, std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto task = tasks_.find(id);
      if (task == tasks_.end()) return not_found(std::string(kTaskNotFound));
      if (stop.stop_requested()) return cancelled("nobody waits any more");
      if (task->second.ends <= system_clock::now()) return driver::ExitResult();
      const auto ends = task->second.ends;
      changed_.wait_until(lock, stop, ends, [&] {
        const auto now = tasks_.find(id);
        return now == tasks_.end() || now->second.ends != ends;
      });
    }
  }
  Status stop_task(std::string_view id, nanoseconds, std::string_view signal) override {
    std::lock_guard lock(mutex_);
    const auto task = tasks_.find(id);
    if (task == tasks_.end()) return not_found(std::string(kTaskNotFound));
    if (!signal.empty()) DROVER_RETURN_IF_ERROR(parse_signal(signal).status());
    task->second.ends = std::min(task->second.ends, system_clock::now());
    changed_.notify_all();
    return ok_status();
  }
  Status destroy_task(std::string_view id, bool force) override {
    std::lock_guard lock(mutex_);
    const auto task = tasks_.find(id);
    if (task == tasks_.end()) return not_found(std::string(kTaskNotFound));
    if (!force && task->second.ends > system_clock::now()) return failed_precondition("the nap is not over");
    tasks_.erase(task);
    changed_.notify_all();
    return ok_status();
  }
  Result<driver::InspectTaskResponse> inspect_task(std::string_view id) override {
    std::lock_guard lock(mutex_);
    const auto task = tasks_.find(id);
    if (task == tasks_.end()) return not_found(std::string(kTaskNotFound));
    driver::InspectTaskResponse out;
    out.mutable_task()->set_id(std::string(id));
    out.mutable_task()->set_name(task->second.name);
    out.mutable_task()->set_state(task->second.ends <= system_clock::now() ? driver::EXITED : driver::RUNNING);
    set_time(*out.mutable_task()->mutable_started_at(), task->second.started);
    if (out.task().state() == driver::EXITED) set_time(*out.mutable_task()->mutable_completed_at(), task->second.ends);
    return out;
  }
  Result<driver::TaskStats> task_stats(std::string_view) override {
    return unimplemented("stats not implemented for driver");
  }
  Status signal_task(std::string_view, std::string_view) override { return unimplemented("a nap hears nothing"); }

 private:
  struct Task {
    std::string name;
    system_clock::time_point started, ends;
  };
  static std::string text_of(system_clock::time_point time) { return std::to_string(time.time_since_epoch().count()); }
  static system_clock::time_point time_of(long long text) { return system_clock::time_point(nanoseconds(text)); }
  static void set_time(google::protobuf::Timestamp& stamp, system_clock::time_point time) {
    stamp.set_seconds(time.time_since_epoch() / 1s);
    stamp.set_nanos(static_cast<int32_t>((time.time_since_epoch() % 1s).count()));
  }
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, Task, std::less<>> tasks_;  // guarded by mutex_
};

}  // namespace

DROVER_TASK_DRIVER(Nap, "nap", "nap", "1.0.0");

// The driver "nap": tasks that do nothing for some time. The smallest driver whose tasks outlive its program: all that
// it must find again is when a nap ends, and that is in the handle.
#include <condition_variable>
#include <map>
#include <mutex>

#include "drover/hclspec.h"
#include "drover/serve.h"
#include "drover/task_options.h"
#include "nomad/plugins/driver.pb.h"
#include "nomad/plugins/hclspec.pb.h"

using namespace drover;
using std::chrono::nanoseconds, std::chrono::system_clock;

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
    DROVER_TRY(TaskOptions options, TaskOptions::from_msgpack(config.msgpack_driver_config()));
    const nanoseconds time = options.duration("for");
    DROVER_RETURN_IF_ERROR(options.finish());
    const auto ends = system_clock::now() + time;
    std::lock_guard lock(mutex_);
    if (!tasks_.emplace(config.id(), ends).second) return already_exists("task " + config.id() + " runs");
    driver::StartTaskResponse started;
    started.mutable_handle()->set_version(1);
    *started.mutable_handle()->mutable_config() = config;
    started.mutable_handle()->set_driver_state(std::to_string(ends.time_since_epoch().count()));
    return started;
  }
  Status recover_task(const driver::TaskHandle& handle) override {
    const auto ends = system_clock::time_point(nanoseconds(std::strtoll(handle.driver_state().c_str(), nullptr, 10)));
    std::lock_guard lock(mutex_);
    tasks_.emplace(handle.config().id(), ends);
    return ok_status();
  }
  Result<driver::ExitResult> wait_task(std::string_view id, std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto task = tasks_.find(id);
      if (task == tasks_.end()) return not_found(std::string(kTaskNotFound));
      if (stop.stop_requested()) return cancelled("nobody waits any more");
      if (task->second <= system_clock::now()) return driver::ExitResult();
      const auto ends = task->second;
      changed_.wait_until(lock, stop, ends, [&] {
        const auto now = tasks_.find(id);
        return now == tasks_.end() || now->second != ends;
      });
    }
  }
  Status stop_task(std::string_view id, nanoseconds, std::string_view) override { return end(id, false); }
  Status destroy_task(std::string_view id, bool) override { return end(id, true); }
  Result<driver::InspectTaskResponse> inspect_task(std::string_view id) override {
    std::lock_guard lock(mutex_);
    const auto task = tasks_.find(id);
    if (task == tasks_.end()) return not_found(std::string(kTaskNotFound));
    driver::InspectTaskResponse out;
    out.mutable_task()->set_id(std::string(id));
    out.mutable_task()->set_state(task->second <= system_clock::now() ? driver::EXITED : driver::RUNNING);
    return out;
  }
  Result<driver::TaskStats> task_stats(std::string_view) override {
    return unimplemented("stats not implemented for driver");
  }
  Status signal_task(std::string_view, std::string_view) override { return unimplemented("a nap hears nothing"); }

 private:
  Status end(std::string_view id, bool is_forgotten) {
    std::lock_guard lock(mutex_);
    const auto task = tasks_.find(id);
    if (task == tasks_.end()) return not_found(std::string(kTaskNotFound));
    task->second = std::min(task->second, system_clock::now());
    if (is_forgotten) tasks_.erase(task);
    changed_.notify_all();
    return ok_status();
  }
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, system_clock::time_point, std::less<>> tasks_;
};

}  // namespace

DROVER_SERVE_DRIVER(Nap, "nap", "1.0.0");

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

#include "drover/hclspec.h"
#include "drover/signals.h"
#include "drover/task_options.h"
#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/hclspec.pb.h"
#include "nomad/plugins/structs.pb.h"
#include "reference.h"

namespace drover::faulty {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kSecond = 1'000'000'000;

void set_time(google::protobuf::Timestamp& stamp, int64_t ns) {
  stamp.set_seconds(ns / kSecond);
  stamp.set_nanos(static_cast<int32_t>(ns % kSecond));
}

int open_pipe(const std::string& path) { return ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC); }

void write_on(std::stop_token stop, int out, int err) {
  (void)!::write(err, "this is err\n", 12);
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  do {
    (void)!::write(out, "this is out\n", 12);
    (void)never.wait_for(lock, stop, 10ms, [] { return false; });
  } while (!stop.stop_requested());
  ::close(out);
  ::close(err);
}

class ReferenceDriver final : public TaskDriver {
 public:
  ReferenceDriver(WorldPtr world, bool is_whole) : world_(std::move(world)), is_whole_(is_whole) {}
  ~ReferenceDriver() override { ReferenceDriver::stop(); }

  hclspec::Spec config_schema() const override { return hclspec::object_of({{"greeting", "string"}}); }
  Status configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) override {
    DROVER_TRY(TaskOptions options, TaskOptions::from_msgpack(request.msgpack_config()));
    (void)options.text("greeting");
    return options.finish();
  }
  hclspec::Spec task_config_schema() const override { return hclspec::object_of({{"kind", "string", true}}); }
  Result<std::string> encode_config(std::string_view json) override { return TaskOptions::to_msgpack(json); }
  driver::DriverCapabilities capabilities() const override {
    driver::DriverCapabilities can;
    can.set_send_signals(true);
    can.set_exec(is_whole_);
    can.set_must_create_network(is_whole_);
    can.add_network_isolation_modes(driver::NetworkIsolationSpec::HOST);
    return can;
  }
  driver::FingerprintResponse fingerprint() override {
    driver::FingerprintResponse print;
    (*print.mutable_attributes())["driver.reference"].set_string_val("1");
    print.set_health(driver::FingerprintResponse::HEALTHY);
    print.set_health_description("Healthy");
    return print;
  }
  Result<driver::StartTaskResponse> start_task(const driver::TaskConfig& config) override;
  Status recover_task(const driver::TaskHandle& handle) override;
  Result<driver::ExitResult> wait_task(std::string_view id, std::stop_token stop) override;
  Status stop_task(std::string_view id, std::chrono::nanoseconds timeout, std::string_view signal) override;
  Status destroy_task(std::string_view id, bool force) override;
  Result<driver::InspectTaskResponse> inspect_task(std::string_view id) override;
  Result<driver::TaskStats> task_stats(std::string_view id) override;
  Status signal_task(std::string_view id, std::string_view signal) override;
  Status exec_task_streaming(const ExecCommand& command, ExecStream& stream) override;
  Result<driver::CreateNetworkResponse> create_network(const driver::CreateNetworkRequest& request) override {
    if (!is_whole_) return TaskDriver::create_network(request);
    driver::CreateNetworkResponse out;
    out.mutable_isolation_spec()->set_mode(driver::NetworkIsolationSpec::GROUP);
    out.set_created(true);
    return out;
  }
  Status destroy_network(const driver::DestroyNetworkRequest& request) override {
    return is_whole_ ? ok_status() : TaskDriver::destroy_network(request);
  }
  void stop() override {
    const std::lock_guard lock(world_->mutex);
    is_stopping_ = true;
    world_->changed.notify_all();
  }

 private:
  // Requires: the world's mutex is held.
  Result<std::shared_ptr<WorldTask>> find(std::string_view id) {
    const auto found = own_.find(id);
    if (found == own_.end()) return not_found(std::string(kTaskNotFound));
    settle(*found->second);
    return found->second;
  }
  void settle(WorldTask& task) {
    if (std::chrono::steady_clock::now() >= task.ends_at) world_->end(task, 7, 0);
  }

  const WorldPtr world_;
  const bool is_whole_;
  bool is_stopping_ = false;                                            // guarded by the world's mutex
  std::map<std::string, std::shared_ptr<WorldTask>, std::less<>> own_;  // guarded by the world's mutex
};

Result<driver::StartTaskResponse> ReferenceDriver::start_task(const driver::TaskConfig& config) {
  if (config.id().empty()) return invalid_argument("a task needs an id");
  DROVER_TRY(TaskOptions options, TaskOptions::from_msgpack(config.msgpack_driver_config()));
  auto task = std::make_shared<WorldTask>();
  task->config = config;
  task->kind = options.text("kind");
  task->started_at = SystemClock().wall_ns();
  DROVER_RETURN_IF_ERROR(options.finish());
  if (task->kind == "invalid") return Status(Code::unknown, "told to fail");
  if (task->kind == "ending") task->ends_at = std::chrono::steady_clock::now() + 2ms;
  const std::lock_guard lock(world_->mutex);
  if (is_stopping_) return unavailable("the driver is stopping");
  if (!own_.emplace(config.id(), task).second) return already_exists("task " + config.id() + " was started before");
  world_->tasks[config.id()] = task;
  if (task->kind == "talking")
    task->writer = std::jthread(write_on, open_pipe(config.stdout_path()), open_pipe(config.stderr_path()));
  driver::StartTaskResponse response;
  driver::TaskHandle& handle = *response.mutable_handle();
  handle.set_version(1);
  *handle.mutable_config() = config;
  handle.set_state(driver::RUNNING);
  handle.set_driver_state(std::to_string(task->started_at));
  return response;
}

Status ReferenceDriver::recover_task(const driver::TaskHandle& handle) {
  const std::lock_guard lock(world_->mutex);
  const std::string& id = handle.config().id();
  if (own_.contains(id)) return ok_status();
  if (handle.version() != 1) return invalid_argument("the handle has an unknown version");
  int64_t started = 0;
  const std::string& state = handle.driver_state();
  const auto parsed = std::from_chars(state.data(), state.data() + state.size(), started);
  if (parsed.ec != std::errc() || parsed.ptr != state.data() + state.size())
    return invalid_argument("the handle has a driver state that cannot be read");
  const auto found = world_->tasks.find(id);
  if (found == world_->tasks.end() || found->second->started_at != started)
    return not_found(std::string(kTaskNotFound));
  own_[id] = found->second;
  return ok_status();
}

Result<driver::ExitResult> ReferenceDriver::wait_task(std::string_view id, std::stop_token stop) {
  std::unique_lock lock(world_->mutex);
  DROVER_TRY(const auto task, find(id));
  while (!task->result && !is_stopping_ && !stop.stop_requested() && own_.contains(id)) {
    world_->changed.wait_until(lock, stop, std::min(task->ends_at, std::chrono::steady_clock::now() + 1h),
                               [&] { return task->result || is_stopping_ || !own_.contains(id); });
    settle(*task);
  }
  if (task->result) return *task->result;
  if (!own_.contains(id)) return not_found(std::string(kTaskNotFound));
  return cancelled("nobody waits any more");
}

Status ReferenceDriver::stop_task(std::string_view id, std::chrono::nanoseconds timeout, std::string_view signal) {
  std::unique_lock lock(world_->mutex);
  DROVER_TRY(const auto task, find(id));
  DROVER_TRY(const int number, parse_signal(signal.empty() ? "SIGINT" : signal));
  if (task->kind != "deaf") world_->end(*task, 128 + number, number);
  const SteadyTime deadline = std::chrono::steady_clock::now() + std::min<std::chrono::nanoseconds>(timeout, 1h);
  world_->changed.wait_until(lock, deadline, [&] { return task->result || is_stopping_; });
  if (is_stopping_) return cancelled("the driver is stopping");
  world_->end(*task, 137, 9);
  return ok_status();
}

Status ReferenceDriver::destroy_task(std::string_view id, bool force) {
  const std::lock_guard lock(world_->mutex);
  DROVER_TRY(const auto task, find(id));
  if (!task->result && !force) return failed_precondition("the task is running");
  world_->end(*task, 137, 9);
  world_->tasks.erase(task->config.id());
  own_.erase(own_.find(id));
  world_->changed.notify_all();
  return ok_status();
}

Result<driver::InspectTaskResponse> ReferenceDriver::inspect_task(std::string_view id) {
  const std::lock_guard lock(world_->mutex);
  DROVER_TRY(const auto task, find(id));
  driver::InspectTaskResponse out;
  driver::TaskStatus& status = *out.mutable_task();
  status.set_id(task->config.id());
  status.set_name(task->config.name());
  status.set_state(task->result ? driver::EXITED : driver::RUNNING);
  set_time(*status.mutable_started_at(), task->started_at);
  if (task->result) {
    set_time(*status.mutable_completed_at(), task->ended_at);
    *status.mutable_result() = *task->result;
  }
  return out;
}

Result<driver::TaskStats> ReferenceDriver::task_stats(std::string_view id) {
  const std::lock_guard lock(world_->mutex);
  DROVER_TRY(const auto task, find(id));
  if (task->result) return failed_precondition("the task has ended");
  driver::TaskStats stats;
  stats.set_id(std::string(id));
  stats.mutable_agg_resource_usage()->mutable_cpu()->add_measured_fields(driver::CPUUsage::PERCENT);
  stats.mutable_agg_resource_usage()->mutable_memory()->add_measured_fields(driver::MemoryUsage::RSS);
  return stats;
}

Status ReferenceDriver::signal_task(std::string_view id, std::string_view signal) {
  const std::lock_guard lock(world_->mutex);
  DROVER_TRY(const auto task, find(id));
  DROVER_RETURN_IF_ERROR(parse_signal(signal).status());
  return task->result ? failed_precondition("the task has ended") : ok_status();
}

// Does what the kit's commands do, without a process.
Status ReferenceDriver::exec_task_streaming(const ExecCommand& command, ExecStream& stream) {
  if (!is_whole_) return TaskDriver::exec_task_streaming(command, stream);
  DROVER_RETURN_IF_ERROR(inspect_task(command.task_id).status());
  const std::string& script = command.command.back();
  driver::ExecTaskStreamingResponse out, end;
  end.set_exited(true);
  driver::ExitResult& result = *end.mutable_result();
  if (script == "echo hello") {
    out.mutable_stdout()->set_data("hello\n");
  } else if (script.starts_with("exit ")) {
    result.set_exit_code(std::stoi(script.substr(5)));
  } else if (script.starts_with("sleep ")) {
    std::unique_lock lock(world_->mutex);
    const auto time = std::chrono::seconds(std::stoi(script.substr(6)));
    (void)world_->changed.wait_for(lock, stream.stop(), time, [&] { return is_stopping_; });
  } else if (script == "test -t 1") {
    result.set_exit_code(command.tty ? 0 : 1);
  } else if (script == "cat") {
    while (const auto request = stream.receive(stream.stop())) {
      *out.mutable_stdout()->mutable_data() += request->stdin().data();
      if (request->stdin().close()) break;
    }
  } else if (script != "/bin/true") {
    return {Code::unknown, "there is no such program"};
  }
  (void)stream.send(out);
  (void)stream.send(end);
  return ok_status();
}

}  // namespace

void World::end(WorldTask& task, int exit_code, int signal) {
  if (task.result) return;
  task.result.emplace().set_exit_code(exit_code);
  task.result->set_signal(signal);
  task.ended_at = SystemClock().wall_ns();
  task.writer.request_stop();
  changed.notify_all();
}

std::unique_ptr<TaskDriver> reference_driver(const WorldPtr& world, bool is_whole) {
  return std::make_unique<ReferenceDriver>(world, is_whole);
}

}  // namespace drover::faulty

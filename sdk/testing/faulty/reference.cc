#include "reference.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

#include "../../serve/base_service.h"
#include "../../serve/kind_methods.h"
#include "../../serve/wire_details.h"
#include "drover/hclspec.h"
#include "drover/signals.h"
#include "drover/task_options.h"
#include "nomad/plugins/structs.pb.h"

namespace drover::faulty {

using namespace std::chrono_literals;

namespace {

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
  } while (!never.wait_for(lock, stop, 10ms, [&] { return stop.stop_requested(); }));
  ::close(out);
  ::close(err);
}

}  // namespace

ReferenceDriver::ReferenceDriver(std::shared_ptr<World> world, Form form) : world_(std::move(world)), form_(form) {
  const std::lock_guard lock(world_->mutex);
  ++world_->instances;
  world_->in_flight.clear();
}

ReferenceDriver::~ReferenceDriver() { ReferenceDriver::stop(); }

void ReferenceDriver::stop() {
  const std::lock_guard lock(world_->mutex);
  is_stopping_ = true;
  world_->crashed_in.insert(world_->in_flight.begin(), world_->in_flight.end());
  world_->changed.notify_all();
}

hclspec::Spec ReferenceDriver::config_schema() const { return hclspec::object_of({{"greeting", "string"}}); }
Status ReferenceDriver::configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) {
  DROVER_TRY(TaskOptions options, TaskOptions::from_msgpack(request.msgpack_config()));
  (void)options.text("greeting");
  return options.finish();
}
hclspec::Spec ReferenceDriver::task_config_schema() const { return hclspec::object_of({{"kind", "string", true}}); }

driver::DriverCapabilities ReferenceDriver::capabilities() const {
  driver::DriverCapabilities can;
  can.set_send_signals(true);
  can.set_exec(form_.can_exec);
  can.set_must_create_network(form_.makes_networks);
  can.add_network_isolation_modes(driver::NetworkIsolationSpec::HOST);
  return can;
}

driver::FingerprintResponse ReferenceDriver::fingerprint() {
  driver::FingerprintResponse print;
  (*print.mutable_attributes())["driver.reference"].set_string_val("1");
  print.set_health(driver::FingerprintResponse::HEALTHY);
  print.set_health_description("Healthy");
  return print;
}

Result<std::string> ReferenceDriver::encode_config(std::string_view json) { return TaskOptions::to_msgpack(json); }

// ---- tasks

Result<std::shared_ptr<WorldTask>> ReferenceDriver::find(std::string_view id) {
  const auto found = own_.find(id);
  if (found == own_.end()) return not_found(std::string(kTaskNotFound));
  settle(*found->second);
  return found->second;
}

void ReferenceDriver::settle(WorldTask& task) {
  if (!task.result && std::chrono::steady_clock::now() >= task.ends_at) finish(task, 7, 0);
}

void ReferenceDriver::finish(WorldTask& task, int exit_code, int signal) {
  if (task.result) return;
  task.result.emplace();
  task.result->set_exit_code(exit_code);
  task.result->set_signal(signal);
  task.ended_at = SystemClock().wall_ns();
  task.writer.request_stop();
  world_->changed.notify_all();
}

Result<driver::StartTaskResponse> ReferenceDriver::start_task(const driver::TaskConfig& config) {
  if (config.id().empty()) return invalid_argument("a task needs an id");
  DROVER_TRY(TaskOptions options, TaskOptions::from_msgpack(config.msgpack_driver_config()));
  const std::string kind = options.text("kind");
  DROVER_RETURN_IF_ERROR(options.finish());
  if (kind == "invalid") return Status(Code::unknown, "told to fail");
  auto task = std::make_shared<WorldTask>();
  task->config = config;
  task->kind = kind;
  task->started_at = SystemClock().wall_ns();
  if (kind == "ending") task->ends_at = std::chrono::steady_clock::now() + 2ms;
  const std::lock_guard lock(world_->mutex);
  if (is_stopping_) return unavailable("the driver is stopping");
  if (!own_.emplace(config.id(), task).second) return already_exists("task " + config.id() + " was started before");
  world_->tasks[config.id()] = task;
  if (kind == "talking")
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
  if (own_.contains(handle.config().id())) return ok_status();
  if (handle.version() != 1) return invalid_argument("the handle has an unknown version");
  int64_t started = 0;
  const std::string& state = handle.driver_state();
  const auto parsed = std::from_chars(state.data(), state.data() + state.size(), started);
  if (parsed.ec != std::errc() || parsed.ptr != state.data() + state.size())
    return invalid_argument("the handle has a driver state that cannot be read");
  const auto found = world_->tasks.find(handle.config().id());
  if (found == world_->tasks.end() || found->second->started_at != started)
    return not_found(std::string(kTaskNotFound));
  own_[handle.config().id()] = found->second;
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
  if (!task->result && task->kind != "deaf") finish(*task, 128 + number, number);
  const SteadyTime deadline = std::chrono::steady_clock::now() + std::min<std::chrono::nanoseconds>(timeout, 1h);
  world_->changed.wait_until(lock, deadline, [&] { return task->result || is_stopping_; });
  if (is_stopping_) return cancelled("the driver is stopping");
  finish(*task, 137, 9);
  return ok_status();
}

Status ReferenceDriver::destroy_task(std::string_view id, bool force) {
  const std::lock_guard lock(world_->mutex);
  DROVER_TRY(const auto task, find(id));
  if (!task->result && !force) return failed_precondition("the task is running");
  finish(*task, 137, 9);
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

// ---- commands and networks

namespace {

struct Ran {
  std::string out;
  int exit_code = 0;
};

// Does what the kit's commands do, without a process.
Result<Ran> run_command(serve::Call& call, const std::vector<std::string>& command, std::chrono::nanoseconds timeout) {
  const std::string script = command.empty() ? "" : command.back();
  if (script == "echo hello") return Ran{"hello\n", 0};
  if (script.starts_with("exit ")) return Ran{"", std::atoi(script.c_str() + 5)};
  if (script.starts_with("sleep ")) {
    (void)serve::wait(call,
                      std::min<std::chrono::nanoseconds>(timeout, std::chrono::seconds(std::atoi(script.c_str() + 6))));
    return Ran{"", 124};
  }
  if (script == "/bin/true" || script == "cat" || script == "test -t 1") return Ran{};
  return Status(Code::unknown, "there is no such program");
}

Status exec(TaskDriver& driver, serve::Call& call) {
  DROVER_TRY(const auto request, parse_message<driver::ExecTaskRequest>(call.request()));
  DROVER_RETURN_IF_ERROR(serve::on_the_wire(driver.inspect_task(request.task_id()).status()));
  DROVER_TRY(const Ran ran, run_command(call, {request.command().begin(), request.command().end()},
                                        serve::duration_of(request.timeout())));
  driver::ExecTaskResponse out;
  out.set_stdout(ran.out);
  out.mutable_result()->set_exit_code(ran.exit_code);
  (void)call.send(serialize(out));
  return ok_status();
}

Status exec_streaming(TaskDriver& driver, serve::Call& call) {
  DROVER_TRY(const auto request, parse_message<driver::ExecTaskStreamingRequest>(call.request()));
  const auto& setup = request.setup();
  DROVER_RETURN_IF_ERROR(serve::on_the_wire(driver.inspect_task(setup.task_id()).status()));
  std::string input;
  while (const auto bytes = setup.tty() ? std::nullopt : call.receive(call.stop())) {
    DROVER_TRY(const auto further, parse_message<driver::ExecTaskStreamingRequest>(*bytes));
    input += further.stdin().data();
    if (further.stdin().close()) break;
  }
  DROVER_TRY(Ran ran, run_command(call, {setup.command().begin(), setup.command().end()}, 1h));
  if (setup.command().size() == 3 && setup.command(2) == "cat") ran.out = input;
  if (setup.command().size() == 3 && setup.command(2) == "test -t 1") ran.exit_code = setup.tty() ? 0 : 1;
  driver::ExecTaskStreamingResponse out;
  out.mutable_stdout()->set_data(ran.out);
  (void)call.send(serialize(out));
  driver::ExecTaskStreamingResponse end;
  end.set_exited(true);
  end.mutable_result()->set_exit_code(ran.exit_code);
  (void)call.send(serialize(end));
  return ok_status();
}

}  // namespace

serve::Methods reference_methods(TaskDriver& driver, Form form, std::function<void()> end) {
  serve::Methods methods = serve::methods_of(
      driver, {.name = "reference", .own_name = "reference", .version = "1.0.0", .end = std::move(end)});
  const std::string service = "/hashicorp.nomad.plugins.drivers.proto.Driver/";
  if (form.can_exec) {
    methods[service + "ExecTask"] = [&driver](serve::Call& call) { return exec(driver, call); };
    methods[service + "ExecTaskStreaming"] = [&driver](serve::Call& call) { return exec_streaming(driver, call); };
  }
  if (form.makes_networks) {
    methods[service + "CreateNetwork"] = [](serve::Call& call) {
      driver::CreateNetworkResponse out;
      out.mutable_isolation_spec()->set_mode(driver::NetworkIsolationSpec::GROUP);
      out.set_created(true);
      (void)call.send(serialize(out));
      return ok_status();
    };
    methods[service + "DestroyNetwork"] = [](serve::Call& call) {
      (void)call.send("");
      return ok_status();
    };
  }
  return methods;
}

conformance::Setup reference_setup() {
  conformance::Setup setup;
  for (const char* kind : {"endless", "deaf", "ending", "talking", "invalid"})
    setup.tasks[kind] = {.config = hcl::Value(hcl::Object{{"kind", kind}})};
  setup.tasks["ending"].exit_code = 7;
  setup.tasks["talking"].out = "this is out\n";
  setup.tasks["talking"].err = "this is err\n";
  setup.is_sdk = true;
  return setup;
}

}  // namespace drover::faulty

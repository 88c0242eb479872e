#include "task/container_task.h"

#include <pthread.h>

#include <algorithm>

#include "drover/log.h"
#include "drover/pause.h"
#include "drover/process.h"
#include "nomad/plugins/driver.pb.h"
#include "task/containers.h"
#include "task/usage.h"

namespace drover::docker {
namespace {

using namespace std::chrono_literals;

constexpr auto kFirstPause = 200ms;
constexpr auto kLongestPause = 10s;
constexpr auto kOutputTime = 5s;  // for what the container wrote last to reach the task's pipes
constexpr auto kKillTime = 30s;   // for the engine to carry out a kill
constexpr auto kSampleTime = 15s;
constexpr int64_t kSecond = 1'000'000'000;
constexpr auto kMemoryTime = 1s;  // for word that memory ran out to come after that of the end
constexpr auto kAskAgain = 100ms;
constexpr int kKilled = 137;  // the exit code after SIGKILL, also of a container whose end nobody saw
constexpr std::chrono::nanoseconds kLongest = std::chrono::hours(24 * 365 * 50);  // a clock's own limit is near

void set_time(google::protobuf::Timestamp& stamp, int64_t ns) {
  stamp.set_seconds(ns / kSecond);
  stamp.set_nanos(static_cast<int32_t>(ns % kSecond));
}

}  // namespace

ContainerTask::ContainerTask(Engine& engine, const driver::TaskConfig& config, Options options)
    : engine_(engine),
      config_(std::make_unique<driver::TaskConfig>(config)),
      options_(std::move(options)),
      memory_(options_.container.pid) {
  if (options_.reads_logs) {
    logs_ = std::make_unique<LogReader>(engine_, LogOrder{.container = id(),
                                                          .has_tty = options_.container.has_tty,
                                                          .stdout_path = config.stdout_path(),
                                                          .stderr_path = config.stderr_path(),
                                                          .position_file = options_.position_file});
  }
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

ContainerTask::~ContainerTask() { let_go(); }

void ContainerTask::let_go() {
  thread_.request_stop();
  if (logs_) logs_->stop();
  if (thread_.joinable()) thread_.join();
  watchers_.tell(unavailable("the driver is stopping"));
}

void ContainerTask::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "docker-wait");
  auto end = wait_end(stop);
  if (!end) return;
  if (*end) (*end)->oom_killed = memory_ran_out(**end, stop);
  // Who is told of the end may close the pipes.
  if (logs_ && !logs_->wait_end(SystemClock().steady() + kOutputTime))
    log::warn("docker", "a container's last output did not come in time", {{"container", id()}});
  if (stop.stop_requested()) return;
  finish(*end);
}

std::optional<Result<Container>> ContainerTask::wait_end(const std::stop_token& stop) {
  std::chrono::nanoseconds pause = kFirstPause;
  while (!stop.stop_requested()) {
    const Status waited = engine_
                              .call({.method = "POST", .target = "/containers/" + percent_encode(id()) + "/wait"},
                                    {SteadyTime::max(), stop})
                              .status();
    if (stop.stop_requested()) break;
    auto now = inspect_container(engine_, id(), Patience::of(Engine::kCallTime, stop));
    if (now && !now->is_running) return now;
    if (now.status().code() == Code::not_found) return now;
    if (!waited.ok() || !now)
      log::debug("docker", "the wait for a container broke off and is begun again",
                 {{"container", id()}, {"error", (waited.ok() ? now.status() : waited).message()}});
    if (!pause_for(pause, stop)) break;
    pause = std::min<std::chrono::nanoseconds>(pause * 2, kLongestPause);
  }
  return std::nullopt;
}

// Killed, and not by this driver: the engine may not have heard yet why.
bool ContainerTask::memory_ran_out(const Container& end, const std::stop_token& stop) {
  if (end.oom_killed || end.exit_code != kKilled || is_told_to_end_) return end.oom_killed;
  const Patience patience = Patience::of(kMemoryTime, stop);
  if (const auto counted = memory_.ran_out(patience)) return *counted;
  do {
    const auto now = inspect_container(engine_, id(), patience);
    if (now && now->oom_killed) return true;
  } while (SystemClock().steady() < patience.deadline && pause_for(kAskAgain, stop));
  return false;
}

void ContainerTask::finish(const Result<Container>& end) {
  driver::ExitResult result;
  int64_t completed = SystemClock().wall_ns();
  if (end) {
    result.set_exit_code(end->exit_code);
    result.set_oom_killed(end->oom_killed);
    if (end->finished_ns > 0) completed = end->finished_ns;
  } else {
    result.set_exit_code(kKilled);
    log::warn("docker", "a container was removed while its task ran", {{"task", config_->id()}, {"container", id()}});
  }
  {
    const MutexLock lock(mutex_);
    result_ = std::make_unique<driver::ExitResult>(result);
    completed_ns_ = std::max(completed, options_.handle.started_ns);
    exited_.notify_all();
  }
  ended_.request_stop();
  watchers_.tell(result);
}

bool ContainerTask::is_running() const {
  const MutexLock lock(mutex_);
  return !result_;
}

bool ContainerTask::wait_exited(SteadyTime deadline) {
  MutexLock lock(mutex_);
  return exited_.wait_until(lock, deadline, [this]() DROVER_REQUIRES(mutex_) { return result_ != nullptr; });
}

Status ContainerTask::signal(const std::string& name) {
  if (!is_running()) return failed_precondition("task " + config_->id() + " has ended");
  return kill_container(engine_, id(), name);
}

Status ContainerTask::stop(std::chrono::nanoseconds timeout, const std::string& name) {
  const SteadyTime kill_at = SystemClock().steady() + std::clamp(timeout, 0ns, kLongest);
  const auto is_over = [](const Status& status) {
    return status.ok() || status.code() == Code::failed_precondition || status.code() == Code::not_found;
  };
  if (!is_running()) return ok_status();
  is_told_to_end_ = true;
  if (timeout > 0ns) {
    const std::string& own = options_.container.stop_signal;
    const Status sent = kill_container(engine_, id(), !name.empty() ? name : own.empty() ? "SIGTERM" : own);
    if (!is_over(sent)) return sent.with_context("Failed to signal container \"" + id() + "\" while killing");
    if (wait_exited(kill_at)) return ok_status();
  }
  const Status killed = kill_container(engine_, id(), "SIGKILL");
  if (!is_over(killed)) return killed.with_context("Failed to stop container " + id());
  if (wait_exited(SystemClock().steady() + kKillTime)) return ok_status();
  return deadline_exceeded("Failed to stop container " + id() + ": the engine was told to kill it and it goes on");
}

driver::InspectTaskResponse ContainerTask::inspect() const {
  driver::InspectTaskResponse response;
  driver::TaskStatus& task = *response.mutable_task();
  task.set_id(config_->id());
  task.set_name(config_->name());
  set_time(*task.mutable_started_at(), options_.handle.started_ns);
  (*response.mutable_driver()->mutable_attributes())["container_id"] = id();
  *response.mutable_network_override() = network_of(options_.container, options_.handle, false);
  const MutexLock lock(mutex_);
  task.set_state(result_ ? driver::EXITED : driver::RUNNING);
  set_time(*task.mutable_completed_at(), completed_ns_);
  if (result_) *task.mutable_result() = *result_;
  return response;
}

Result<driver::TaskStats> ContainerTask::stats() {
  if (!is_running()) return failed_precondition("task " + config_->id() + " has ended");
  DROVER_TRY(const std::string answer,
             engine_.call({.target = "/containers/" + percent_encode(id()) + "/stats?stream=false&one-shot=true"},
                          Patience::of(kSampleTime, ended())));
  DROVER_TRY(const Sample sample, read_sample(answer));
  double percent = 0;
  {
    const MutexLock lock(mutex_);
    const SteadyTime now = SystemClock().steady();
    percent = cpu_percent(sample_, sample, now - sampled_);
    sample_ = sample;
    sampled_ = now;
  }
  return stats_of(config_->id(), sample, percent, mhz_per_core(), SystemClock().wall_ns());
}

driver::NetworkOverride network_of(const Container& container, const ContainerHandle& handle, bool advertises_ipv6) {
  driver::NetworkOverride out;
  const bool is_bridge = container.network == "bridge" || container.network == "podman";
  out.set_addr(advertises_ipv6 ? container.ipv6 : container.ip);
  out.set_auto_advertise(!out.addr().empty() && (advertises_ipv6 || !is_bridge));
  for (const auto& [label, port] : handle.port_map) (*out.mutable_port_map())[label] = port;
  return out;
}

}  // namespace drover::docker

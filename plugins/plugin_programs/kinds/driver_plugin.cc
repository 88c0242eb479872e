#include "kinds/driver_plugin.h"

#include <pthread.h>

#include <future>

#include "drover/hclspec.h"
#include "drover/log.h"
#include "stream_pauses.h"

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;
using Again = ProgramHost::Again;

constexpr auto kExitTime = 2s;      // from the end of a task until its driver says how it ended
constexpr auto kNetworkTime = 60s;  // a network may need an address from somewhere
constexpr auto kRecoverTime = 60s;  // for all tasks of a new process together

#define DROVER_DRIVER_METHOD(NAME) "/hashicorp.nomad.plugins.drivers.proto.Driver/" NAME

Status optional(Status status) { return status.code() == Code::unimplemented ? ok_status() : std::move(status); }

}  // namespace

void DriverPlugin::changed() const {
  if (options_.changed) options_.changed();
}

// ---- the life of a process [plugin] ----

Status DriverPlugin::prove(Channel& channel) {
  DROVER_RETURN_IF_ERROR(ask_facts(channel).status());
  const auto prints = channel.open(DROVER_DRIVER_METHOD("Fingerprint"), serialize(driver::FingerprintRequest()),
                                   Messages::Keep::newest);
  const auto first = prints->newest(program_.now() + kCallTime);
  if (!first) return unavailable("it gives no fingerprint: " + prints->status().message());
  DROVER_TRY(const auto print, parse_message<driver::FingerprintResponse>(*first));
  const MutexLock lock(mutex_);
  const bool was_healthy = fingerprint_ && fingerprint_->health() == driver::FingerprintResponse::HEALTHY;
  if (!was_healthy || print.health() == driver::FingerprintResponse::HEALTHY) return ok_status();
  return failed_precondition("it is not healthy here, which the version that runs is: " +
                             (print.err().empty() ? print.health_description() : print.err()));
}

Status DriverPlugin::prepare(const ChannelPtr& channel) {
  DROVER_RETURN_IF_ERROR(read_facts(*channel));
  DROVER_RETURN_IF_ERROR(recover_all(*channel, false).status());
  follow_fingerprint(channel);
  events_reader_.start(channel, program_.file_name());
  return ok_status();
}

Result<size_t> DriverPlugin::take_over(const ChannelPtr& channel) {
  DROVER_RETURN_IF_ERROR(read_facts(*channel));
  DROVER_TRY(const size_t tasks, recover_all(*channel, true));
  follow_fingerprint(channel);
  events_reader_.start(channel, program_.file_name());
  return tasks;
}

Result<DriverPlugin::Facts> DriverPlugin::ask_facts(Channel& channel) const {
  const auto deadline = [this] { return program_.now() + kCallTime; };
  DROVER_RETURN_IF_ERROR(optional(
      call<driver::InitResponse>(channel, DROVER_DRIVER_METHOD("Init"), driver::InitRequest(), deadline()).status()));
  Facts facts;
  DROVER_TRY(facts.schema, call<driver::TaskConfigSchemaResponse>(channel, DROVER_DRIVER_METHOD("TaskConfigSchema"),
                                                                  driver::TaskConfigSchemaRequest(), deadline()));
  if (facts.schema.has_spec()) DROVER_RETURN_IF_ERROR(hclspec::check(facts.schema.spec()));
  DROVER_TRY(facts.capabilities, call<driver::CapabilitiesResponse>(channel, DROVER_DRIVER_METHOD("Capabilities"),
                                                                    driver::CapabilitiesRequest(), deadline()));
  return facts;
}

Status DriverPlugin::read_facts(Channel& channel) {
  DROVER_TRY(Facts facts, ask_facts(channel));
  const MutexLock lock(mutex_);
  has_task_schema_ = facts.schema.has_spec();
  task_schema_ = std::move(*facts.schema.mutable_spec());
  capabilities_ = std::move(*facts.capabilities.mutable_capabilities());
  return ok_status();
}

Result<size_t> DriverPlugin::recover_all(Channel& channel, bool must_find) {
  std::map<std::string, driver::TaskHandle, std::less<>> tasks;
  std::map<std::string, Status, std::less<>> lost_before;
  std::set<std::string, std::less<>> doomed;
  {
    const MutexLock lock(mutex_);
    tasks = tasks_;
    lost_before = unrecovered_;
    doomed = doomed_;
  }
  const SteadyTime end = program_.now() + kRecoverTime;
  for (const auto& [id, handle] : tasks) {
    driver::RecoverTaskRequest request;
    request.set_task_id(id);
    *request.mutable_handle() = handle;
    const Status status = call<driver::RecoverTaskResponse>(channel, DROVER_DRIVER_METHOD("RecoverTask"), request,
                                                            std::min(end, program_.now() + kCallTime))
                              .status();
    // A process that has gone, or is stuck, has not said anything of its tasks: the next one is asked.
    const bool is_out_of_time = status.code() == Code::deadline_exceeded && program_.now() >= end;
    if (!must_find && (status.code() == Code::unavailable || is_out_of_time))
      return status.with_context("give it its tasks again");
    if (doomed.contains(id)) {
      if (status.ok()) destroy_doomed(channel, id, end);
      forget(id);
      continue;
    }
    if (!status.ok()) {
      log::warn("plugin", "a task was not recovered",
                {{"plugin", program_.file_name()}, {"task", id}, {"error", status.message()}});
      // This version need not find a task that the version before did not have either.
      if (must_find && !lost_before.contains(id)) return status.with_context("task " + id + " was not recovered");
    }
    const MutexLock lock(mutex_);
    if (status.ok()) {
      unrecovered_.erase(id);
    } else {
      unrecovered_[id] = status;
    }
  }
  return tasks.size();
}

// The agent was told that it is gone, while no process was there to end it.
void DriverPlugin::destroy_doomed(Channel& channel, const std::string& id, SteadyTime end) {
  driver::DestroyTaskRequest request;
  request.set_task_id(id);
  request.set_force(true);
  const Status status =
      call<driver::DestroyTaskResponse>(channel, DROVER_DRIVER_METHOD("DestroyTask"), request, end).status();
  if (!status.ok() && status.code() != Code::not_found)
    log::warn("plugin", "a task that was given up is not destroyed",
              {{"plugin", program_.file_name()}, {"task", id}, {"error", status.message()}});
}

void DriverPlugin::follow_fingerprint(const ChannelPtr& channel) {
  prints_reader_ = std::jthread([this, channel](const std::stop_token& stop) {
    ::pthread_setname_np(::pthread_self(), "plugin-print");
    for (StreamPauses pauses; !stop.stop_requested(); pauses.wait(stop)) read_fingerprints(*channel, stop);
  });
}

void DriverPlugin::read_fingerprints(Channel& channel, const std::stop_token& stop) {
  const auto prints = channel.open(DROVER_DRIVER_METHOD("Fingerprint"), serialize(driver::FingerprintRequest()));
  const std::stop_callback cancel(stop, [&prints] { prints->cancel(); });
  while (auto bytes = prints->next()) {
    auto print = parse_message<driver::FingerprintResponse>(*bytes);
    if (!print) {
      log::warn("plugin", "a fingerprint cannot be read", {{"plugin", program_.file_name()}});
      continue;
    }
    {
      const MutexLock lock(mutex_);
      fingerprint_ = *std::move(print);
    }
    changed();
  }
  const Status status = prints->status();
  if (stop.stop_requested() || status.code() == Code::cancelled || program_.is_handing_over()) return;
  {
    const MutexLock lock(mutex_);
    fingerprint_.emplace();
    fingerprint_->set_health(driver::FingerprintResponse::UNHEALTHY);
    fingerprint_->set_err("failed to fingerprint driver: " +
                          (status.ok() ? "the plugin ended the stream" : status.message()));
  }
  changed();
}

void DriverPlugin::lost(bool is_handed_over) {
  events_reader_.stop();
  prints_reader_.request_stop();
  if (prints_reader_.joinable()) prints_reader_.join();
  std::map<std::string, std::shared_ptr<Messages>, std::less<>> stats;  // end outside the lock
  {
    const MutexLock lock(mutex_);
    stats.swap(stats_);
    if (is_handed_over) return;
    fingerprint_.reset();
  }
  changed();
}

// ---- calls [any] ----

std::vector<std::string> DriverPlugin::tasks() const {
  std::vector<std::string> ids;
  const MutexLock lock(mutex_);
  for (const auto& [id, handle] : tasks_) ids.push_back(id);
  return ids;
}

driver::DriverCapabilities DriverPlugin::capabilities() const {
  const MutexLock lock(mutex_);
  return capabilities_;
}

driver::FingerprintResponse DriverPlugin::fingerprint() {
  const std::string state = program_.describe();
  const MutexLock lock(mutex_);
  if (fingerprint_) return *fingerprint_;
  driver::FingerprintResponse print;
  print.set_health(driver::FingerprintResponse::UNHEALTHY);
  print.set_health_description(state);
  return print;
}

Result<std::string> DriverPlugin::encode_config(std::string_view config_json) {
  DROVER_RETURN_IF_ERROR(program_.channel(program_.now() + kRestartTime).status());
  DROVER_TRY(const hcl::Value config, hcl::from_json(config_json));
  const MutexLock lock(mutex_);
  if (!has_task_schema_) {
    if (config.is_object() && !config.object().empty())
      return invalid_argument("failed to parse config: the driver takes no configuration");
    return hclspec::to_msgpack(hcl::Value(hcl::Object()));
  }
  auto decoded = hclspec::decode(task_schema_, config);
  if (!decoded) return invalid_argument("failed to parse config: " + decoded.status().message());
  return hclspec::to_msgpack(*decoded);
}

Result<driver::StartTaskResponse> DriverPlugin::start_task(const driver::TaskConfig& config) {
  driver::StartTaskRequest request;
  *request.mutable_task() = config;
  // Nomad's executor looks for it there.
  if (const std::string parent = options_.cgroups->told_parent(); !parent.empty())
    request.mutable_task()->mutable_env()->try_emplace("NOMAD_PARENT_CGROUP", parent);
  driver::LinuxResources& linux_resources = *request.mutable_task()->mutable_resources()->mutable_linux_resources();
  if (linux_resources.cpuset_cgroup().empty())
    linux_resources.set_cpuset_cgroup(options_.cgroups->told_path(config.alloc_id(), config.name()));
  if (Status status = options_.cgroups->create(config.alloc_id(), config.name()); !status.ok())
    log::warn("plugin", "a task has no control group", {{"task", config.id()}, {"error", status.message()}});
  if (Status status = options_.pipes->hold(config.id(), {config.stdout_path(), config.stderr_path()}); !status.ok())
    log::warn("plugin", "a task will not outlive the agent", {{"task", config.id()}, {"error", status.message()}});
  auto started = program_.ask<driver::StartTaskResponse>(DROVER_DRIVER_METHOD("StartTask"), request, Again::once, {});
  if (!started) {
    options_.pipes->release(config.id());
    // Without its program nothing was tried: the restart policy may try again.
    return started.status().code() == Code::unavailable ? failed_precondition(started.status().message())
                                                        : started.status();
  }
  const MutexLock lock(mutex_);
  tasks_[config.id()] = started->handle();
  return started;
}

Status DriverPlugin::recover_task(const driver::TaskHandle& handle) {
  driver::RecoverTaskRequest request;
  request.set_task_id(handle.config().id());
  *request.mutable_handle() = handle;
  DROVER_RETURN_IF_ERROR(
      program_.ask<driver::RecoverTaskResponse>(DROVER_DRIVER_METHOD("RecoverTask"), request, Again::once, kRecoverTime)
          .status());
  const MutexLock lock(mutex_);
  tasks_[handle.config().id()] = handle;
  unrecovered_.erase(handle.config().id());
  return ok_status();
}

Result<driver::ExitResult> DriverPlugin::wait_task(std::string_view id, std::stop_token stop) {
  {
    const MutexLock lock(mutex_);
    if (const auto known = exits_.find(id); known != exits_.end()) return known->second;
  }
  return ask_exit(id, stop);
}

Result<driver::ExitResult> DriverPlugin::ask_exit(std::string_view id, const std::stop_token& stop) {
  driver::WaitTaskRequest request;
  request.set_task_id(std::string(id));
  auto answer =
      program_.ask<driver::WaitTaskResponse>(DROVER_DRIVER_METHOD("WaitTask"), request, Again::always, {}, stop);
  if (stop.stop_requested() && !answer) return cancelled("nobody waits any more");
  {
    const MutexLock lock(mutex_);
    if (auto found = unrecovered_.find(id); !answer && found != unrecovered_.end())
      return found->second.with_context("the plugin was restarted and did not find the task again");
  }
  if (answer.ok() || answer.status().code() == Code::not_found) options_.pipes->release(id);
  DROVER_RETURN_IF_ERROR(answer.status());
  if (!answer->err().empty()) return Status(Code::unknown, answer->err());
  return answer->result();
}

// Drivers built on Nomad's executor know how a task ended only as long as it runs: after StopTask they answer that the
// executor has gone. So the question is asked before it.
Status DriverPlugin::stop_task(std::string_view id, std::chrono::nanoseconds timeout, std::string_view signal) {
  std::promise<Result<driver::ExitResult>> told;
  std::future<Result<driver::ExitResult>> exit = told.get_future();
  std::jthread asking([&](const std::stop_token& stop) {
    ::pthread_setname_np(::pthread_self(), "exit");
    told.set_value(ask_exit(id, stop));
  });
  driver::StopTaskRequest request;
  request.set_task_id(std::string(id));
  *request.mutable_timeout() = duration_of(timeout);
  request.set_signal(std::string(signal));
  const Status stopped =
      program_.ask<driver::StopTaskResponse>(DROVER_DRIVER_METHOD("StopTask"), request, Again::once, {}).status();
  if (stopped.ok()) (void)exit.wait_for(kExitTime);
  asking.request_stop();
  if (const auto result = exit.get(); result) {
    const MutexLock lock(mutex_);
    exits_[std::string(id)] = *result;
  }
  return stopped;
}

Status DriverPlugin::destroy_task(std::string_view id, bool force) {
  driver::DestroyTaskRequest request;
  request.set_task_id(std::string(id));
  request.set_force(force);
  const Status status =
      program_.ask<driver::DestroyTaskResponse>(DROVER_DRIVER_METHOD("DestroyTask"), request, Again::once, {}).status();
  if (status.code() == Code::unavailable) {
    // The caller forgets it now; the next process ends it.
    const MutexLock lock(mutex_);
    if (tasks_.contains(id)) doomed_.emplace(id);
  }
  if (!status.ok() && status.code() != Code::not_found) return status;
  forget(id);
  return status;
}

void DriverPlugin::forget(std::string_view id) {
  options_.pipes->release(id);
  std::shared_ptr<Messages> stats;  // ends outside the lock
  const MutexLock lock(mutex_);
  if (auto found = stats_.find(id); found != stats_.end()) {
    stats = std::move(found->second);
    stats_.erase(found);
  }
  exits_.erase(exits_.lower_bound(id), exits_.upper_bound(id));
  if (auto found = tasks_.find(id); found != tasks_.end()) {
    options_.cgroups->remove(found->second.config().alloc_id(), found->second.config().name());
    tasks_.erase(found);
  }
  if (auto found = unrecovered_.find(id); found != unrecovered_.end()) unrecovered_.erase(found);
  if (auto found = doomed_.find(id); found != doomed_.end()) doomed_.erase(found);
}

Result<driver::InspectTaskResponse> DriverPlugin::inspect_task(std::string_view id) {
  driver::InspectTaskRequest request;
  request.set_task_id(std::string(id));
  return program_.ask<driver::InspectTaskResponse>(DROVER_DRIVER_METHOD("InspectTask"), request, Again::once,
                                                   kCallTime);
}

// The plugin samples at its own pace into a stream; what is asked for is the newest.
Result<driver::TaskStats> DriverPlugin::task_stats(std::string_view id) {
  DROVER_TRY(const ChannelPtr channel, program_.channel(program_.now()));
  std::shared_ptr<Messages> messages;
  {
    const MutexLock lock(mutex_);
    std::shared_ptr<Messages>& open = stats_[std::string(id)];
    if (!open) {
      driver::TaskStatsRequest request;
      request.set_task_id(std::string(id));
      *request.mutable_collection_interval() = duration_of(1s);
      open = channel->open(DROVER_DRIVER_METHOD("TaskStats"), serialize(request), Messages::Keep::newest);
    }
    messages = open;
  }
  const std::optional<std::string> bytes = messages->newest(program_.now() + kCallTime);
  if (!bytes) {
    const Status status = messages->status();
    const MutexLock lock(mutex_);
    if (auto found = stats_.find(id); found != stats_.end() && found->second == messages) stats_.erase(found);
    return status.ok() ? unavailable("the driver has no statistics of the task") : status;
  }
  DROVER_TRY(auto response, parse_message<driver::TaskStatsResponse>(*bytes));
  return response.stats();
}

Status DriverPlugin::signal_task(std::string_view id, std::string_view signal) {
  driver::SignalTaskRequest request;
  request.set_task_id(std::string(id));
  request.set_signal(std::string(signal));
  return program_.ask<driver::SignalTaskResponse>(DROVER_DRIVER_METHOD("SignalTask"), request, Again::never, kCallTime)
      .status();
}

// Both ends speak whenever they like: what the caller says goes over on a thread of its own.
Status DriverPlugin::exec_task_streaming(const ExecCommand& command, ExecStream& stream) {
  DROVER_TRY(const ChannelPtr channel, program_.channel(program_.now() + kRestartTime, stream.stop()));
  const auto dialogue = channel->talk(DROVER_DRIVER_METHOD("ExecTaskStreaming"));
  driver::ExecTaskStreamingRequest first;
  first.mutable_setup()->set_task_id(command.task_id);
  *first.mutable_setup()->mutable_command() = {command.command.begin(), command.command.end()};
  first.mutable_setup()->set_tty(command.tty);
  (void)dialogue->say(serialize(first));
  const std::stop_callback gone(stream.stop(), [&dialogue] { dialogue->cancel(); });
  const std::jthread input([&](const std::stop_token& stop) {
    ::pthread_setname_np(::pthread_self(), "exec-input");
    while (const auto request = stream.receive(stop)) {
      if (!dialogue->say(serialize(*request))) return;
    }
    if (!stop.stop_requested()) dialogue->finish();
  });
  while (const auto bytes = dialogue->next()) {
    const auto response = parse_message<driver::ExecTaskStreamingResponse>(*bytes);
    if (response && stream.send(*response)) continue;
    dialogue->cancel();
    return response ? cancelled("the caller has gone") : response.status();
  }
  if (stream.stop().stop_requested()) return cancelled("the caller has gone");
  const Status status = dialogue->status();
  return status.code() == Code::unavailable ? unavailable("the plugin " + program_.file_name() +
                                                          " has gone, and the command with it: " + status.message())
                                            : status;
}

Result<driver::ExecTaskResponse> DriverPlugin::exec_task(const ExecCommand& command, std::chrono::nanoseconds timeout) {
  driver::ExecTaskRequest request;
  request.set_task_id(command.task_id);
  *request.mutable_command() = {command.command.begin(), command.command.end()};
  *request.mutable_timeout() = duration_of(timeout);
  return program_.ask<driver::ExecTaskResponse>(DROVER_DRIVER_METHOD("ExecTask"), request, Again::never,
                                                timeout + kCallTime);
}

Result<driver::CreateNetworkResponse> DriverPlugin::create_network(const driver::CreateNetworkRequest& request) {
  return program_.ask<driver::CreateNetworkResponse>(DROVER_DRIVER_METHOD("CreateNetwork"), request, Again::once,
                                                     kNetworkTime);
}

Status DriverPlugin::destroy_network(const driver::DestroyNetworkRequest& request) {
  return program_
      .ask<driver::DestroyNetworkResponse>(DROVER_DRIVER_METHOD("DestroyNetwork"), request, Again::once, kNetworkTime)
      .status();
}

}  // namespace drover::plugin_programs

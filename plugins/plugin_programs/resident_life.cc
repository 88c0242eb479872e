#include "resident_life.h"

#include "drover/log.h"
#include "drover/plugin_programs/resident.h"

namespace drover::plugin_programs {

ResidentLife::ResidentLife(Options options)
    : options_(std::move(options)),
      calls_{.plugin = options_.name, .grants = options_.grants, .caller = options_.caller},
      host_(endpoint_of(calls_)) {}

Status ResidentLife::restart() {
  return failed_precondition(
      "plugin " + options_.name +
      " is inside the agent, and code is never unloaded: restart the agent; tasks go on meanwhile");
}

Status ResidentLife::open() {
  drover_endpoint plugin{};
  if (const int32_t code = options_.entry(&host_, &plugin); code != 0)
    return failed_precondition("its entry refuses to serve here: " + std::string(to_string(static_cast<Code>(code))));
  if (plugin.size < sizeof(drover_endpoint) || plugin.open == nullptr || plugin.release == nullptr)
    return failed_precondition("its entry returned an endpoint without functions");
  const MutexLock lock(mutex_);
  channel_ = connect(plugin);
  return ok_status();
}

void ResidentLife::start() {
  Status ready = open();
  std::shared_ptr<ResidentChannel> channel;
  {
    const MutexLock lock(mutex_);
    channel = channel_;
  }
  if (ready.ok()) ready = options_.prepare(channel);
  if (ready.ok()) {
    log::info("plugin", "plugin answers inside the agent", {{"plugin", options_.name}});
  } else {
    log::warn("plugin", "plugin inside the agent is not used",
              {{"plugin", options_.name}, {"reason", ready.message()}});
  }
  const MutexLock lock(mutex_);
  state_ = ready.ok() ? Supervision::State::running : Supervision::State::parked;
  problem_ = ready.message();
  since_ = SystemClock().wall_ns();
}

void ResidentLife::stop() {
  std::shared_ptr<ResidentChannel> channel;
  {
    const MutexLock lock(mutex_);
    channel = std::exchange(channel_, nullptr);
    state_ = Supervision::State::stopped;
  }
  if (!channel) return;
  options_.lost();
  channel->release();
}

Result<std::shared_ptr<Channel>> ResidentLife::channel(const std::shared_ptr<Channel>& former, SteadyTime,
                                                       const std::stop_token&) const {
  const MutexLock lock(mutex_);
  if (state_ == Supervision::State::running && channel_ != former) return std::shared_ptr<Channel>(channel_);
  return unavailable("the plugin " + options_.name + " inside the agent is " + std::string(to_string(state_)) +
                     (problem_.empty() ? "" : ": " + problem_));
}

bool ResidentLife::wait_gone(const std::shared_ptr<Channel>& channel, SteadyTime) const {
  const MutexLock lock(mutex_);
  return channel_ != channel;
}

PluginLife::View ResidentLife::view() const {
  const MutexLock lock(mutex_);
  return {.state = state_, .problem = problem_, .crashes = {}, .since = since_};
}

}  // namespace drover::plugin_programs

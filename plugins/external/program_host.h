// One plugin, whatever kind it is: its life as a process of its own or inside the agent, what it says of itself, its
// configuration, and calls to it. What its kind adds is a Role: driver_plugin.h and device_program.h.
//
//   process ready ──identify──▶ which role ──configure──▶ Role::prepare ──▶ calls … ──process ends──▶ Role::lost
//
// Any thread may call, but for what is marked.
#pragma once

#include <google/protobuf/duration.pb.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "drover/external/channel.h"
#include "drover/hcl_value.h"
#include "drover/messages.h"
#include "drover/methods.h"
#include "drover/metrics.h"

#include "drover/stable_plugin.h"
#include "plugin_life.h"

#include "nomad/plugins/base.pb.h"

namespace drover::external {

inline constexpr auto kCallTime = std::chrono::seconds(10);     // for what a plugin answers at once
inline constexpr auto kRestartTime = std::chrono::seconds(15);  // how long a call waits for one that is being restarted

using ChannelPtr = std::shared_ptr<Channel>;

google::protobuf::Duration duration_of(std::chrono::nanoseconds time);

// One call of a method, with its messages.
template <typename Answer>
Result<Answer> call(Channel& channel, const char* method, const google::protobuf::Message& request,
                    std::optional<SteadyTime> deadline, const std::stop_token& stop = {}) {
  DROVER_TRY(std::string bytes, channel.call(method, serialize(request), deadline, stop));
  DROVER_TRY(Answer answer, parse_message<Answer>(bytes));
  return answer;
}

// What a kind of plugin does with each process of it. [plugin]
class Role {
 public:
  virtual ~Role() = default;
  // The process is configured. On an error it is ended and counts as crashed.
  virtual Status prepare(const ChannelPtr& channel) = 0;
  virtual void lost() = 0;
};

struct ProgramHostOptions {
  std::string file;                         // absolute
  StablePlugin::Entry* resident = nullptr;  // of a plugin inside the agent; `file` is then its name
  std::vector<std::string> arguments{};
  std::optional<hcl::Value> config{};  // the operator's, an object; nothing when none was written
  std::map<std::string, std::string> environment{};
  bool asks_for_tls = false;                    // AutoMTLS
  uint32_t min_port = 20000, max_port = 32000;  // of the dynamic ports of this client
  SupervisionTimes times{};
  std::function<void(pid_t pid, uint64_t start_time)> launched{};
  // Of the kind that the plugin says it is; null: this agent has no use for it. The role outlives the host.
  std::function<Role*(hashicorp::nomad::plugins::base::proto::PluginType)> role;
};

class ProgramHost {
 public:
  ProgramHost(ProgramHostOptions options, Clock& clock, Metrics& metrics);
  ~ProgramHost() { stop(); }

  void start() { life_->start(); }
  void stop() { life_->stop(); }
  bool wait_first(SteadyTime deadline) const { return life_->wait_first(deadline); }
  PluginLife::View view() const { return life_->view(); }
  // "the plugin FILE is backoff: why".
  std::string describe() const;

  // What the plugin has said of itself; empty before. It never changes.
  hashicorp::nomad::plugins::base::proto::PluginInfoResponse info() const;
  const std::string& file_name() const { return file_name_; }
  SteadyTime now() const { return clock_.steady(); }

  // The running process, or the one that is being started. Errors: unavailable; cancelled.
  Result<ChannelPtr> channel(SteadyTime deadline, const std::stop_token& stop = {}) const {
    return life_->channel(nullptr, deadline, stop);
  }

  // One call on the running process. When that goes away under it: as `again` says, on the next one.
  enum class Again : uint8_t { never, once };
  template <typename Answer>
  Result<Answer> ask(const char* method, const google::protobuf::Message& request, Again again,
                     std::optional<std::chrono::nanoseconds> within, const std::stop_token& stop = {}) const {
    DROVER_TRY(std::string bytes, ask_bytes(method, serialize(request), again, within, stop));
    DROVER_TRY(Answer answer, parse_message<Answer>(bytes));
    return answer;
  }

 private:
  std::unique_ptr<PluginLife> make_life(Metrics& metrics);
  Status prepare(const ChannelPtr& channel);
  Status identify(Channel& channel);
  Status set_config(Channel& channel);
  Result<std::string> ask_bytes(const char* method, const std::string& request, Again again,
                                std::optional<std::chrono::nanoseconds> within, const std::stop_token& stop) const;

  const ProgramHostOptions options_;
  const std::string file_name_;
  Clock& clock_;
  mutable std::mutex mutex_;
  hashicorp::nomad::plugins::base::proto::PluginInfoResponse info_;  // guarded by mutex_
  Role* role_ = nullptr;                                             // [plugin]
  std::unique_ptr<PluginLife> life_;                                 // last: its threads use the rest
};

}  // namespace drover::external

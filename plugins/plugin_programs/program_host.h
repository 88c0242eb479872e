// One plugin, whatever kind it is: its life as a process of its own or inside the agent, what it says of itself, its
// configuration, and calls to it. A Role adds what its kind does (kinds/).
//
//   process ready ──identify──▶ which role ──configure──▶ Role::prepare ──▶ calls … ──process ends──▶ Role::lost
//
// One of its versions is current. Another one may run beside it and be proven (Role::prove), and become the current one
// by taking over (upgrade.h says how, handover.cc does it); calls wait meanwhile.
//
// Threads: "plugin", one for each version, of its supervisor; "plugin-upgrade", while there is an upgrade. Any thread
// may call, but for what is marked.
#pragma once

#include <google/protobuf/duration.pb.h>

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "drover/cgroup.h"
#include "drover/messages.h"
#include "drover/methods.h"
#include "drover/metrics.h"
#include "drover/mutex.h"
#include "drover/plugin_kind.h"
#include "drover/plugin_programs/channel.h"
#include "drover/stable_plugin.h"
#include "grants.h"
#include "plugin_cgroup.h"
#include "plugin_file.h"
#include "plugin_life.h"
#include "settings.h"
#include "supervisor.h"
#include "upgrade.h"

#include "nomad/plugins/base.pb.h"

namespace drover::plugin_programs {

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

// The work of a kind of plugin with each process of it. One call at a time, but for tasks().
class Role {
 public:
  virtual ~Role() = default;
  // The tasks that the plugin has, by identifier. [any]
  virtual std::vector<std::string> tasks() const { return {}; }
  // Checks that a process not yet in use answers what it will be asked, and is as well as the one that runs.
  virtual Status prove(Channel& channel) = 0;
  // The process is configured. On an error it is ended and counts as crashed.
  virtual Status prepare(const ChannelPtr& channel) = 0;
  // As prepare, for a process that has been proven and takes over from another version, which has been ended: it must
  // find every task. How many it was given.
  virtual Result<size_t> take_over(const ChannelPtr& channel) = 0;
  // `is_handed_over`: another process takes over at once; nobody need know.
  virtual void lost(bool is_handed_over) = 0;
};

struct ProgramHostOptions {
  std::string file;                         // absolute
  StablePlugin::Entry* resident = nullptr;  // of a plugin inside the agent; `file` is then its name
  Caller* caller = nullptr;                 // for its calls
  PluginSettings settings{};
  std::map<std::string, std::string> environment{};
  CgroupLayout cgroups{};
  std::string cgroup{};                         // the name of its control group
  uint32_t min_port = 20000, max_port = 32000;  // of the dynamic ports of this client
  SupervisionTimes times{};
  std::function<void(pid_t pid, uint64_t start_time)> launched{};
  std::function<void(pid_t pid)> collected{};
  // Makes the role of the kind that the plugin says it is, or gives the one that it made: the kind never changes. The
  // role outlives the host.
  std::function<Role*(const PluginKind& kind)> role;
};

// The last upgrade, or the one that goes on.
struct UpgradeReport {
  Upgrade::State state = Upgrade::State::idle;
  std::string reason{};  // why it is not upgraded
  std::string file{};
  std::string from_version{}, to_version{};
  size_t tasks = 0;
  std::chrono::nanoseconds pause{};  // for which calls waited
  int64_t at = 0;                    // nanoseconds since 1970
};

class ProgramHost {
 public:
  ProgramHost(ProgramHostOptions options, Clock& clock, Metrics& metrics);
  ~ProgramHost();

  void start() { current()->life->start(); }
  void stop();
  // Errors: failed_precondition for one inside the agent, and while an upgrade goes on.
  Status restart();
  // Begins to hand over to the version in `file` (absolute), which then takes the place of the plugin's own file;
  // empty: to what lies there now. Errors: failed_precondition, saying what to do; permission_denied for a file from
  // elsewhere that is not pinned; invalid_argument; unavailable while the agent stops.
  Status begin_upgrade(const std::string& file);
  // True when the file at its path is another than the one that runs. Reads it.
  bool has_new_file() const;

  bool wait_first(SteadyTime deadline) const { return current()->life->wait_first(deadline); }
  PluginLife::View view() const { return current()->life->view(); }
  UpgradeReport upgrade() const;
  bool is_handing_over() const;
  // Calls that are not answered yet, "StartTask 3s"; at most ten, and how many more.
  std::vector<std::string> calls() const;
  uint64_t garbled_answers() const { return garbled_; }
  // True when it does not run because of its `config`.
  bool is_config_refused() const;
  const ProgramHostOptions& options() const { return options_; }
  Grants::Counts grants() const { return grants_->counts(); }
  PluginCgroup::Use group_use() const { return group_.use(); }
  // "the plugin FILE is backoff: why".
  std::string describe() const;

  // The current version's description of itself; empty before. Name and kind never change.
  hashicorp::nomad::plugins::base::proto::PluginInfoResponse info() const;
  const std::string& file_name() const { return file_name_; }
  SteadyTime now() const { return clock_.steady(); }

  // The running process, or the one that is being started. Errors: unavailable; cancelled.
  Result<ChannelPtr> channel(SteadyTime deadline, const std::stop_token& stop = {}) const {
    return board(nullptr, nullptr, deadline, stop);
  }

  // One call on the running process, for which it waits up to `patience` (who can be called off: as long as it takes).
  // When that goes away under it: as `again` says, on the next one. `always`: what a process answers that is being
  // ended is no answer.
  enum class Again : uint8_t { never, once, always };
  template <typename Answer>
  Result<Answer> ask(const char* method, const google::protobuf::Message& request, Again again,
                     std::optional<std::chrono::nanoseconds> within, const std::stop_token& stop = {},
                     std::optional<std::chrono::nanoseconds> patience = {}) const {
    DROVER_TRY(std::string bytes, ask_bytes(method, serialize(request), again, within, stop, patience));
    auto answer = parse_message<Answer>(bytes);
    if (!answer) {
      ++garbled_;
      return internal_error("plugin " + file_name_ + ": " + method + ": the answer is " + answer.status().message());
    }
    return answer;
  }

 private:
  using Info = hashicorp::nomad::plugins::base::proto::PluginInfoResponse;
  struct Version {
    std::string path;
    std::shared_ptr<const PluginFile> file{};  // once it was opened; under mutex_, as the next two
    Info info{};
    bool is_config_refused = false;
    std::unique_ptr<PluginLife> life{};  // last: its threads use the rest
  };
  using VersionPtr = std::shared_ptr<Version>;
  // A call on its way, from the first moment to the last.
  struct Flight {
    const char* method;
    SteadyTime began;
    bool must_end;         // it cannot be repeated
    bool is_sent = false;  // to a process
  };
  class Boarding;

  VersionPtr make_version(const std::string& path);
  VersionPtr current() const;
  Result<Launch> open(Version& version);
  Status may_run(const std::string& file) const;
  Status prepare(const ChannelPtr& channel, Version& version);
  Result<Info> identify(Channel& channel) const;
  Status set_config(Channel& channel, Version& version);
  // As Channel, of the version that is or will be current; `flight` is sent from then on.
  Result<ChannelPtr> board(Flight* flight, const ChannelPtr& former, SteadyTime deadline,
                           const std::stop_token& stop) const;
  Result<std::string> ask_bytes(const char* method, const std::string& request, Again again,
                                std::optional<std::chrono::nanoseconds> within, const std::stop_token& stop,
                                std::optional<std::chrono::nanoseconds> longest_wait) const;

  // handover.cc [plugin-upgrade]
  void run_upgrade(const std::string& file);
  Status carry_out(Upgrade::Action action);
  Status prove();
  Status drain();
  Status recover();
  Status go_back();
  void end_candidate();
  void let_calls_go();
  Status wait_running(const Version& version, std::chrono::nanoseconds limit) const;
  void put_in_place();

  const ProgramHostOptions options_;
  const std::string file_name_;
  Clock& clock_;
  Metrics& metrics_;
  const PluginCgroup group_;
  const std::shared_ptr<Grants> grants_;
  mutable std::atomic<uint64_t> garbled_ = 0;

  Mutex role_mutex_;  // held around every call of the role; taken before mutex_
  Role* role_ DROVER_GUARDED_BY(role_mutex_) = nullptr;

  mutable Mutex mutex_;
  mutable CondVarAny changed_;
  VersionPtr current_ DROVER_GUARDED_BY(mutex_);
  bool is_handing_over_ DROVER_GUARDED_BY(mutex_) = false;  // calls wait
  mutable std::list<Flight> flights_ DROVER_GUARDED_BY(mutex_);
  UpgradeReport report_ DROVER_GUARDED_BY(mutex_);
  bool is_stopping_ DROVER_GUARDED_BY(mutex_) = false;

  // [plugin-upgrade]
  std::string wanted_;  // the new version's file as it was named; empty: the plugin's own
  std::string staged_;  // its copy beside the plugin's own file, until it takes its place
  VersionPtr candidate_;
  SteadyTime pause_began_{};
  Mutex upgrading_;  // who begins one, or ends all
  std::thread upgrade_ DROVER_GUARDED_BY(upgrading_);
};

}  // namespace drover::plugin_programs

#include "program_host.h"

#include <algorithm>
#include <climits>
#include <filesystem>

#include "drover/duration.h"
#include "drover/hclspec.h"
#include "drover/log.h"
#include "drover/plugin_kind.h"
#include "resident_life.h"
#include "topology.h"

namespace drover::plugin_programs {
namespace {

namespace base = hashicorp::nomad::plugins::base::proto;
using namespace std::chrono_literals;

#define DROVER_BASE_METHOD(NAME) "/hashicorp.nomad.plugins.base.proto.BasePlugin/" NAME

constexpr const char* kApiVersion = "v0.1.0";
constexpr int kMostTries = 5;   // of a call that can be repeated, at a process each
constexpr auto kGoneTime = 3s;  // within which a process that breaks off a call must be seen to have ended

}  // namespace

google::protobuf::Duration duration_of(std::chrono::nanoseconds time) {
  google::protobuf::Duration out;
  out.set_seconds(time / 1s);
  out.set_nanos(static_cast<int32_t>((time % 1s).count()));
  return out;
}

ProgramHost::ProgramHost(ProgramHostOptions options, Clock& clock, Metrics& metrics)
    : options_(std::move(options)),
      file_name_(std::filesystem::path(options_.file).filename().string()),
      clock_(clock),
      metrics_(metrics),
      group_(options_.settings.limits.has_group() ? options_.cgroups : CgroupLayout(), options_.cgroup,
             options_.settings.limits),
      grants_(std::make_shared<Grants>(
          file_name_, options_.settings.grants.value_or(std::vector<std::string>{std::string(kLogMethod)}), metrics)),
      current_(make_version(options_.file)) {}

ProgramHost::~ProgramHost() { stop(); }

void ProgramHost::stop() {
  {
    const MutexLock lock(mutex_);
    is_stopping_ = true;
    changed_.notify_all();
  }
  {
    const MutexLock upgrading(upgrading_);
    if (upgrade_.joinable()) upgrade_.join();
  }
  current()->life->stop();
  if (options_.settings.limits.has_group()) group_.remove();
}

ProgramHost::VersionPtr ProgramHost::make_version(const std::string& path) {
  auto version = std::make_shared<Version>(Version{.path = path});
  Version* const self = version.get();
  const auto prepare = [this, self](const ChannelPtr& channel) { return this->prepare(channel, *self); };
  const auto lost = [this, self] {
    const MutexLock role_lock(role_mutex_);
    bool is_current = false, is_handed_over = false;
    {
      const MutexLock lock(mutex_);
      is_current = current_.get() == self;
      is_handed_over = is_handing_over_;
    }
    if (role_ && is_current) role_->lost(is_handed_over);
  };
  if (options_.resident) {
    version->life = std::make_unique<ResidentLife>(ResidentLife::Options{.name = file_name_,
                                                                         .entry = options_.resident,
                                                                         .grants = grants_,
                                                                         .caller = options_.caller,
                                                                         .prepare = prepare,
                                                                         .lost = lost});
    return version;
  }
  version->life = std::make_unique<Supervisor>(SupervisorOptions{.name = file_name_,
                                                                 .open = [this, self] { return open(*self); },
                                                                 .times = options_.times,
                                                                 .launched = options_.launched,
                                                                 .collected = options_.collected,
                                                                 .calls = [this] { return calls(); },
                                                                 .prepare = prepare,
                                                                 .lost = lost},
                                               clock_, metrics_);
  return version;
}

ProgramHost::VersionPtr ProgramHost::current() const {
  const MutexLock lock(mutex_);
  return current_;
}

bool ProgramHost::is_config_refused() const {
  const MutexLock lock(mutex_);
  return current_->is_config_refused;
}

base::PluginInfoResponse ProgramHost::info() const {
  const MutexLock lock(mutex_);
  return current_->info;
}

std::string ProgramHost::describe() const {
  const PluginLife::View view = this->view();
  return "the plugin " + file_name_ + " is " + std::string(to_string(view.state)) +
         (view.problem.empty() ? "" : ": " + view.problem);
}

Status ProgramHost::restart() {
  const VersionPtr version = current();
  const PluginLife::View view = version->life->view();
  {
    const MutexLock lock(mutex_);
    if (is_handing_over_) return failed_precondition("plugin " + file_name_ + " is being upgraded");
    // A file that did not run may have been repaired; one that runs is started again as it is.
    if (view.state == Supervision::State::parked || view.state == Supervision::State::backoff) version->file.reset();
  }
  return version->life->restart();
}

// ---- the life of a process [plugin] ----

Result<Launch> ProgramHost::open(Version& version) {
  Launch out{.program = {.file = {},
                         .name = options_.file,
                         .arguments = options_.settings.arguments,
                         .environment = options_.environment}};
  {
    const MutexLock lock(mutex_);
    out.file = version.file;
    version.is_config_refused = false;
  }
  if (!out.file) {
    DROVER_TRY(out.file, PluginFile::open(version.path, options_.settings.digests));
    const MutexLock lock(mutex_);
    version.file = out.file;
  }
  out.program.file = out.file->path();
  out.program.image = out.file->image();
  if (options_.settings.asks_for_tls) DROVER_RETURN_IF_ERROR(ask_for_tls(out.program));
  DROVER_TRY(out.program.confinement, confinement_of(options_.settings));
  if (options_.settings.limits.has_group()) {
    DROVER_RETURN_IF_ERROR(group_.prepare().with_context("plugin " + file_name_));
    out.program.confinement.cgroup_files = group_.join_files();
  }
  return out;
}

Status ProgramHost::prepare(const ChannelPtr& channel, Version& version) {
  DROVER_TRY(Info info, identify(*channel));
  DROVER_RETURN_IF_ERROR(set_config(*channel, version));
  const MutexLock role_lock(role_mutex_);
  Role* const role = options_.role(*kind_of_type(info.type()));
  bool is_current = false;
  {
    const MutexLock lock(mutex_);
    version.info = std::move(info);
    is_current = current_.get() == &version;
  }
  if (!is_current) return role->prove(*channel);
  role_ = role;
  return role->prepare(channel);
}

Result<ProgramHost::Info> ProgramHost::identify(Channel& channel) const {
  DROVER_TRY(auto info, call<Info>(channel, DROVER_BASE_METHOD("PluginInfo"), base::PluginInfoRequest(),
                                   clock_.steady() + kCallTime));
  if (!kind_of_type(info.type()))
    return failed_precondition("the plugin is not " + std::string(plugin_kinds_text()) + " but of kind " +
                               std::to_string(info.type()));
  const auto& versions = info.plugin_api_versions();
  if (std::ranges::find(versions, kApiVersion) == versions.end()) {
    std::string all;
    for (const std::string& version : versions) all += (all.empty() ? "" : ", ") + version;
    return failed_precondition("the plugin speaks the versions " + (all.empty() ? "(none)" : all) +
                               " of the protocol of its kind, not " + kApiVersion);
  }
  if (info.name().empty()) return failed_precondition("the plugin gives no name");
  const Info former = this->info();
  if (!former.name().empty() && former.name() != info.name())
    return failed_precondition("the plugin was called " + former.name() + " and is now called " + info.name());
  if (!former.name().empty() && former.type() != info.type())
    return failed_precondition("the plugin " + info.name() + " has become one of another kind");
  return info;
}

Status ProgramHost::set_config(Channel& channel, Version& version) {
  const auto refused = [&](const Status& why) {
    const MutexLock lock(mutex_);
    version.is_config_refused = true;
    return why.with_context("plugin \"" + file_name_ + "\": config");
  };
  const auto deadline = [this] { return clock_.steady() + kCallTime; };
  DROVER_TRY(auto schema, call<base::ConfigSchemaResponse>(channel, DROVER_BASE_METHOD("ConfigSchema"),
                                                           base::ConfigSchemaRequest(), deadline()));
  base::SetConfigRequest request;
  request.set_plugin_api_version(kApiVersion);
  base::NomadDriverConfig& client = *request.mutable_nomad_config()->mutable_driver();
  client.set_clientminport(options_.min_port);
  client.set_clientmaxport(options_.max_port);
  *client.mutable_topology() = read_topology();
  if (schema.has_spec()) {
    DROVER_RETURN_IF_ERROR(hclspec::check(schema.spec()));
    auto config = hclspec::decode(schema.spec(), options_.settings.config.value_or(hcl::Value(hcl::Object())));
    if (!config) return refused(config.status());
    request.set_msgpack_config(hclspec::to_msgpack(*config));
  } else if (options_.settings.config) {
    return refused(invalid_argument("the plugin takes no configuration"));
  }
  const Status taken =
      call<base::SetConfigResponse>(channel, DROVER_BASE_METHOD("SetConfig"), request, deadline()).status();
  return taken.code() == Code::invalid_argument ? refused(taken) : taken;
}

// ---- calls [any] ----

// Lists a call for as long as it takes.
class ProgramHost::Boarding {
 public:
  Boarding(const ProgramHost& host, const char* method, bool must_end) : host_(host) {
    const MutexLock lock(host_.mutex_);
    host_.flights_.push_front({.method = method, .began = host_.clock_.steady(), .must_end = must_end});
    flight_ = host_.flights_.begin();
  }
  ~Boarding() {
    const MutexLock lock(host_.mutex_);
    host_.flights_.erase(flight_);
    host_.changed_.notify_all();
  }
  Boarding(const Boarding&) = delete;
  Boarding& operator=(const Boarding&) = delete;
  Flight* flight() { return &*flight_; }

 private:
  const ProgramHost& host_;
  std::list<Flight>::iterator flight_;
};

std::vector<std::string> ProgramHost::calls() const {
  constexpr size_t kShown = 10;
  std::vector<std::string> out;
  size_t sent = 0;
  const MutexLock lock(mutex_);
  for (const Flight& flight : flights_) {
    if (!flight.is_sent || ++sent > kShown) continue;
    const std::string_view method(flight.method);
    const auto took = std::chrono::floor<std::chrono::seconds>(clock_.steady() - flight.began);
    out.push_back(std::string(method.substr(method.rfind('/') + 1)) + " " + format_duration(took));
  }
  if (sent > kShown) out.push_back("and " + std::to_string(sent - kShown) + " more");
  return out;
}

Result<ChannelPtr> ProgramHost::board(Flight* flight, const ChannelPtr& former, SteadyTime deadline,
                                      const std::stop_token& stop) const {
  while (true) {
    VersionPtr version;
    {
      MutexLock lock(mutex_);
      if (flight) flight->is_sent = false;
      changed_.notify_all();
      const bool may_go = changed_.wait_until(
          lock, stop, deadline, [this]() DROVER_REQUIRES(mutex_) { return !is_handing_over_ || is_stopping_; });
      if (stop.stop_requested()) return cancelled("the caller has gone");
      if (!may_go) return unavailable("the plugin " + file_name_ + " is not running yet: it is being upgraded");
      version = current_;
    }
    auto channel = version->life->channel(former, deadline, stop);
    const MutexLock lock(mutex_);
    const bool is_other = is_handing_over_ || version != current_;
    if (!is_other || is_stopping_) {
      if (flight && channel) flight->is_sent = true;
      return channel;
    }
    if (clock_.steady() >= deadline) return unavailable("the plugin " + file_name_ + " is being upgraded");
  }
}

Result<std::string> ProgramHost::ask_bytes(const char* method, const std::string& request, Again again,
                                           std::optional<std::chrono::nanoseconds> within, const std::stop_token& stop,
                                           std::optional<std::chrono::nanoseconds> longest_wait) const {
  // A caller that can be called off waits as long as it takes, unless told otherwise.
  const auto patience = [&] {
    if (longest_wait) return clock_.steady() + *longest_wait;
    return stop.stop_possible() ? SteadyTime::max() : clock_.steady() + kRestartTime;
  };
  const auto deadline = [&]() -> std::optional<SteadyTime> {
    if (!within) return {};
    return clock_.steady() + *within;
  };
  // An answer from a process that is being ended in good order is about itself, not about the task.
  const auto is_gone = [&](const ChannelPtr& channel, const Result<std::string>& answer) {
    if (again == Again::never || (answer.ok() && again != Again::always)) return false;
    const bool may_be_late = answer.status().code() == Code::unavailable;
    return current()->life->wait_gone(channel, clock_.steady() + (may_be_late ? kGoneTime : 0s));
  };
  const bool is_start = std::string_view(method).ends_with("/StartTask");
  // A call that ends one process after the other is not repeated for ever; a wait for a task lasts as long as it takes.
  const int most_tries = again == Again::always ? INT_MAX : is_start ? 1 : kMostTries;
  Boarding boarding(*this, method, again == Again::never || is_start);
  DROVER_TRY(ChannelPtr channel, board(boarding.flight(), nullptr, patience(), stop));
  auto answer = channel->call(method, request, deadline(), stop);
  // The plugin may say "unavailable" of itself, too; then it is still there, and that is its answer.
  for (int tries = 0; tries < most_tries && !stop.stop_requested() && is_gone(channel, answer); ++tries) {
    DROVER_TRY(channel, board(boarding.flight(), channel, patience(), stop));
    answer = channel->call(method, request, deadline(), stop);
  }
  return answer;
}

}  // namespace drover::plugin_programs

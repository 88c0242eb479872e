#include "program_host.h"

#include <algorithm>
#include <filesystem>

#include "drover/hclspec.h"
#include "drover/log.h"
#include "resident_life.h"
#include "supervisor.h"
#include "topology.h"

namespace drover::external {
namespace {

namespace base = hashicorp::nomad::plugins::base::proto;
using namespace std::chrono_literals;

#define DROVER_BASE_METHOD(NAME) "/hashicorp.nomad.plugins.base.proto.BasePlugin/" NAME

constexpr const char* kApiVersion = "v0.1.0";
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
      life_(make_life(metrics)) {}

std::unique_ptr<PluginLife> ProgramHost::make_life(Metrics& metrics) {
  const auto prepare = [this](ChannelPtr channel) { return this->prepare(channel); };
  const auto lost = [this] {
    if (role_) role_->lost();
  };
  if (options_.resident) {
    return std::make_unique<ResidentLife>(
        ResidentLife::Options{.name = file_name_, .entry = options_.resident, .prepare = prepare, .lost = lost});
  }
  Program program{.file = options_.file, .arguments = options_.arguments, .environment = options_.environment};
  if (options_.asks_for_tls) {
    if (Status status = ask_for_tls(program); !status.ok()) {
      // Rather not at all than in the clear: a handshake without a certificate is refused.
      log::error("plugin", "TLS cannot be asked for", {{"plugin", file_name_}, {"error", status.message()}});
      program.identity = std::make_shared<const TlsIdentity>();
    }
  }
  return std::make_unique<Supervisor>(SupervisorOptions{.name = file_name_,
                                                        .program = std::move(program),
                                                        .times = options_.times,
                                                        .launched = options_.launched,
                                                        .prepare = prepare,
                                                        .lost = lost},
                                      clock_, metrics);
}

base::PluginInfoResponse ProgramHost::info() const {
  const std::lock_guard lock(mutex_);
  return info_;
}

std::string ProgramHost::describe() const {
  const PluginLife::View view = life_->view();
  return "the plugin " + file_name_ + " is " + std::string(to_string(view.state)) +
         (view.problem.empty() ? "" : ": " + view.problem);
}

// ---- the life of a process [plugin] ----

Status ProgramHost::prepare(const ChannelPtr& channel) {
  DROVER_RETURN_IF_ERROR(identify(*channel));
  DROVER_RETURN_IF_ERROR(set_config(*channel));
  return role_->prepare(channel);
}

Status ProgramHost::identify(Channel& channel) {
  DROVER_TRY(auto info, call<base::PluginInfoResponse>(channel, DROVER_BASE_METHOD("PluginInfo"),
                                                       base::PluginInfoRequest(), clock_.steady() + kCallTime));
  Role* role = options_.role(info.type());
  if (!role)
    return failed_precondition("the plugin is neither a task driver nor a device plugin but of kind " +
                               std::to_string(info.type()));
  const auto& versions = info.plugin_api_versions();
  if (std::ranges::find(versions, kApiVersion) == versions.end()) {
    std::string all;
    for (const std::string& version : versions) all += (all.empty() ? "" : ", ") + version;
    return failed_precondition("the plugin speaks the versions " + (all.empty() ? "(none)" : all) +
                               " of the protocol of its kind, not " + kApiVersion);
  }
  if (info.name().empty()) return failed_precondition("the plugin gives no name");
  const std::lock_guard lock(mutex_);
  if (!info_.name().empty() && info_.name() != info.name()) {
    return failed_precondition("the plugin was called " + info_.name() + " and is now called " + info.name());
  }
  if (!info_.name().empty() && info_.type() != info.type())
    return failed_precondition("the plugin " + info.name() + " has become one of another kind");
  info_ = std::move(info);
  role_ = role;
  return ok_status();
}

Status ProgramHost::set_config(Channel& channel) {
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
    auto config = hclspec::decode(schema.spec(), options_.config.value_or(hcl::Value(hcl::Object())));
    if (!config) return config.status().with_context("plugin \"" + file_name_ + "\": config");
    request.set_msgpack_config(hclspec::to_msgpack(*config));
  } else if (options_.config) {
    return invalid_argument("plugin \"" + file_name_ + "\": config: the plugin takes no configuration");
  }
  return call<base::SetConfigResponse>(channel, DROVER_BASE_METHOD("SetConfig"), request, deadline()).status();
}

// ---- calls [any] ----

Result<std::string> ProgramHost::ask_bytes(const char* method, const std::string& request, Again again,
                                           std::optional<std::chrono::nanoseconds> within,
                                           const std::stop_token& stop) const {
  // Who can be called off waits as long as it takes.
  const auto patience = [&] { return stop.stop_possible() ? SteadyTime::max() : clock_.steady() + kRestartTime; };
  DROVER_TRY(ChannelPtr channel, life_->channel(nullptr, patience(), stop));
  const auto deadline = [&]() -> std::optional<SteadyTime> {
    if (!within) return {};
    return clock_.steady() + *within;
  };
  auto answer = channel->call(method, request, deadline(), stop);
  for (int tries = 0; !answer && answer.status().code() == Code::unavailable && again == Again::once && tries < 5;
       ++tries) {
    // The plugin may say so of itself, too; then it is still there, and that is its answer.
    if (!life_->wait_gone(channel, clock_.steady() + kGoneTime)) break;
    DROVER_TRY(channel, life_->channel(channel, patience(), stop));
    answer = channel->call(method, request, deadline(), stop);
  }
  return answer;
}

}  // namespace drover::external

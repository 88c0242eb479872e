#include "base_service.h"

#include <google/protobuf/duration.pb.h>

#include <algorithm>
#include <memory>

#include "drover/pause.h"

namespace drover::serve {
namespace {

namespace base = hashicorp::nomad::plugins::base::proto;
using namespace std::chrono_literals;

const std::string kHealthRequest = "\n\x06plugin";  // service = "plugin"
const std::string kServing = "\b\x01";              // status = SERVING

base::PluginInfoResponse info(const PluginKind& kind, const About& about) {
  base::PluginInfoResponse out;
  out.set_type(static_cast<base::PluginType>(kind.type));
  out.add_plugin_api_versions(kApiVersion);
  out.set_plugin_version(about.version);
  out.set_name(about.name);
  return out;
}

base::ConfigSchemaResponse config_schema(const Configurable& plugin) {
  base::ConfigSchemaResponse out;
  auto spec = plugin.config_schema();
  if (spec.ByteSizeLong() != 0) *out.mutable_spec() = std::move(spec);
  return out;
}

}  // namespace

void add_process_methods(Methods& methods, const std::function<void()>& end) {
  const auto is_known = [](const Call& call) { return call.request().empty() || call.request() == kHealthRequest; };
  methods["/grpc.health.v1.Health/Check"] = [is_known](Call& call) {
    if (!is_known(call)) return Status(Code::not_found, "unknown service");
    (void)call.send(kServing);
    return ok_status();
  };
  methods["/grpc.health.v1.Health/Watch"] = [is_known](Call& call) {
    if (call.send(is_known(call) ? kServing : std::string("\b\x03"))) wait_end(call);  // 3: SERVICE_UNKNOWN
    return cancelled("the call has ended");
  };
  // Standard output goes to standard error; hosts want the stream open.
  methods["/plugin.GRPCStdio/StreamStdio"] = [](Call& call) {
    wait_end(call);
    return cancelled("the call has ended");
  };
  methods["/plugin.GRPCController/Shutdown"] = [end](Call& call) {
    (void)call.send({});
    end();
    return ok_status();
  };
}

void add_base_methods(Methods& methods, const PluginKind& kind, Configurable& plugin, const About& about,
                      ErrorForm on_the_wire) {
  const auto add = [&](const char* name, Handler handler) {
    methods["/hashicorp.nomad.plugins.base.proto.BasePlugin/" + std::string(name)] = std::move(handler);
  };
  add("PluginInfo", unary<base::PluginInfoRequest, base::PluginInfoResponse>(
                        on_the_wire, [&kind, about](auto&, Call&) { return info(kind, about); }));
  add("ConfigSchema", unary<base::ConfigSchemaRequest, base::ConfigSchemaResponse>(
                          on_the_wire, [&plugin](auto&, Call&) { return config_schema(plugin); }));
  add("SetConfig", unary<base::SetConfigRequest, base::SetConfigResponse>(
                       on_the_wire, [&plugin](const auto& request, Call&) -> Result<base::SetConfigResponse> {
                         DROVER_RETURN_IF_ERROR(plugin.configure(request));
                         return base::SetConfigResponse();
                       }));
  add_process_methods(methods, about.end);
}

Status with_code(const Status& status) {
  return status.code() == Code::unimplemented ? Status(Code::unknown, status.message()) : with_code_or_lacking(status);
}

Status with_code_or_lacking(const Status& status) {
  return status.code() == Code::unavailable ? Status(Code::unknown, status.message()) : status;
}

bool wait(const Call& call, std::chrono::nanoseconds time) { return !pause_for(time, call.stop()); }

void wait_end(const Call& call) { wait_for_stop(call.stop()); }

std::chrono::nanoseconds duration_of(const google::protobuf::Duration& duration) {
  constexpr int64_t kMostSeconds = 3600LL * 24 * 365 * 100;
  return std::chrono::seconds(std::clamp<int64_t>(duration.seconds(), 0, kMostSeconds)) +
         std::chrono::nanoseconds(std::max(duration.nanos(), 0));
}

std::chrono::nanoseconds sampling_interval(const google::protobuf::Duration& wanted) {
  constexpr std::chrono::nanoseconds kDefault = 1s, kShortest = 100ms;
  const std::chrono::nanoseconds interval = duration_of(wanted);
  return interval == 0ns ? kDefault : std::max(interval, kShortest);
}

}  // namespace drover::serve

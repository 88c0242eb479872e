#include "driver_service.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "drover/clock.h"
#include "drover/messages.h"
#include "drover/methods.h"
#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "wire_details.h"

namespace drover::serve {
namespace {

namespace base = hashicorp::nomad::plugins::base::proto;
using namespace std::chrono_literals;

constexpr const char* kApiVersion = "v0.1.0";
constexpr std::chrono::nanoseconds kDefaultInterval = 1s, kShortestInterval = 100ms;

const std::string kHealthRequest = "\n\x06plugin";  // service = "plugin"
const std::string kServing = "\b\x01";              // status = SERVING

// One request, one answer.
template <typename Request, typename Answer>
Handler unary(std::function<Result<Answer>(const Request&, Call&)> handle) {
  return [handle = std::move(handle)](Call& call) -> Status {
    auto request = parse_message<Request>(call.request());
    if (!request) return request.status();
    const Result<Answer> answer = handle(*request, call);
    if (!answer) return on_the_wire(answer.status());
    (void)call.send(serialize(*answer));
    return ok_status();
  };
}

// True when the call ended before.
bool wait(const Call& call, std::chrono::nanoseconds time) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, call.stop(), time, [] { return false; });
  return call.stop().stop_requested();
}

void wait_end(const Call& call) {
  while (!wait(call, 1h)) {
  }
}

std::chrono::nanoseconds duration_of(const google::protobuf::Duration& duration) {
  constexpr int64_t kMostSeconds = 3600LL * 24 * 365 * 100;
  return std::chrono::seconds(std::clamp<int64_t>(duration.seconds(), 0, kMostSeconds)) +
         std::chrono::nanoseconds(std::max(duration.nanos(), 0));
}

class Service {
 public:
  explicit Service(const DriverService& service) : service_(service), driver_(service.driver) {}

  Result<base::PluginInfoResponse> info() const {
    base::PluginInfoResponse out;
    out.set_type(base::DRIVER);
    out.add_plugin_api_versions(kApiVersion);
    out.set_plugin_version(service_.version);
    out.set_name(service_.name);
    return out;
  }

  Result<base::ConfigSchemaResponse> config_schema() const {
    base::ConfigSchemaResponse out;
    auto spec = driver_.config_schema();
    if (spec.ByteSizeLong() != 0) *out.mutable_spec() = std::move(spec);
    return out;
  }

  Result<driver::TaskConfigSchemaResponse> task_config_schema() const {
    driver::TaskConfigSchemaResponse out;
    auto spec = driver_.task_config_schema();
    if (spec.ByteSizeLong() != 0) *out.mutable_spec() = std::move(spec);
    return out;
  }

  Result<driver::WaitTaskResponse> wait_task(const driver::WaitTaskRequest& request, const Call& call) const {
    DROVER_TRY(driver::ExitResult result, driver_.wait_task(request.task_id(), call.stop()));
    driver::WaitTaskResponse out;
    *out.mutable_result() = std::move(result);
    return out;
  }

  Result<driver::InspectTaskResponse> inspect_task(const driver::InspectTaskRequest& request) const {
    DROVER_TRY(driver::InspectTaskResponse out, driver_.inspect_task(request.task_id()));
    complete(out);
    return out;
  }

  // A new message only when something has changed.
  Status follow_fingerprint(Call& call) const {
    std::string last;
    do {
      driver::FingerprintResponse print = driver_.fingerprint();
      rename(print);
      std::string bytes = serialize(print);
      if (bytes != last && !call.send(bytes)) break;
      last = std::move(bytes);
    } while (!wait(call, service_.fingerprint_every));
    return cancelled("the call has ended");
  }

  // Ends with the task.
  Status follow_stats(Call& call) const {
    DROVER_TRY(const auto request, parse_message<driver::TaskStatsRequest>(call.request()));
    const std::string& id = request.task_id();
    std::chrono::nanoseconds interval = duration_of(request.collection_interval());
    interval = interval == 0ns ? kDefaultInterval : std::max(interval, kShortestInterval);
    for (bool is_first = true;; is_first = false) {
      auto stats = driver_.task_stats(id);
      if (!stats) return has_ended(id, is_first) ? ok_status() : on_the_wire(stats.status());
      driver::TaskStatsResponse out;
      *out.mutable_stats() = *std::move(stats);
      complete(*out.mutable_stats(), SystemClock().wall_ns());
      if (!call.send(serialize(out)) || wait(call, interval)) return cancelled("the call has ended");
      if (has_ended(id, false)) return ok_status();  // whatever the driver would still say of it
    }
  }

  // What is said to a host of another name: its own prefix.
  void rename(driver::FingerprintResponse& print) const {
    if (service_.name == service_.own_name) return;
    const std::string from = "driver." + service_.own_name, to = "driver." + service_.name;
    auto renamed = *print.mutable_attributes();
    renamed.clear();
    for (const auto& [name, value] : print.attributes()) {
      const bool is_own = name == from || name.starts_with(from + ".");
      renamed[is_own ? to + name.substr(from.size()) : name] = value;
    }
    *print.mutable_attributes() = std::move(renamed);
  }

  void end() const { service_.end(); }

 private:
  bool has_ended(const std::string& id, bool is_first) const {
    const auto inspected = driver_.inspect_task(id);
    if (inspected) return inspected->task().state() == driver::EXITED;
    return !is_first && inspected.status().code() == Code::not_found;  // destroyed meanwhile
  }

  const DriverService service_;
  TaskDriver& driver_;
};

using ServicePtr = std::shared_ptr<const Service>;

void add_base_methods(Methods& methods, const ServicePtr& service, TaskDriver& driver) {
  const auto add = [&](const char* name, Handler handler) {
    methods["/hashicorp.nomad.plugins.base.proto.BasePlugin/" + std::string(name)] = std::move(handler);
  };
  add("PluginInfo",
      unary<base::PluginInfoRequest, base::PluginInfoResponse>([service](auto&, Call&) { return service->info(); }));
  add("ConfigSchema", unary<base::ConfigSchemaRequest, base::ConfigSchemaResponse>(
                          [service](auto&, Call&) { return service->config_schema(); }));
  add("SetConfig", unary<base::SetConfigRequest, base::SetConfigResponse>(
                       [&driver](const auto& request, Call&) -> Result<base::SetConfigResponse> {
                         DROVER_RETURN_IF_ERROR(driver.configure(request));
                         return base::SetConfigResponse();
                       }));
}

void add_task_methods(Methods& methods, const ServicePtr& service, TaskDriver& driver) {
  const auto add = [&](const char* name, Handler handler) {
    methods["/hashicorp.nomad.plugins.drivers.proto.Driver/" + std::string(name)] = std::move(handler);
  };
  add("TaskConfigSchema", unary<driver::TaskConfigSchemaRequest, driver::TaskConfigSchemaResponse>(
                              [service](auto&, Call&) { return service->task_config_schema(); }));
  add("Capabilities", unary<driver::CapabilitiesRequest, driver::CapabilitiesResponse>(
                          [&driver](auto&, Call&) -> Result<driver::CapabilitiesResponse> {
                            driver::CapabilitiesResponse out;
                            *out.mutable_capabilities() = driver.capabilities();
                            return out;
                          }));
  add("RecoverTask", unary<driver::RecoverTaskRequest, driver::RecoverTaskResponse>(
                         [&driver](const auto& request, Call&) -> Result<driver::RecoverTaskResponse> {
                           DROVER_RETURN_IF_ERROR(driver.recover_task(request.handle()));
                           return driver::RecoverTaskResponse();
                         }));
  add("StartTask", unary<driver::StartTaskRequest, driver::StartTaskResponse>(
                       [&driver](const auto& request, Call&) { return driver.start_task(request.task()); }));
  add("WaitTask", unary<driver::WaitTaskRequest, driver::WaitTaskResponse>(
                      [service](const auto& request, Call& call) { return service->wait_task(request, call); }));
  add("StopTask",
      unary<driver::StopTaskRequest, driver::StopTaskResponse>([&driver](const auto& request,
                                                                         Call&) -> Result<driver::StopTaskResponse> {
        DROVER_RETURN_IF_ERROR(driver.stop_task(request.task_id(), duration_of(request.timeout()), request.signal()));
        return driver::StopTaskResponse();
      }));
  add("DestroyTask", unary<driver::DestroyTaskRequest, driver::DestroyTaskResponse>(
                         [&driver](const auto& request, Call&) -> Result<driver::DestroyTaskResponse> {
                           DROVER_RETURN_IF_ERROR(driver.destroy_task(request.task_id(), request.force()));
                           return driver::DestroyTaskResponse();
                         }));
  add("InspectTask", unary<driver::InspectTaskRequest, driver::InspectTaskResponse>(
                         [service](const auto& request, Call&) { return service->inspect_task(request); }));
  add("SignalTask", unary<driver::SignalTaskRequest, driver::SignalTaskResponse>(
                        [&driver](const auto& request, Call&) -> Result<driver::SignalTaskResponse> {
                          DROVER_RETURN_IF_ERROR(driver.signal_task(request.task_id(), request.signal()));
                          return driver::SignalTaskResponse();
                        }));
  add("Fingerprint", [service](Call& call) { return service->follow_fingerprint(call); });
  add("TaskStats", [service](Call& call) { return service->follow_stats(call); });
  // There is nothing to tell, but hosts want the stream open.
  add("TaskEvents", [](Call& call) {
    wait_end(call);
    return cancelled("the call has ended");
  });
  for (const auto& [name, text] : {std::pair("ExecTask", "driver does not support exec"),
                                   {"ExecTaskStreaming", "driver does not support exec"},
                                   {"CreateNetwork", "CreateNetwork RPC not supported by driver"},
                                   {"DestroyNetwork", "DestroyNetwork RPC not supported by driver"}})
    add(name, [text](Call&) { return unimplemented(text); });
}

void add_process_methods(Methods& methods, const ServicePtr& service) {
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
  // What is printed goes to standard error; hosts want the stream open.
  methods["/plugin.GRPCStdio/StreamStdio"] = [](Call& call) {
    wait_end(call);
    return cancelled("the call has ended");
  };
  methods["/plugin.GRPCController/Shutdown"] = [service](Call& call) {
    (void)call.send({});
    service->end();
    return ok_status();
  };
}

}  // namespace

Methods driver_methods(const DriverService& service) {
  const auto shared = std::make_shared<const Service>(service);
  Methods methods;
  add_base_methods(methods, shared, service.driver);
  add_task_methods(methods, shared, service.driver);
  add_process_methods(methods, shared);
  return methods;
}

}  // namespace drover::serve

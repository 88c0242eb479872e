#include <memory>

#include "base_service.h"
#include "drover/clock.h"
#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "wire_details.h"

namespace drover::serve {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds kFingerprintEvery = 30s;

template <typename Request, typename Answer>
Handler answer(std::function<Result<Answer>(const Request&, Call&)> handle) {
  return unary<Request, Answer>(on_the_wire, std::move(handle));
}

// An optional method that a driver lacks keeps the code by which hosts know that.
Status optional_on_the_wire(const Status& status) {
  return status.code() == Code::unimplemented ? status : on_the_wire(status);
}

// A caller of ExecTaskStreaming, as the driver sees it.
class ServedExec final : public ExecStream {
 public:
  explicit ServedExec(Call& call) : call_(call) {}
  // A message that cannot be read ends the caller's side.
  std::optional<driver::ExecTaskStreamingRequest> receive(std::stop_token stop) override {
    const auto bytes = call_.receive(std::move(stop));
    if (!bytes) return {};
    auto request = parse_message<driver::ExecTaskStreamingRequest>(*bytes);
    if (!request) return {};
    return *std::move(request);
  }
  bool send(const driver::ExecTaskStreamingResponse& response) override { return call_.send(serialize(response)); }
  std::stop_token stop() const override { return call_.stop(); }

 private:
  Call& call_;
};

class Service {
 public:
  Service(TaskDriver& driver, const About& about) : about_(about), driver_(driver) {}

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
    } while (!wait(call, kFingerprintEvery));
    return cancelled("the call has ended");
  }

  // Ends with the task.
  Status follow_stats(Call& call) const {
    DROVER_TRY(const auto request, parse_message<driver::TaskStatsRequest>(call.request()));
    const std::string& id = request.task_id();
    const std::chrono::nanoseconds interval = sampling_interval(request.collection_interval());
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

  Status exec_streaming(Call& call) const {
    DROVER_TRY(const auto first, parse_message<driver::ExecTaskStreamingRequest>(call.request()));
    if (!first.has_setup() || first.setup().command().empty())
      return invalid_argument("the first message of ExecTaskStreaming must say which command to run (setup)");
    const ExecCommand command{.task_id = first.setup().task_id(),
                              .command = {first.setup().command().begin(), first.setup().command().end()},
                              .tty = first.setup().tty()};
    ServedExec caller(call);
    return optional_on_the_wire(driver_.exec_task_streaming(command, caller));
  }

  Result<driver::ExecTaskResponse> exec(const driver::ExecTaskRequest& request) const {
    if (request.command().empty()) return invalid_argument("ExecTask names no command");
    auto answer = driver_.exec_task(
        {.task_id = request.task_id(), .command = {request.command().begin(), request.command().end()}, .tty = false},
        duration_of(request.timeout()));
    if (answer) (void)answer->mutable_result();
    return answer;
  }

  Result<driver::CreateNetworkResponse> create_network(const driver::CreateNetworkRequest& request) const {
    return driver_.create_network(request);
  }

  Result<driver::DestroyNetworkResponse> destroy_network(const driver::DestroyNetworkRequest& request) const {
    DROVER_RETURN_IF_ERROR(driver_.destroy_network(request));
    return driver::DestroyNetworkResponse();
  }

  // Until the host goes.
  Status follow_events(Call& call) const {
    driver_.follow_events([&call](const driver::DriverTaskEvent& event) { (void)call.send(serialize(event)); },
                          call.stop());
    wait_end(call);
    return cancelled("the call has ended");
  }

  // Gives the attributes the prefix of the name that the host uses.
  void rename(driver::FingerprintResponse& print) const {
    if (about_.name == about_.own_name) return;
    const std::string from = "driver." + about_.own_name, to = "driver." + about_.name;
    auto renamed = *print.mutable_attributes();
    renamed.clear();
    for (const auto& [name, value] : print.attributes()) {
      const bool is_own = name == from || name.starts_with(from + ".");
      renamed[is_own ? to + name.substr(from.size()) : name] = value;
    }
    *print.mutable_attributes() = std::move(renamed);
  }

 private:
  bool has_ended(const std::string& id, bool is_first) const {
    const auto inspected = driver_.inspect_task(id);
    if (inspected) return inspected->task().state() == driver::EXITED;
    return !is_first && inspected.status().code() == Code::not_found;  // destroyed meanwhile
  }

  const About about_;
  TaskDriver& driver_;
};

using ServicePtr = std::shared_ptr<const Service>;

void add_task_methods(Methods& methods, const ServicePtr& service, TaskDriver& driver) {
  const auto add = [&](const char* name, Handler handler) {
    methods["/hashicorp.nomad.plugins.drivers.proto.Driver/" + std::string(name)] = std::move(handler);
  };
  add("TaskConfigSchema", answer<driver::TaskConfigSchemaRequest, driver::TaskConfigSchemaResponse>(
                              [service](auto&, Call&) { return service->task_config_schema(); }));
  add("Capabilities", answer<driver::CapabilitiesRequest, driver::CapabilitiesResponse>(
                          [&driver](auto&, Call&) -> Result<driver::CapabilitiesResponse> {
                            driver::CapabilitiesResponse out;
                            *out.mutable_capabilities() = driver.capabilities();
                            return out;
                          }));
  add("RecoverTask", answer<driver::RecoverTaskRequest, driver::RecoverTaskResponse>(
                         [&driver](const auto& request, Call&) -> Result<driver::RecoverTaskResponse> {
                           DROVER_RETURN_IF_ERROR(driver.recover_task(request.handle()));
                           return driver::RecoverTaskResponse();
                         }));
  add("StartTask", answer<driver::StartTaskRequest, driver::StartTaskResponse>(
                       [&driver](const auto& request, Call&) { return driver.start_task(request.task()); }));
  add("WaitTask", answer<driver::WaitTaskRequest, driver::WaitTaskResponse>(
                      [service](const auto& request, Call& call) { return service->wait_task(request, call); }));
  add("StopTask",
      answer<driver::StopTaskRequest, driver::StopTaskResponse>([&driver](const auto& request,
                                                                          Call&) -> Result<driver::StopTaskResponse> {
        DROVER_RETURN_IF_ERROR(driver.stop_task(request.task_id(), duration_of(request.timeout()), request.signal()));
        return driver::StopTaskResponse();
      }));
  add("DestroyTask", answer<driver::DestroyTaskRequest, driver::DestroyTaskResponse>(
                         [&driver](const auto& request, Call&) -> Result<driver::DestroyTaskResponse> {
                           DROVER_RETURN_IF_ERROR(driver.destroy_task(request.task_id(), request.force()));
                           return driver::DestroyTaskResponse();
                         }));
  add("InspectTask", answer<driver::InspectTaskRequest, driver::InspectTaskResponse>(
                         [service](const auto& request, Call&) { return service->inspect_task(request); }));
  add("SignalTask", answer<driver::SignalTaskRequest, driver::SignalTaskResponse>(
                        [&driver](const auto& request, Call&) -> Result<driver::SignalTaskResponse> {
                          DROVER_RETURN_IF_ERROR(driver.signal_task(request.task_id(), request.signal()));
                          return driver::SignalTaskResponse();
                        }));
  add("Fingerprint", [service](Call& call) { return service->follow_fingerprint(call); });
  add("TaskStats", [service](Call& call) { return service->follow_stats(call); });
  add("TaskEvents", [service](Call& call) { return service->follow_events(call); });
  const auto add_optional = [&]<typename Request, typename Answer>(
                                const char* name, Result<Answer> (Service::*handle)(const Request&) const) {
    add(name, unary<Request, Answer>(optional_on_the_wire, [service, handle](const Request& request, Call&) {
          return ((*service).*handle)(request);
        }));
  };
  add("ExecTaskStreaming", [service](Call& call) { return service->exec_streaming(call); });
  add_optional("ExecTask", &Service::exec);
  add_optional("CreateNetwork", &Service::create_network);
  add_optional("DestroyNetwork", &Service::destroy_network);
}

}  // namespace

Methods methods_of(TaskDriver& plugin, const About& about) {
  Methods methods;
  add_base_methods(methods, TaskDriver::kKind, plugin, about, on_the_wire);
  add_task_methods(methods, std::make_shared<const Service>(plugin, about), plugin);
  return methods;
}

}  // namespace drover::serve

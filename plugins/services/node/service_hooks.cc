#include "node/service_hooks.h"

#include <set>

#include "drover/pause.h"
#include "drover/resolved_service.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/service.pb.h"
#include "drover/v1/service_provider.pb.h"
#include "node/native_provider.h"
#include "nomad/plugins/driver.pb.h"
#include "services.pb.h"

namespace drover::services {
namespace {

constexpr auto kSettle = std::chrono::seconds(5);  // with providers out of reach a kill waits no longer
constexpr char kPublished[] = "published";

using Services = google::protobuf::RepeatedPtrField<v1::Service>;

// All of a workload's services, or none. `name_space`: of those in Consul, there; empty: its own. Errors: of the first
// that cannot be resolved.
Result<v1::StoredInstances> resolve_all(const Services& services, const std::string& name_space,
                                        const ServicePlace& place) {
  v1::StoredInstances all;
  for (const v1::Service& service : services) {
    DROVER_TRY(const ResolvedService resolved, resolve_service(service, place));
    auto& each = *all.add_instances();
    each.set_provider(service.provider());
    *each.mutable_instance() = service_instance(resolved, place);
    if (service.provider() == "consul") each.mutable_instance()->set_registry_namespace(name_space);
  }
  return all;
}

// Errors: failed_precondition naming the first whose provider is not there.
Status check_providers(const Services& services, const HookSetup& setup) {
  for (const v1::Service& service : services) {
    if (setup.publisher->has(service.provider())) continue;
    setup.discover();
    if (setup.publisher->has(service.provider())) continue;
    return failed_precondition("service \"" + service.name() + "\": this client has no service provider \"" +
                               service.provider() + "\"");
  }
  return ok_status();
}

// The word of one workload, kept in its hook's state.
class Said {
 public:
  Said(const HookSetup& setup, WorkloadName name, HookState& state)
      : publisher_(*setup.publisher), name_(std::move(name)), state_(state) {
    v1::StoredInstances stored;
    const auto kept = state_.get(kPublished);
    if (!kept || !stored.ParseFromString(*kept)) return;
    say(stored);
  }

  Status put(const v1::StoredInstances& instances) {
    if (instances.instances().empty()) return remove();
    std::string bytes = serialize(instances);
    if (state_.get(kPublished) != bytes) DROVER_RETURN_IF_ERROR(state_.put(kPublished, std::move(bytes)));
    say(instances);
    return ok_status();
  }
  bool is_published() const { return !providers_.empty(); }
  Status remove() {
    if (providers_.empty()) return ok_status();
    providers_.clear();
    publisher_.remove(name_);
    return state_.put(kPublished, "");
  }
  // Returns when nobody is sent to it any more, or its providers cannot be told.
  Status withdraw() {
    const std::set<std::string> providers = providers_;
    if (providers.empty()) return ok_status();
    const Status status = remove();
    (void)publisher_.settle(kSettle, providers);
    return status;
  }

 private:
  void say(const v1::StoredInstances& instances) {
    publisher_.put(name_, instances);
    providers_.clear();
    for (const auto& each : instances.instances()) providers_.insert(each.provider());
  }

  Publisher& publisher_;
  const WorkloadName name_;
  HookState& state_;
  std::set<std::string> providers_;  // that are told of it; empty: nothing is published
};

class GroupPart final : public AllocHook::Part {
 public:
  GroupPart(const HookSetup& setup, HookedAlloc& alloc, HookState& state)
      : setup_(setup), alloc_(alloc), said_(setup, {.alloc = alloc.id(), .task = ""}, state) {}

  Status prerun(std::stop_token) override { return publish(); }
  Status update() override { return is_over_ ? ok_status() : publish(); }
  // As at a stop, and back again: whoever was sent to it looks for another one.
  Status prerestart(std::stop_token stop) override {
    if (is_over_ || !said_.is_published()) return ok_status();
    DROVER_RETURN_IF_ERROR(said_.withdraw());
    const AllocSpecPtr spec = alloc_.spec();
    const bool goes_on = pause_for(std::chrono::nanoseconds(spec->group->shutdown_delay()), stop);
    return goes_on ? publish() : ok_status();
  }
  Status prekill() override { return is_over_ = true, said_.withdraw(); }
  Status postrun() override { return is_over_ = true, said_.remove(); }
  Status destroy() override { return said_.remove(); }

 private:
  Status publish() {
    const AllocSpecPtr spec = alloc_.spec();
    if (!spec->group) return ok_status();
    if (spec->group->services().empty()) return said_.remove();
    DROVER_RETURN_IF_ERROR(check_providers(spec->group->services(), setup_));
    const v1::NetworkStatus network = alloc_.network_status();
    const NodeCalls* calls = node_calls(*setup_.host);
    const Variables node = calls ? calls->variables() : Variables();
    const Variables environment = group_environment(*spec->job, *spec->allocation, node, &network);
    DROVER_TRY(
        const v1::StoredInstances all,
        resolve_all(spec->group->services(), spec->group->consul().namespace_(),
                    {.allocation = *spec->allocation, .network = &network, .environment = environment, .node = node}));
    return said_.put(all);
  }

  const HookSetup& setup_;
  HookedAlloc& alloc_;
  Said said_;
  bool is_over_ = false;
};

class TaskPart final : public TaskHook::Part {
 public:
  TaskPart(const HookSetup& setup, HookedTask& task, HookState& state)
      : setup_(setup), task_(task), said_(setup, {.alloc = task.allocation(), .task = task.name()}, state) {}

  Status prestart(TaskPrestart& start) override {
    environment_ = start.environment;
    node_ = start.node;
    return check_providers(task_.spec()->task(task_.name())->services(), setup_);
  }
  Status poststart() override {
    is_running_ = true;
    const Status status = publish();
    if (!status.ok()) {
      task_.tell(task_event(setup_.host->clock().wall_ns(), "Task hook message",
                            "The services of the task are not published: " + status.message()));
    }
    return status;
  }
  Status update() override { return is_running_ ? publish() : ok_status(); }
  Status prekill() override { return is_running_ = false, said_.withdraw(); }
  Status exited() override { return is_running_ = false, said_.remove(); }
  Status stop() override { return is_running_ = false, said_.remove(); }

 private:
  Status publish() {
    const AllocSpecPtr spec = task_.spec();
    const v1::Task& task = *spec->task(task_.name());
    const v1::NetworkStatus network = task_.network_status();
    const driver::NetworkOverride made = task_.driver_network();
    const bool has_network = !made.addr().empty() || !made.port_map().empty();
    DROVER_TRY(const v1::StoredInstances all,
               resolve_all(task.services(), consul_namespace(*spec->group, task),
                           {.allocation = *spec->allocation,
                            .task = &task,
                            .network = &network,
                            .driver_network = has_network ? &made : nullptr,
                            .environment = environment_,
                            .node = node_}));
    return said_.put(all);
  }

  const HookSetup& setup_;
  HookedTask& task_;
  Said said_;
  Variables environment_, node_;  // of the last start
  bool is_running_ = false;
};

}  // namespace

std::unique_ptr<AllocHook::Part> GroupServicesHook::attach(HookedAlloc& alloc, HookState& state) {
  return std::make_unique<GroupPart>(setup_, alloc, state);
}

std::unique_ptr<TaskHook::Part> TaskServicesHook::attach(HookedTask& task, HookState& state) {
  return std::make_unique<TaskPart>(setup_, task, state);
}

}  // namespace drover::services

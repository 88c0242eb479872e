#include "observed/observed_check.h"

#include <tuple>

#include "drover/messages.h"
#include "drover/resolved_service.h"
#include "drover/sha256.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/service.pb.h"
#include "drover/v1/service_provider.pb.h"

namespace drover::checks {
namespace {

constexpr size_t kIdBytes = 16;

std::string identify(const AllocSpec& spec, const v1::Service& service, const v1::ServiceCheck& check,
                     const std::string& task) {
  Sha256 sum;
  const std::string parts[] = {Uuid::from_bytes(spec.allocation->id()).to_string(),
                               spec.allocation->task_group(),
                               task,
                               service.name(),
                               check.name(),
                               check.type(),
                               check.port_label().empty() ? service.port_label() : check.port_label(),
                               check.on_update(),
                               check.address_mode(),
                               std::to_string(check.interval()),
                               std::to_string(check.timeout()),
                               check.protocol(),
                               check.path(),
                               check.method(),
                               check.command(),
                               check.grpc_service(),
                               check.config()};
  for (const std::string& part : parts) {
    sum.add(part);
    sum.add(std::string_view("\0", 1));
  }
  return to_hex(sum.take().substr(0, kIdBytes));
}

std::optional<RestartRule> restart_rule(const v1::ServiceCheck& check) {
  if (check.check_restart().limit() <= 0) return std::nullopt;
  const v1::CheckRestart& from = check.check_restart();
  return RestartRule{.limit = from.limit(),
                     .grace = std::chrono::nanoseconds(from.grace()),
                     .interval = std::chrono::nanoseconds(check.interval()),
                     .ignores_warnings = from.ignore_warnings()};
}

// Consul tells those who look for a service that it warns; elsewhere it is found as ever.
Tolerance tolerance_of(const v1::Service& service, const v1::ServiceCheck& check) {
  if (check.on_update() == "ignore") return Tolerance::failures;
  const bool may_warn = service.provider() != "consul" || check.on_update() == "ignore_warnings";
  return may_warn ? Tolerance::warnings : Tolerance::nothing;
}

ObservedCheck describe(const AllocSpec& spec, const v1::Service& service, const v1::ServiceCheck& check,
                       const v1::Task* task) {
  const std::string own = task ? task->name() : std::string();
  ObservedCheck out{.id = identify(spec, service, check, own),
                    .check = std::make_shared<const v1::ServiceCheck>(check),
                    .service = service.name(),
                    .task = own,
                    .inside = task                         ? own
                              : !check.task_name().empty() ? check.task_name()
                                                           : service.task_name()};
  out.tolerance = tolerance_of(service, check);
  out.provider = service.provider();
  out.interval = std::chrono::nanoseconds(check.interval());
  out.timeout = std::chrono::nanoseconds(check.timeout());
  out.thresholds = {.successes = check.success_before_passing(), .failures = check.failures_before_critical()};
  out.restart = restart_rule(check);
  return out;
}

// With its references filled in, also where the service itself cannot be addressed: its checks may have ports and modes
// of their own, and the network that only a driver knows is not theirs.
Result<ResolvedService> fill_in(const v1::Service& service, const ServicePlace& place) {
  auto resolved = resolve_service(service, place);
  if (resolved) return resolved;
  v1::Service anywhere = service;
  anywhere.clear_address();
  anywhere.clear_port_label();
  anywhere.set_address_mode("auto");
  DROVER_TRY(ResolvedService filled, resolve_service(anywhere, place));
  auto named = std::make_shared<v1::Service>(*filled.service);
  named->set_port_label(service.port_label());
  named->set_address(service.address());
  named->set_address_mode(service.address_mode());
  filled.id = service_id(*named, place);
  filled.check_ids = check_ids(service, place);
  filled.service = std::move(named);
  return filled;
}

void add(const v1::Service& service, const ObservedPlace& from, const v1::Task* task, const Variables& environment,
         std::vector<ObservedCheck>& out) {
  if (service.checks_size() == 0) return;
  const ServicePlace place{.allocation = *from.spec.allocation,
                           .task = task,
                           .network = from.network,
                           .environment = environment,
                           .node = from.node};
  const auto filled = fill_in(service, place);
  for (int i = 0; i < service.checks_size(); ++i) {
    const v1::Service& of = filled ? *filled->service : service;
    out.push_back(describe(from.spec, of, of.checks(i), task));
    ObservedCheck& check = out.back();
    if (filled) check.registry_id = filled->check_ids[static_cast<size_t>(i)];
    check.is_remote = from.runs_remotely && from.runs_remotely(check.provider, check.check->type());
    if (check.is_remote) check.thresholds = {};  // the registry counts
    if (check.is_remote || of.checks(i).type() == kScript) continue;
    const auto at = filled ? resolve_check(of.checks(i), *filled, place) : Result<ServiceAddress>(filled.status());
    if (!at) {
      check.problem = at.status().message();
      continue;
    }
    check.address = at->address;
    check.port = static_cast<uint32_t>(at->port);
  }
}

}  // namespace

bool runs_alike(const ObservedCheck& one, const ObservedCheck& other) {
  const auto run_of = [](const ObservedCheck& check) {
    return std::tie(check.id, check.registry_id, check.is_remote, check.inside, check.address, check.port,
                    check.problem);
  };
  return run_of(one) == run_of(other) && serialize(*one.check) == serialize(*other.check);
}

std::vector<ObservedCheck> observe(const ObservedPlace& place) {
  std::vector<ObservedCheck> out;
  if (!place.spec.group) return out;
  const v1::Job& job = *place.spec.job;
  const Variables of_group = group_environment(job, *place.spec.allocation, place.node, place.network);
  for (const v1::Service& service : place.spec.group->services()) add(service, place, nullptr, of_group, out);
  for (const v1::Task& task : place.spec.group->tasks()) {
    if (task.services_size() == 0) continue;
    const Variables of_task = task_environment({.job = job,
                                                .allocation = *place.spec.allocation,
                                                .task = task,
                                                .node = place.node,
                                                .region = job.region(),
                                                .datacenter = {},
                                                .paths = {},
                                                .network = place.network});
    for (const v1::Service& service : task.services()) add(service, place, &task, of_task, out);
  }
  return out;
}

}  // namespace drover::checks

#include "services/consul_provider.h"

#include <set>

#include "drover/log.h"
#include "drover/v1/service_provider.pb.h"

namespace drover::consul {
namespace {

constexpr const char* kNotConfigured = "the agent's configuration has no block \"consul\"";

void add_failure(v1::SyncServicesResponse& response, const std::string& id, const std::string& reason) {
  v1::UnpublishedInstance& failure = *response.add_failures();
  failure.set_id(id);
  failure.set_reason(reason);
}

// That others try again later.
bool is_passing_trouble(const Status& status) {
  return status.code() == Code::unavailable || status.code() == Code::cancelled;
}

std::string shown(const std::string& name_space) { return name_space.empty() ? kDefaultNamespace : name_space; }

const char* counter_of(Operation::Kind kind) {
  switch (kind) {
    case Operation::Kind::deregister_service:
      return "nomad.client.consul.service_deregistrations";
    case Operation::Kind::register_service:
      return "nomad.client.consul.service_registrations";
    case Operation::Kind::deregister_check:
      return "nomad.client.consul.check_deregistrations";
    case Operation::Kind::register_check:
      return "nomad.client.consul.check_registrations";
  }
  return "";
}

Status carry_out(const ConsulClient& client, const Operation& operation, std::stop_token stop) {
  Status status;
  switch (operation.kind) {
    case Operation::Kind::deregister_service:
      status = client.deregister_service(operation.id, std::move(stop));
      break;
    case Operation::Kind::register_service:
      return client.register_service(operation.body, std::move(stop));
    case Operation::Kind::deregister_check:
      status = client.deregister_check(operation.id, std::move(stop));
      break;
    case Operation::Kind::register_check:
      return client.register_check(operation.body, std::move(stop));
  }
  return status.code() == Code::not_found ? ok_status() : status;  // it is gone
}

}  // namespace

void ConsulProvider::start(const ConsulClient& client, Clock& clock, Metrics& metrics, Published published) {
  client_ = &client;
  clock_ = &clock;
  metrics_ = &metrics;
  young_until_ = clock.steady() + kYoung;
  published_ = std::move(published);
}

// Those where something of this node may stand that nobody wants any more.
std::set<std::string> ConsulProvider::further_namespaces(std::stop_token stop) {
  std::set<std::string> out;
  const auto there = client_->namespaces(std::move(stop));
  if (there) {
    out.insert(there->begin(), there->end());
  } else {
    log::debug("consul", "Consul's namespaces are not known", {{"error", there.status().message()}});
  }
  const MutexLock lock(mutex_);
  for (const auto& [name_space, before] : before_) {
    if (!before.tags.empty()) out.insert(name_space);
  }
  return out;
}

Result<v1::SyncServicesResponse> ConsulProvider::sync(const v1::SyncServicesRequest& request, std::stop_token stop) {
  v1::SyncServicesResponse response;
  if (!client_) {
    for (const v1::ServiceInstance& instance : request.instances())
      add_failure(response, instance.id(), kNotConfigured);
    return response;
  }
  std::map<std::string, Wanted> wanted;  // by namespace
  wanted[client_->endpoint().name_space];
  for (const v1::ServiceInstance& instance : request.instances()) {
    auto service = wanted_service(instance, request.node_id());
    if (service) {
      const std::string name_space = client_->in(instance.registry_namespace()).endpoint().name_space;
      wanted[name_space].services[instance.id()] = *std::move(service);
    } else {
      add_failure(response, instance.id(), service.status().message());
    }
  }
  std::set<std::string> in_use;
  for (const auto& [name_space, there] : wanted) in_use.insert(name_space);
  for (const std::string& name_space : further_namespaces(stop)) wanted[name_space];
  Status trouble;
  for (auto& [name_space, there] : wanted) {
    there.node_id = request.node_id();
    const Status status = sync_in(name_space, there, response, stop);
    if (trouble.ok() && is_passing_trouble(status)) trouble = status;
    if (status.ok()) continue;
    metrics_->add("nomad.client.consul.sync_failure");
    if (is_passing_trouble(status)) continue;
    const Status why = status.with_context("Consul's namespace \"" + shown(name_space) + "\"");
    for (const auto& [id, service] : there.services) add_failure(response, id, why.message());
  }
  size_t services = 0, checks = 0;
  for (const auto& [name_space, there] : wanted) {
    services += there.services.size();
    for (const auto& [id, service] : there.services) checks += service.checks.size();
  }
  metrics_->set("nomad.client.consul.services", static_cast<double>(services));
  metrics_->set("nomad.client.consul.checks", static_cast<double>(checks));
  published_(in_use);
  if (!trouble.ok()) return trouble;
  return response;
}

// Errors: what keeps all of the namespace from being looked at; unavailable also for a step that is to be tried again.
Status ConsulProvider::sync_in(const std::string& name_space, const Wanted& wanted, v1::SyncServicesResponse& response,
                               std::stop_token stop) {
  const ConsulClient client = client_->in(name_space);
  Known known;
  DROVER_TRY(known.services, client.services(stop));
  DROVER_TRY(known.checks, client.checks(stop));
  std::vector<Operation> operations;
  {
    MutexLock lock(mutex_);
    Remembered& before = before_[name_space];
    before.is_young = clock_->steady() < young_until_;
    operations = plan(wanted, known, before);
  }
  Status trouble;
  std::set<std::string> failed;
  for (const Operation& operation : operations) {
    const Status status = carry_out(client, operation, stop);
    if (status.ok()) {
      metrics_->add(counter_of(operation.kind));
      continue;
    }
    failed.insert(operation.service);
    if (is_passing_trouble(status)) {
      if (trouble.ok()) trouble = status;
    } else {
      add_failure(response, operation.service, status.message());
    }
  }
  MutexLock lock(mutex_);
  auto& tags = before_[name_space].tags;
  // A step that failed is tried again as it was.
  for (const auto& [id, service] : wanted.services) {
    if (!failed.contains(id) || !tags.contains(id)) tags[id] = service.service.tags;
  }
  std::erase_if(tags, [&](const auto& row) {
    return !wanted.services.contains(row.first) && !failed.contains(row.first);
  });
  return trouble;
}

}  // namespace drover::consul

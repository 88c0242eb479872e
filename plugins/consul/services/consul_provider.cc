#include "services/consul_provider.h"

#include <set>

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

}  // namespace

void ConsulProvider::start(const ConsulClient& client, Clock& clock, std::function<void()> published) {
  client_ = &client;
  clock_ = &clock;
  young_until_ = clock.steady() + kYoung;
  published_ = std::move(published);
}

Status ConsulProvider::carry_out(const Operation& operation, std::stop_token stop) const {
  Status status;
  switch (operation.kind) {
    case Operation::Kind::deregister_service:
      status = client_->deregister_service(operation.id, std::move(stop));
      break;
    case Operation::Kind::register_service:
      return client_->register_service(operation.body, std::move(stop));
    case Operation::Kind::deregister_check:
      status = client_->deregister_check(operation.id, std::move(stop));
      break;
    case Operation::Kind::register_check:
      return client_->register_check(operation.body, std::move(stop));
  }
  return status.code() == Code::not_found ? ok_status() : status;  // it is gone
}

Result<v1::SyncServicesResponse> ConsulProvider::sync(const v1::SyncServicesRequest& request, std::stop_token stop) {
  v1::SyncServicesResponse response;
  if (!client_) {
    for (const v1::ServiceInstance& instance : request.instances())
      add_failure(response, instance.id(), kNotConfigured);
    return response;
  }
  Wanted wanted{.node_id = request.node_id(), .services = {}};
  for (const v1::ServiceInstance& instance : request.instances()) {
    auto service = wanted_service(instance, request.node_id());
    if (service) {
      wanted.services[instance.id()] = *std::move(service);
    } else {
      add_failure(response, instance.id(), service.status().message());
    }
  }
  Known known;
  DROVER_TRY(known.services, client_->services(stop));
  DROVER_TRY(known.checks, client_->checks(stop));
  std::vector<Operation> operations;
  {
    MutexLock lock(mutex_);
    before_.is_young = clock_->steady() < young_until_;
    operations = plan(wanted, known, before_);
  }
  Status trouble;
  std::set<std::string> failed;
  for (const Operation& operation : operations) {
    const Status status = carry_out(operation, stop);
    if (status.ok()) continue;
    failed.insert(operation.service);
    if (is_passing_trouble(status)) {
      if (trouble.ok()) trouble = status;
    } else {
      add_failure(response, operation.service, status.message());
    }
  }
  {
    MutexLock lock(mutex_);
    // A step that failed is tried again as it was.
    for (const auto& [id, service] : wanted.services) {
      if (!failed.contains(id) || !before_.tags.contains(id)) before_.tags[id] = service.service.tags;
    }
    std::erase_if(before_.tags, [&](const auto& row) {
      return !wanted.services.contains(row.first) && !failed.contains(row.first);
    });
  }
  published_();
  if (!trouble.ok()) return trouble;
  return response;
}

}  // namespace drover::consul

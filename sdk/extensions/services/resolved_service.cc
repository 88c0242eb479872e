#include "drover/resolved_service.h"

#include <nlohmann/json.hpp>

#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/service.pb.h"
#include "drover/v1/service_provider.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "service_address.h"

namespace drover {
namespace {

using Texts = google::protobuf::RepeatedPtrField<std::string>;
using Pairs = google::protobuf::Map<std::string, std::string>;

// Fills in the references of texts.
class Filler {
 public:
  explicit Filler(const ServicePlace& place) : place_(place) {}

  void operator()(std::string* text) const { *text = filled(*text); }
  void operator()(Texts* texts) const {
    for (std::string& text : *texts) text = filled(text);
  }
  void operator()(Pairs* pairs) const {
    Pairs out;
    for (const auto& [name, value] : *pairs) out[filled(name)] = filled(value);
    *pairs = std::move(out);
  }
  // JSON: name → list of values. Anything else is left as it is.
  void headers(std::string* json) const {
    const auto from = nlohmann::json::parse(*json, nullptr, false);
    if (!from.is_object()) return;
    nlohmann::json out = nlohmann::json::object();
    for (const auto& [name, values] : from.items()) {
      nlohmann::json& list = out[filled(name)] = values;
      if (!list.is_array()) continue;
      for (nlohmann::json& value : list) {
        if (value.is_string()) value = filled(value.get_ref<const std::string&>());
      }
    }
    *json = out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

 private:
  std::string filled(const std::string& text) const { return interpolate(text, place_.environment, place_.node); }
  const ServicePlace& place_;
};

// Not the task's name, the body, interval and timeout.
void fill_check(const Filler& fill, v1::ServiceCheck& check) {
  for (std::string* text : {check.mutable_name(), check.mutable_type(), check.mutable_command(), check.mutable_path(),
                            check.mutable_protocol(), check.mutable_port_label(), check.mutable_initial_status(),
                            check.mutable_method(), check.mutable_grpc_service()}) {
    fill(text);
  }
  fill(check.mutable_args());
  fill.headers(check.mutable_header());
}

void fill_service(const Filler& fill, v1::Service& service) {
  for (std::string* text : {service.mutable_name(), service.mutable_port_label(), service.mutable_address()})
    fill(text);
  fill(service.mutable_tags());
  fill(service.mutable_canary_tags());
  for (Pairs* pairs : {service.mutable_meta(), service.mutable_canary_meta(), service.mutable_tagged_addresses()})
    fill(pairs);
  for (v1::ServiceCheck& check : *service.mutable_checks()) fill_check(fill, check);
}

void choose_canary(const v1::Allocation& allocation, v1::Service& service) {
  if (!allocation.deployment_status().canary()) return;
  if (!service.canary_tags().empty()) *service.mutable_tags() = service.canary_tags();
  if (!service.canary_meta().empty()) *service.mutable_meta() = service.canary_meta();
}

std::string id_of(const v1::Service& service, const ServicePlace& place) {
  const std::string workload = place.task ? place.task->name() : "group-" + place.allocation.task_group();
  return "_nomad-task-" + Uuid::from_bytes(place.allocation.id()).to_string() + "-" + workload + "-" + service.name() +
         "-" + service.port_label();
}

// As it is, or with the node's address where it has none.
ServiceAddress or_node(ServiceAddress found, const Variables& node) {
  if (!found.address.empty()) return found;
  if (const auto at = node.find("attr.unique.network.ip-address"); at != node.end()) found.address = at->second;
  return found;
}

Result<ServiceAddress> resolve(const AddressWish& wish, const ServicePlace& place, const std::string& what) {
  auto found = service_address(wish, place);
  if (!found) return found.status().with_context("unable to get address for " + what);
  return or_node(*std::move(found), place.node);
}

}  // namespace

Variables group_environment(const v1::Job& job, const v1::Allocation& allocation, const Variables& node,
                            const v1::NetworkStatus* network) {
  const auto of_node = [&](std::string_view name) {
    const auto at = node.find(name);
    return at == node.end() ? std::string() : at->second;
  };
  Variables out = task_environment({.job = job,
                                    .allocation = allocation,
                                    .task = v1::Task::default_instance(),
                                    .node = node,
                                    .region = of_node("node.region"),
                                    .datacenter = of_node("node.datacenter"),
                                    .paths = {},
                                    .network = network});
  for (const char* name : {"NOMAD_ALLOC_DIR", "NOMAD_TASK_DIR", "NOMAD_SECRETS_DIR", "NOMAD_TASK_NAME"})
    out.erase(name);
  return out;
}

Result<ResolvedService> resolve_service(const v1::Service& service, const ServicePlace& place) {
  auto filled = std::make_shared<v1::Service>(service);
  fill_service(Filler(place), *filled);
  choose_canary(place.allocation, *filled);
  ServicePlace mine = place;
  if (mine.task) mine.network = nullptr;  // the network of the allocation is for services of its group
  DROVER_TRY(ServiceAddress at, resolve({filled->address(), filled->address_mode(), filled->port_label()}, mine,
                                        "service \"" + filled->name() + "\""));
  return ResolvedService{.id = id_of(*filled, place), .service = filled, .at = std::move(at)};
}

Result<ServiceAddress> resolve_check(const v1::ServiceCheck& check, const ResolvedService& service,
                                     const ServicePlace& place) {
  const v1::Service& of = *service.service;
  static const std::string kAuto = "auto", kHost = "host", kNone;
  const bool is_own = !check.address_mode().empty();
  const std::string& mode = is_own ? check.address_mode() : of.address().empty() ? kHost : kAuto;
  const std::string& port = check.port_label().empty() ? of.port_label() : check.port_label();
  ServicePlace mine = place;
  mine.task = nullptr;
  mine.driver_network = nullptr;
  return resolve({is_own ? kNone : of.address(), mode, port}, mine, "check \"" + check.name() + "\"");
}

v1::ServiceInstance service_instance(const ResolvedService& service, const ServicePlace& place) {
  const v1::Service& from = *service.service;
  v1::ServiceInstance out;
  out.set_id(service.id);
  out.set_service(from.name());
  out.set_namespace_(place.allocation.namespace_());
  out.set_job_id(place.allocation.job_id());
  out.set_group(place.allocation.task_group());
  out.set_alloc_id(Uuid::from_bytes(place.allocation.id()).to_string());
  if (place.task) out.set_task(place.task->name());
  out.set_address(service.at.address);
  out.set_port(static_cast<uint32_t>(service.at.port));
  *out.mutable_tags() = from.tags();
  *out.mutable_meta() = from.meta();
  out.set_status(v1::CheckResult::PASSING);
  return out;
}

}  // namespace drover

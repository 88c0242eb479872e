#include "drover/resolved_service.h"

#include <nlohmann/json.hpp>

#include "drover/messages.h"
#include "drover/sha256.h"
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

std::string workload_of(const ServicePlace& place) {
  return Uuid::from_bytes(place.allocation.id()).to_string() + "-" +
         (place.task ? place.task->name() : "group-" + place.allocation.task_group());
}

constexpr size_t kCheckIdBytes = 20;

void set_time(google::protobuf::Duration& to, int64_t ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  to.set_seconds(ns / kSecond);
  to.set_nanos(static_cast<int32_t>(ns % kSecond));
}

void describe_check(const v1::ServiceCheck& from, v1::InstanceCheck& out) {
  out.set_name(from.name());
  out.set_type(from.type());
  set_time(*out.mutable_interval(), from.interval());
  set_time(*out.mutable_timeout(), from.timeout());
  out.set_initial_status(from.initial_status());
  out.set_notes(from.notes());
  out.set_success_before_passing(from.success_before_passing());
  out.set_failures_before_critical(from.failures_before_critical());
  out.set_failures_before_warning(from.failures_before_warning());
  out.set_protocol(from.protocol());
  out.set_path(from.path());
  out.set_method(from.method());
  out.set_body(from.body());
  out.set_header(from.header());
  out.set_tls_skip_verify(from.tls_skip_verify());
  out.set_tls_server_name(from.tls_server_name());
  out.set_grpc_service(from.grpc_service());
  out.set_grpc_use_tls(from.grpc_use_tls());
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

const std::string& consul_namespace(const v1::TaskGroup& group, const v1::Task& task) {
  const std::string& own = task.consul().namespace_();
  return own.empty() ? group.consul().namespace_() : own;
}

std::string service_id(const v1::Service& filled, const ServicePlace& place) {
  return "_nomad-task-" + workload_of(place) + "-" + filled.name() + "-" + filled.port_label();
}

// By what the job says, not by what its references stand for: those who run a check and those who register it need not
// know the same of its surroundings.
std::vector<std::string> check_ids(const v1::Service& service, const ServicePlace& place) {
  std::vector<std::string> out;
  for (const v1::ServiceCheck& check : service.checks()) {
    v1::ServiceCheck asked = check;
    asked.clear_check_restart();
    asked.clear_on_update();
    Sha256 sum;
    for (const std::string& part :
         {workload_of(place), service.name(), service.port_label(), service.address(), serialize(asked)}) {
      sum.add(part);
      sum.add(std::string_view("\0", 1));
    }
    out.push_back(to_hex(sum.take().substr(0, kCheckIdBytes)));
  }
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
  return ResolvedService{.id = service_id(*filled, place),
                         .service = filled,
                         .at = std::move(at),
                         .check_ids = check_ids(service, place)};
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
  if (mode != "driver" || of.provider() != "consul") mine.driver_network = nullptr;
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
  *out.mutable_tagged_addresses() = from.tagged_addresses();
  out.set_enable_tag_override(from.enable_tag_override());
  out.set_passing_weight(from.weights().passing());
  out.set_warning_weight(from.weights().warning());
  for (int i = 0; i < from.checks_size(); ++i) {
    const v1::ServiceCheck& check = from.checks(i);
    ServiceAddress at;
    if (check.type() != "script") {
      auto found = resolve_check(check, service, place);
      if (!found) continue;
      at = *std::move(found);
    }
    v1::InstanceCheck& told = *out.add_checks();
    describe_check(check, told);
    told.set_id(service.check_ids[static_cast<size_t>(i)]);
    told.set_address(at.address);
    told.set_port(static_cast<uint32_t>(at.port));
  }
  return out;
}

}  // namespace drover

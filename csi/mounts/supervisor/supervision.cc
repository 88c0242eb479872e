#include "supervisor/supervision.h"

#include <pthread.h>
#include <sys/stat.h>

#include "csi/protocol/client.h"
#include "csi/protocol/convert.h"
#include "drover/log.h"
#include "drover/pause.h"
#include "drover/v1/csi.pb.h"

namespace drover::mounts {
namespace {

// As people know them.
constexpr const char* kBecameHealthy = "Plugin became healthy";
constexpr const char* kBecameUnhealthy = "Plugin became unhealthy";

bool is_socket(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

}  // namespace

struct Supervision::Facts {
  csi::v1::GetPluginInfoResponse plugin;
  bool has_controller_service = false;
  bool has_topologies = false;
  csi::v1::NodeGetInfoResponse node;
};

Supervision::Supervision(Setup setup, std::shared_ptr<const Instance> instance)
    : setup_(std::move(setup)), instance_(std::move(instance)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Supervision::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void Supervision::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "csi-plugin");
  const Status ready = become_ready(stop);
  if (stop.stop_requested()) return;
  if (!ready.ok()) {
    log::warn("mounts", "a storage plugin did not become healthy in time; it is started again",
              {{"plugin", instance_->plugin_id}, {"error", ready.message()}});
    setup_.tell(kBecameUnhealthy, "Error: CSI plugin failed probe: " + ready.message());
    if (setup_.health) setup_.health(false, "it did not become healthy in time: " + ready.message());
    return setup_.restart_failed("CSI plugin did not become healthy before the timeout");
  }
  watch(stop);
}

Status Supervision::become_ready(const std::stop_token& stop) {
  const SteadyTime end = setup_.clock.steady() + setup_.health_timeout;
  while (true) {
    const bool is_there = is_socket(setup_.socket);
    const Status status = is_there ? look(stop) : not_found("the plugin has made no socket at " + setup_.socket);
    const SteadyTime now = setup_.clock.steady();
    if (status.ok() || stop.stop_requested() || now >= end) return status;
    const SteadyTime next = now + (is_there ? setup_.timing.between_tries : setup_.timing.look_for_socket);
    pause_until(std::min(next, end), stop);
  }
}

void Supervision::watch(const std::stop_token& stop) {
  const uint64_t number = setup_.instances.add(instance_, described_);
  const std::string whose = instance_->alloc.is_zero() ? "" : instance_->alloc.to_string();
  log::info("mounts", "a storage plugin is registered",
            {{"plugin", instance_->plugin_id}, {"type", instance_->type}, {"alloc", whose}});
  tell_health(ok_status());
  bool is_healthy = true;
  while (pause_for(is_healthy ? setup_.timing.between_probes : setup_.timing.between_tries, stop)) {
    const Status status = look(stop);
    if (stop.stop_requested()) break;
    setup_.instances.describe(number, described_as(status));
    if (status.ok() == is_healthy) continue;
    is_healthy = status.ok();
    tell_health(status);
  }
  if (setup_.gone) return setup_.gone(number);
  setup_.instances.remove(number);
}

void Supervision::tell_health(const Status& health) const {
  if (health.ok()) {
    setup_.tell(kBecameHealthy, "plugin: " + instance_->plugin_id);
  } else {
    setup_.tell(kBecameUnhealthy, "Error: " + health.message());
  }
  if (setup_.health) setup_.health(health.ok(), health.message());
}

// Ok: it is ready, and described_ is new.
Status Supervision::look(const std::stop_token& stop) {
  DROVER_RETURN_IF_ERROR(probe(stop));
  if (!facts_) DROVER_RETURN_IF_ERROR(learn_facts(stop));
  DROVER_TRY(described_, describe(stop));
  return ok_status();
}

template <typename Response, typename Request>
Result<Response> Supervision::ask(const Request& request, const std::stop_token& stop) const {
  return instance_->client->call<Response>(request, {.each_try = setup_.timing.each_call, .tries = 1}, stop);
}

Status Supervision::probe(const std::stop_token& stop) const {
  DROVER_TRY(const auto answer, ask<csi::v1::ProbeResponse>(csi::v1::ProbeRequest(), stop));
  const bool is_ready = !answer.has_ready() || answer.ready().value();
  return is_ready ? ok_status() : unavailable("the plugin is not ready yet");
}

Status Supervision::learn_facts(const std::stop_token& stop) {
  auto facts = std::make_shared<Facts>();
  DROVER_TRY(facts->plugin, ask<csi::v1::GetPluginInfoResponse>(csi::v1::GetPluginInfoRequest(), stop));
  DROVER_TRY(const auto all,
             ask<csi::v1::GetPluginCapabilitiesResponse>(csi::v1::GetPluginCapabilitiesRequest(), stop));
  for (const auto& one : all.capabilities()) {
    using Service = csi::v1::PluginCapability::Service;
    facts->has_controller_service |= one.service().type() == Service::CONTROLLER_SERVICE;
    facts->has_topologies |= one.service().type() == Service::VOLUME_ACCESSIBILITY_CONSTRAINTS;
  }
  if (instance_->type == "controller" && !facts->has_controller_service)
    return failed_precondition("the plugin has no controller service");
  if (instance_->has_node()) {
    DROVER_TRY(facts->node, ask<csi::v1::NodeGetInfoResponse>(csi::v1::NodeGetInfoRequest(), stop));
  }
  if (setup_.learnt) setup_.learnt(facts->plugin.name(), facts->plugin.vendor_version());
  facts_ = std::move(facts);
  return ok_status();
}

Result<Described> Supervision::describe(const std::stop_token& stop) const {
  v1::CsiInfo both;
  both.set_plugin_id(instance_->plugin_id);
  if (!instance_->alloc.is_zero()) both.set_alloc_id(instance_->alloc.bytes());
  both.set_healthy(true);
  both.set_health_description("healthy");
  both.set_update_time(setup_.clock.wall_ns());
  both.set_provider(facts_->plugin.name());
  both.set_provider_version(facts_->plugin.vendor_version());
  both.set_requires_controller_plugin(facts_->has_controller_service);
  both.set_requires_topologies(facts_->has_topologies);
  Described out;
  if (instance_->has_node()) {
    DROVER_TRY(const auto can, ask<csi::v1::NodeGetCapabilitiesResponse>(csi::v1::NodeGetCapabilitiesRequest(), stop));
    v1::CsiInfo node = both;
    DROVER_TRY(*node.mutable_node_info(), csi::node_info_of(facts_->node, can));
    out.node = std::make_shared<const v1::CsiInfo>(std::move(node));
  }
  if (instance_->has_controller() && facts_->has_controller_service) {
    DROVER_TRY(const auto can,
               ask<csi::v1::ControllerGetCapabilitiesResponse>(csi::v1::ControllerGetCapabilitiesRequest(), stop));
    v1::CsiInfo controller = both;
    *controller.mutable_controller_info() = csi::controller_info_of(can);
    out.controller = std::make_shared<const v1::CsiInfo>(std::move(controller));
  }
  return out;
}

// Its last words stand; its health is new.
Described Supervision::described_as(const Status& health) const {
  return health.ok() ? described_ : unhealthy(described_, health.message(), setup_.clock.wall_ns());
}

}  // namespace drover::mounts

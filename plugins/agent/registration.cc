#include "registration.h"

#include <pthread.h>

#include <algorithm>
#include <random>

#include "disk/host_volumes.h"
#include "driver_lookup.h"
#include "drover/config.h"
#include "drover/log.h"
#include "drover/messages.h"
#include "drover/node_fingerprint.h"
#include "drover/v1/node_service.pb.h"
#include "fingerprint/drivers.h"
#include "fingerprint/machine.h"
#include "node_proof/introduction.h"
#include "server_calls.h"

namespace drover::agent {
namespace {

// The newest Nomad whose interfaces this agent offers; jobs compare against it.
constexpr const char* kNomadVersion = "1.5.6";
constexpr auto kDriverInterval = std::chrono::seconds(30);
constexpr auto kDevicesTime = std::chrono::seconds(2);  // for the first word of device plugins
constexpr auto kShortestTtl = std::chrono::seconds(1);
constexpr auto kFirstRetry = std::chrono::milliseconds(100);
constexpr auto kLongestRetry = std::chrono::seconds(15);
constexpr auto kCallTime = std::chrono::seconds(15);

std::chrono::nanoseconds scaled(std::chrono::nanoseconds time, double factor) {
  return std::chrono::nanoseconds(static_cast<int64_t>(factor * static_cast<double>(time.count())));
}

}  // namespace

Status Registration::describe() {
  const AgentInfo& agent = client_.host.agent();
  auto node = std::make_shared<v1::Node>();
  node->set_id(client_.identity.id.bytes());
  node->set_secret_id(Uuid::parse(client_.identity.secret).value_or(Uuid()).bytes());
  node->set_name(agent.name);
  node->set_datacenter(agent.datacenter);
  node->set_node_class(client_.config.node_class);
  node->set_node_pool(client_.config.node_pool);
  node->set_http_addr(agent.advertise_http);
  const ConfigBlock* tls = client_.host.configuration("tls");
  node->set_tls_enabled(tls && tls->boolean("http"));
  node->set_status(v1::NODE_STATUS_INITIALIZING);
  for (const auto& [key, value] : client_.meta.all()) (*node->mutable_meta())[key] = value;
  DROVER_RETURN_IF_ERROR(describe_machine(client_.config, agent.dev_mode, *node));
  describe_host_volumes(client_.config.host_volumes, *node);
  report_absent(client_.config.host_volumes, *node);
  (*node->mutable_attributes())["nomad.version"] = kNomadVersion;
  (*node->mutable_attributes())["drover.version"] = agent.version;
  (*node->mutable_attributes())["nomad.advertise.address"] = agent.advertise_http;
  for (const std::string& name : client_.host.extensions<NodeFingerprint>())
    DROVER_RETURN_IF_ERROR(client_.host.extension<NodeFingerprint>(name)->describe(*node));
  MutexLock lock(mutex_);
  node_ = std::move(node);
  return ok_status();
}

std::shared_ptr<const v1::Node> Registration::node() const {
  MutexLock lock(mutex_);
  return node_;
}

void Registration::start() {
  for (PluginSource* source : plugin_sources(client_.host)) {
    source->watch<TaskDriver>([this] { describe_anew(); });
  }
  watch_fingerprints([this] { describe_anew(); });
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Registration::stop() {
  if (!thread_.joinable()) return;
  for (PluginSource* source : plugin_sources(client_.host)) source->watch<TaskDriver>({});
  watch_fingerprints({});
  thread_.request_stop();
  thread_.join();
}

void Registration::watch_fingerprints(const std::function<void()>& changed) {
  for (const std::string& name : client_.host.extensions<NodeFingerprint>())
    client_.host.extension<NodeFingerprint>(name)->watch(changed);
}

void Registration::describe_anew() {
  const MutexLock lock(mutex_);
  has_changed_ = true;
  woken_.notify_all();
}

void Registration::beat_now() {
  const MutexLock lock(mutex_);
  beats_now_ = true;
  woken_.notify_all();
}

// True when the servers know the node otherwise.
bool Registration::refresh() {
  auto next = std::make_shared<v1::Node>(*node());
  const bool are_drivers_others = describe_drivers(client_.host, client_.config, *next);
  v1::NodeResources known;
  *known.mutable_devices() = next->node_resources().devices();
  v1::NodeResources devices = client_.devices.resources();
  const bool are_devices_others = serialize(known) != serialize(devices);
  const Variables meta = client_.meta.all();
  const bool are_volumes_others = describe_host_volumes(client_.config.host_volumes, *next);
  const bool is_meta_other = Variables(next->meta().begin(), next->meta().end()) != meta;
  bool has_more = false;
  for (const std::string& name : client_.host.extensions<NodeFingerprint>())
    has_more = client_.host.extension<NodeFingerprint>(name)->refresh(*next) || has_more;
  if (!are_drivers_others && !are_devices_others && !are_volumes_others && !is_meta_other && !has_more) return false;
  next->clear_meta();
  for (const auto& [key, value] : meta) (*next->mutable_meta())[key] = value;
  *next->mutable_node_resources()->mutable_devices() = std::move(*devices.mutable_devices());
  MutexLock lock(mutex_);
  node_ = std::move(next);
  return true;
}

void Registration::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "node");
  std::mt19937_64 random{std::random_device{}()};
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  // A node whose devices are known from the start need not register twice.
  client_.devices.wait_first(client_.now() + kDevicesTime, stop);
  refresh();
  SteadyTime next_drivers = client_.now() + kDriverInterval;
  bool registered = false, announced = false;
  std::chrono::nanoseconds delay = kFirstRetry;
  SteadyTime next_call = client_.now();
  while (!stop.stop_requested()) {
    if (client_.now() >= next_drivers) {
      next_drivers = client_.now() + kDriverInterval;
      if (refresh()) {
        registered = false;
        next_call = client_.now();
      }
    }
    if (client_.now() >= next_call) {
      const Heartbeats before = heartbeats();
      std::string shown = client_.proof.identity();
      const bool is_anew = !registered || client_.now() - before.last > before.ttl;
      Status status = registered ? ok_status() : register_node(stop);
      if (status.ok()) {
        registered = true;
        shown = client_.proof.identity();
        status = heartbeat(stop);
      }
      if (status.ok()) {
        if (!std::exchange(announced, true))
          log::info("agent", "node is ready", {{"node", client_.identity.id.to_string()}});
        delay = kFirstRetry;
        // Inside the TTL, with the server's grace for another try. Not sooner: by the TTL servers bound how many
        // heartbeats they get in a second.
        next_call = client_.now() + scaled(heartbeats_.ttl, between(0.8, 0.95));
        known_(is_anew);
      } else {
        if (stop.stop_requested()) return;
        const bool is_refused = status.code() == Code::permission_denied;
        if (is_refused && registered) client_.proof.drop(shown);
        if (is_refused || status.code() == Code::not_found) registered = false;
        log::warn("agent", is_refused ? "the servers refuse this node" : "servers not reached",
                  {{"error", status.message()}});
        next_call = client_.now() + scaled(delay, between(0.75, 1.25));
        delay = std::min<std::chrono::nanoseconds>(delay * 2, kLongestRetry);
      }
    }
    MutexLock lock(mutex_);
    woken_.wait_until(lock, stop, std::min(next_call, next_drivers),
                      [this]() DROVER_REQUIRES(mutex_) { return has_changed_ || beats_now_; });
    if (std::exchange(has_changed_, false)) next_drivers = client_.now();
    if (std::exchange(beats_now_, false) && registered) next_call = client_.now();
  }
}

Status Registration::register_node(const std::stop_token& stop) {
  v1::RegisterNodeRequest request;
  *request.mutable_node() = *node();
  request.set_takes_identity(true);
  request.set_identity(client_.proof.identity());
  const auto introduction =
      introduction_token(client_.config.intro_token, introduction_file(client_.host.agent().data_dir));
  // Servers that know the node need none.
  if (introduction) {
    request.set_introduction(*introduction);
  } else {
    log::warn("agent", "the introduction token is not read", {{"error", introduction.status().message()}});
  }
  DROVER_TRY(auto response, call<v1::HeartbeatResponse>(
                                client_.host.caller(),
                                node_call(client_, "/drover.v1.NodeRegistry/Register", kCallTime, stop), request));
  heard(response);
  return ok_status();
}

Status Registration::heartbeat(const std::stop_token& stop) {
  v1::HeartbeatRequest request;
  request.set_node_id(client_.identity.id.bytes());
  request.set_secret_id(client_.proof.in_request());
  request.set_status(v1::NODE_STATUS_READY);
  request.set_takes_identity(true);
  request.set_renews_identity(client_.proof.wants_identity());
  DROVER_TRY(auto response, call<v1::HeartbeatResponse>(
                                client_.host.caller(),
                                node_call(client_, "/drover.v1.NodeRegistry/Heartbeat", kCallTime, stop), request));
  heard(response);
  return ok_status();
}

void Registration::heard(const v1::HeartbeatResponse& answer) {
  servers_.heard({answer.servers().begin(), answer.servers().end()});
  if (!answer.identity().empty()) client_.proof.replace(answer.identity());
  const std::chrono::nanoseconds ttl(answer.heartbeat_ttl());
  const MutexLock lock(mutex_);
  heartbeats_ = {client_.now(), std::max<std::chrono::nanoseconds>(ttl, kShortestTtl)};
}

Registration::Heartbeats Registration::heartbeats() const {
  const MutexLock lock(mutex_);
  return heartbeats_;
}

}  // namespace drover::agent

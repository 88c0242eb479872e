#include "node/consul_fingerprint.h"

#include <pthread.h>

#include <map>
#include <utility>

#include "drover/log.h"
#include "drover/pause.h"
#include "drover/v1/node.pb.h"

namespace drover::consul {
namespace {

constexpr const char* kNames[] = {"consul.server",     "consul.version", "consul.sku",
                                  "consul.revision",   "consul.segment", "consul.datacenter",
                                  "consul.connect",    "consul.grpc",    "consul.ft.namespaces",
                                  "unique.consul.name"};

std::string word(bool is_true) { return is_true ? "true" : "false"; }

std::map<std::string, std::string> attributes_of(const AgentSelf& self) {
  std::map<std::string, std::string> out = {{"consul.server", word(self.is_server)},
                                            {"consul.version", self.version.substr(0, self.version.find('+'))},
                                            {"consul.sku", self.is_enterprise ? "ent" : "oss"},
                                            {"consul.revision", self.revision},
                                            {"consul.segment", self.segment},
                                            {"consul.datacenter", self.datacenter},
                                            {"consul.connect", word(self.has_connect)},
                                            {"consul.grpc", std::to_string(self.grpc_port)},
                                            {"consul.ft.namespaces", word(self.is_enterprise)},
                                            {"unique.consul.name", self.name}};
  std::erase_if(out, [](const auto& row) { return row.second.empty(); });
  return out;
}

bool is_same(const std::optional<AgentSelf>& one, const AgentSelf& other) {
  return one && attributes_of(*one) == attributes_of(other);
}

bool set_link(const std::optional<AgentSelf>& self, v1::Node& node) {
  auto& links = *node.mutable_links();
  if (!self) return links.erase("consul") > 0;
  std::string& link = links["consul"];
  return std::exchange(link, self->datacenter + "." + self->name) != link;
}

}  // namespace

bool describe_consul(const std::optional<AgentSelf>& self, v1::Node& node) {
  const auto wanted = self ? attributes_of(*self) : std::map<std::string, std::string>();
  auto& attributes = *node.mutable_attributes();
  bool is_other = false;
  for (const char* name : kNames) {
    const auto want = wanted.find(name);
    const auto there = attributes.find(name);
    if (want == wanted.end()) {
      is_other = attributes.erase(name) > 0 || is_other;
    } else if (there == attributes.end() || there->second != want->second) {
      attributes[name] = want->second;
      is_other = true;
    }
  }
  return set_link(self, node) || is_other;
}

void ConsulFingerprint::start(const ConsulClient& client) {
  client_ = &client;
  look({});
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void ConsulFingerprint::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

Status ConsulFingerprint::describe(v1::Node& node) {
  refresh(node);
  return ok_status();
}

bool ConsulFingerprint::refresh(v1::Node& node) {
  const MutexLock lock(mutex_);
  return describe_consul(self_, node);
}

void ConsulFingerprint::watch(std::function<void()> changed) {
  const MutexLock lock(telling_);
  changed_ = std::move(changed);
}

// One that has been there stays described while it is away: what runs need not move for it.
bool ConsulFingerprint::look(const std::stop_token& stop) {
  auto found = client_->self(stop);
  if (stop.stop_requested()) return false;
  if (!found) {
    if (!std::exchange(is_away_, true)) log::warn("consul", "Consul is away", {{"error", found.status().message()}});
    return false;
  }
  if (std::exchange(is_away_, false)) log::info("consul", "Consul is here", {{"version", found->version}});
  {
    const MutexLock lock(mutex_);
    if (is_same(self_, *found)) return true;
    self_ = *std::move(found);
  }
  const MutexLock lock(telling_);
  if (changed_) changed_();
  return true;
}

void ConsulFingerprint::work(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "consul-node");
  bool is_found = true;
  do {
    is_found = look(stop);
  } while (pause_for(is_found ? kEvery : kEveryUntilFound, stop));
}

}  // namespace drover::consul

#include "joining/joiner.h"

#include <pthread.h>

#include <algorithm>
#include <random>

#include "drover/log.h"
#include "drover/pause.h"
#include "drover/server_joiner.h"
#include "joining/found_servers.h"
#include "joining/join_turns.h"

namespace drover::consul {
namespace {

constexpr auto kRound = std::chrono::seconds(3);
constexpr size_t kMostServers = 64;  // that one look tries

bool is_member(const RaftInfo& raft) { return !raft.cluster_id.is_zero(); }
bool has_leader(const RaftInfo& raft) { return raft.is_leader || !raft.leader_id.is_zero(); }

}  // namespace

void ServerSearch::start(Host& host, const ConsulClient& client, std::string service) {
  host_ = &host;
  client_ = &client;
  service_ = std::move(service);
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void ServerSearch::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

bool ServerSearch::look(const std::stop_token& stop) {
  auto found = find_servers(*client_, service_, "serf", stop);
  if (!found) {
    log::debug("consul", "no servers to join", {{"error", found.status().message()}});
    return false;
  }
  std::erase(*found, host_->agent().advertise_serf);
  if (found->size() > kMostServers) found->resize(kMostServers);
  if (found->empty()) return false;
  const std::vector<std::string> all = host_->extensions<ServerJoiner>();
  if (all.empty()) return false;
  const auto joined = host_->extension<ServerJoiner>(all.front())->join_servers(*found);
  if (joined) {
    log::info("consul", "joined servers that stand in Consul", {{"servers", *joined}});
  } else {
    log::warn("consul", "no server that stands in Consul could be joined", {{"error", joined.status().message()}});
  }
  return joined.ok();
}

void ServerSearch::work(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "consul-join");
  std::minstd_rand random(std::random_device{}());
  JoinTurns turns;
  while (pause_for(kRound, stop)) {  // one that begins a cluster of its own leads by then
    const RaftInfo raft = host_->raft();
    if (!turns.is_due(has_leader(raft), is_member(raft), host_->clock().steady())) continue;
    const bool has_joined = look(stop);
    turns.found(has_joined, std::uniform_real_distribution<double>(0, 1)(random), host_->clock().steady());
  }
}

void ClientSearch::start(const ConsulClient& client, std::string service) {
  client_ = &client;
  service_ = std::move(service);
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void ClientSearch::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

std::vector<std::string> ClientSearch::rpc_addresses() const {
  const MutexLock lock(mutex_);
  return found_;
}

void ClientSearch::work(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "consul-join");
  bool has_found = false;
  do {
    auto found = find_servers(*client_, service_, "rpc", stop);
    const MutexLock lock(mutex_);
    if (found) {
      if (found_ != *found) log::info("consul", "servers stand in Consul", {{"servers", found->size()}});
      found_ = *std::move(found);
      has_found = true;
    }
  } while (pause_for(has_found ? kEvery : kEveryUntilFound, stop));
}

}  // namespace drover::consul

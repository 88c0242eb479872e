#include "node_metrics.h"

#include <pthread.h>

#include <condition_variable>

#include "drover/config.h"

namespace drover::agent {
namespace {

constexpr std::chrono::nanoseconds kInterval = std::chrono::seconds(1);
constexpr std::chrono::nanoseconds kShortestInterval = std::chrono::milliseconds(100);

Labels with(Labels labels, std::string name, std::string value) {
  labels.emplace_back(std::move(name), std::move(value));
  return labels;
}

struct Sum {
  int64_t cpu = 0, memory = 0, disk = 0;
};

bool is_terminal(v1::ClientStatus status) {
  return status == v1::CLIENT_STATUS_COMPLETE || status == v1::CLIENT_STATUS_FAILED || status == v1::CLIENT_STATUS_LOST;
}

}  // namespace

void set_host_gauges(Metrics& metrics, const Labels& labels, const v1::HostStats& stats) {
  const auto set = [&](const std::string& name, auto value, const Labels& own) {
    metrics.set("nomad.client." + name, static_cast<double>(value), own);
  };
  set("uptime", stats.uptime(), labels);
  set("host.memory.total", stats.memory().total(), labels);
  set("host.memory.available", stats.memory().available(), labels);
  set("host.memory.used", stats.memory().used(), labels);
  set("host.memory.free", stats.memory().free(), labels);
  for (const v1::HostCpuStats& cpu : stats.cpu()) {
    const Labels own = with(labels, "cpu", cpu.cpu());
    set("host.cpu.total", cpu.total(), own);
    set("host.cpu.user", cpu.user(), own);
    set("host.cpu.system", cpu.system(), own);
    set("host.cpu.idle", cpu.idle(), own);
  }
  for (const v1::HostDiskStats& disk : stats.disk_stats()) {
    const Labels own = with(labels, "disk", disk.device());
    set("host.disk.size", disk.size(), own);
    set("host.disk.used", disk.used(), own);
    set("host.disk.available", disk.available(), own);
    set("host.disk.used_percent", disk.used_percent(), own);
    set("host.disk.inodes_percent", disk.inodes_used_percent(), own);
  }
}

void set_allocation_gauges(Metrics& metrics, const Labels& labels, const v1::Node& node,
                           const std::vector<AllocUse>& allocations) {
  Sum given;
  int pending = 0, running = 0, terminal = 0;
  for (const AllocUse& one : allocations) {
    pending += one.status == v1::CLIENT_STATUS_PENDING ? 1 : 0;
    running += one.status == v1::CLIENT_STATUS_RUNNING ? 1 : 0;
    terminal += is_terminal(one.status) ? 1 : 0;
    if (is_terminal(one.status)) continue;
    given.disk += one.given.shared().disk_mb();
    for (const auto& [name, task] : one.given.tasks()) {
      given.cpu += task.cpu().cpu_shares();
      given.memory += task.memory().memory_mb();
    }
  }
  const auto set = [&](const std::string& name, int64_t value) {
    metrics.set("nomad.client." + name, static_cast<double>(value), labels);
  };
  set("allocations.pending", pending);
  set("allocations.running", running);
  set("allocations.terminal", terminal);
  set("allocated.cpu", given.cpu);
  set("allocated.memory", given.memory);
  set("allocated.disk", given.disk);
  const auto& all = node.node_resources();
  const auto& reserved = node.reserved_resources();
  set("unallocated.cpu", all.cpu().cpu_shares() - reserved.cpu().cpu_shares() - given.cpu);
  set("unallocated.memory", all.memory().memory_mb() - reserved.memory().memory_mb() - given.memory);
  set("unallocated.disk", all.disk().disk_mb() - reserved.disk().disk_mb() - given.disk);
}

void NodeMetrics::start() {
  std::chrono::nanoseconds interval = kInterval;
  with_host_ = client_.host.agent().dev_mode;
  if (const ConfigBlock* telemetry = client_.host.configuration("telemetry")) {
    interval = std::max(telemetry->duration("collection_interval", interval), kShortestInterval);
    with_host_ = with_host_ || telemetry->boolean("publish_node_metrics");
  }
  thread_ = std::jthread([this, interval](const std::stop_token& stop) {
    ::pthread_setname_np(::pthread_self(), "node-metrics");
    std::mutex mutex;
    std::condition_variable_any stopped;
    while (!stop.stop_requested()) {
      publish();
      std::unique_lock lock(mutex);
      stopped.wait_until(lock, stop, client_.now() + interval, [] { return false; });
    }
  });
}

void NodeMetrics::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void NodeMetrics::publish() {
  const auto node = client_.node();
  Metrics& metrics = client_.host.metrics();
  const Labels labels = {{"node_id", client_.identity.id.to_string()},
                         {"datacenter", client_.host.agent().datacenter},
                         {"node_class", client_.config.node_class}};
  std::vector<AllocUse> allocations;
  for (const auto& runner : allocations_.all())
    allocations.push_back({runner->client_status(), runner->spec()->allocation.allocated_resources()});
  set_allocation_gauges(metrics, labels, *node, allocations);
  if (!with_host_) return;
  if (auto stats = host_.take(client_.config.alloc_dir, node->node_resources().cpu().cpu_shares()))
    set_host_gauges(metrics, labels, *stats);
}

}  // namespace drover::agent

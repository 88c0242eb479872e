#include "node_metrics.h"

#include <pthread.h>

#include "drover/config.h"
#include "drover/model/allocation.h"
#include "drover/pause.h"
#include "nomad/plugins/driver.pb.h"
#include "usage.h"

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
    terminal += client_terminal(one.status) ? 1 : 0;
    if (client_terminal(one.status)) continue;
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

std::vector<GaugeValue> task_gauges(const TaskUse& use) {
  std::vector<GaugeValue> gauges;
  const auto add = [&](const char* name, auto value) {
    gauges.push_back({std::string("nomad.client.allocs.") + name, use.labels, static_cast<double>(value)});
  };
  const v1::CpuStats& cpu = use.usage.cpu_stats();
  add("cpu.allocated", use.given.cpu().cpu_shares());
  add("cpu.total_percent", cpu.percent());
  add("cpu.system", cpu.system_mode());
  add("cpu.user", cpu.user_mode());
  add("cpu.throttled_time", cpu.throttled_time());
  add("cpu.throttled_periods", cpu.throttled_periods());
  add("cpu.total_ticks", cpu.total_ticks());
  const v1::MemoryStats& memory = use.usage.memory_stats();
  add("memory.allocated", use.given.memory().memory_mb() << 20);
  add("memory.rss", memory.rss());
  add("memory.cache", memory.cache());
  add("memory.swap", memory.swap());
  add("memory.usage", memory.usage());
  add("memory.max_usage", memory.max_usage());
  add("memory.kernel_usage", memory.kernel_usage());
  add("memory.kernel_max_usage", memory.kernel_max_usage());
  return gauges;
}

void NodeMetrics::start() {
  std::chrono::nanoseconds interval = kInterval;
  with_host_ = client_.host.agent().dev_mode;
  if (const ConfigBlock* telemetry = client_.host.configuration("telemetry")) {
    interval = std::max(telemetry->duration("collection_interval", interval), kShortestInterval);
    with_host_ = with_host_ || telemetry->boolean("publish_node_metrics");
    with_tasks_ = telemetry->boolean("publish_allocation_metrics");
  }
  thread_ = std::jthread([this, interval](const std::stop_token& stop) {
    ::pthread_setname_np(::pthread_self(), "node-metrics");
    do publish();
    while (pause_for(interval, stop));
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
    allocations.push_back({runner->client_status(), runner->spec()->allocation->allocated_resources()});
  set_allocation_gauges(metrics, labels, *node, allocations);
  if (with_tasks_) publish_tasks(labels);
  if (!with_host_) return;
  if (auto stats = host_.take(client_.config.alloc_dir, node->node_resources().cpu().cpu_shares()))
    set_host_gauges(metrics, labels, *stats);
}

// A task that has gone takes its gauges with it.
void NodeMetrics::publish_tasks(const Labels& labels) {
  for (const auto& runner : allocations_.all()) {
    const AllocSpecPtr spec = runner->spec();
    for (const TaskRunner* task : runner->tasks()) {
      const auto sample = task->stats();
      if (!sample) continue;  // it does not run at the moment
      TaskUse use{
          .labels = labels, .usage = to_usage(sample->agg_resource_usage()), .given = spec->given(task->name())};
      use.labels.insert(use.labels.end(), {{"alloc_id", runner->id().to_string()},
                                           {"job", spec->job->name()},
                                           {"task_group", spec->allocation->task_group()},
                                           {"task", task->name()},
                                           {"namespace", spec->allocation->namespace_()}});
      for (const GaugeValue& gauge : task_gauges(use)) tasks_.set(gauge.name, gauge.value, gauge.labels);
    }
  }
  tasks_.end_round();
}

}  // namespace drover::agent

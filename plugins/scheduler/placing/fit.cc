#include "fit.h"

#include <algorithm>
#include <cmath>

#include "drover/v1/job.pb.h"

namespace drover::scheduler {
namespace {

double free_share(int64_t capacity, int64_t used) {
  if (capacity <= 0) return 0;
  return 1 - static_cast<double>(used) / static_cast<double>(capacity);
}

Amount most(const Amount& a, const Amount& b) {
  return {std::max(a.cpu, b.cpu), std::max(a.memory_mb, b.memory_mb), std::max(a.disk_mb, b.disk_mb)};
}

// Adds up tasks by when they run.
class TaskSum {
 public:
  void add(const Amount& amount, const v1::TaskLifecycle& lifecycle) {
    if (lifecycle.hook() == "prestart") {
      (lifecycle.sidecar() ? sidecars_ : before_) += amount;
    } else if (lifecycle.hook() == "poststop") {
      after_ += amount;
    } else {
      main_ += amount;  // tasks that start after the main ones run beside them
    }
  }
  Amount total() const {
    Amount sum = most(most(before_, main_), after_);
    return sum += sidecars_;
  }

 private:
  Amount before_, sidecars_, main_, after_;
};

int64_t cpu_of(const v1::Resources& resources, int64_t mhz_per_core) {
  return resources.cores() > 0 ? resources.cores() * mhz_per_core : resources.cpu();
}

// The task's secrets lie in memory, beside what its processes may use.
int64_t memory_of(const v1::Resources& resources) { return int64_t{resources.memory_mb()} + resources.secrets_mb(); }

void add_sorted(std::vector<uint32_t>& sorted, uint32_t value) {
  sorted.insert(std::ranges::lower_bound(sorted, value), value);
}

}  // namespace

double power_of_free(int64_t capacity, int64_t used) { return std::pow(10, free_share(capacity, used)); }

double power_of_ask(int64_t capacity, int64_t ask) {
  return capacity <= 0 ? 1 : std::pow(10, -static_cast<double>(ask) / static_cast<double>(capacity));
}

Amount& Amount::operator+=(const Amount& other) {
  cpu += other.cpu;
  memory_mb += other.memory_mb;
  disk_mb += other.disk_mb;
  return *this;
}

Amount& Amount::operator-=(const Amount& other) {
  cpu -= other.cpu;
  memory_mb -= other.memory_mb;
  disk_mb -= other.disk_mb;
  return *this;
}

Amount capacity_of(const v1::Node& node) {
  const v1::NodeResources& all = node.node_resources();
  const v1::NodeReservedResources& reserved = node.reserved_resources();
  return {all.cpu().cpu_shares() - reserved.cpu().cpu_shares(),
          all.memory().memory_mb() - reserved.memory().memory_mb(), all.disk().disk_mb() - reserved.disk().disk_mb()};
}

Amount amount_of(const v1::AllocatedResources& resources) {
  TaskSum sum;
  for (const auto& [name, task] : resources.tasks()) {
    const auto at = resources.task_lifecycles().find(name);
    sum.add({task.cpu().cpu_shares(), task.memory().memory_mb(), 0},
            at == resources.task_lifecycles().end() ? v1::TaskLifecycle::default_instance() : at->second);
  }
  Amount amount = sum.total();
  amount.disk_mb += resources.shared().disk_mb();
  return amount;
}

Amount amount_of(const v1::TaskGroup& group, int64_t mhz_per_core) {
  TaskSum sum;
  for (const v1::Task& task : group.tasks()) {
    sum.add({cpu_of(task.resources(), mhz_per_core), memory_of(task.resources()), 0}, task.lifecycle());
  }
  Amount amount = sum.total();
  amount.disk_mb += group.ephemeral_disk().size_mb();
  return amount;
}

Usage usage_of(const v1::AllocatedResources& resources) {
  Usage usage{.amount = amount_of(resources), .ports = ports_of(resources), .cores = {}, .devices = {}};
  for (const auto& [name, task] : resources.tasks()) {
    usage.cores.insert(usage.cores.end(), task.cpu().reserved_cores().begin(), task.cpu().reserved_cores().end());
  }
  usage.devices.add(resources);
  return usage;
}

std::shared_ptr<const NodeRoom::Shape> NodeRoom::shape_of(const v1::Node& node) {
  const v1::NodeCpu& cpu = node.node_resources().cpu();
  const auto& kept_cores = node.reserved_resources().cpu().reserved_cpu_cores();
  std::vector<uint32_t> cores;
  for (const uint32_t core : cpu.reservable_cpu_cores()) {
    if (std::ranges::find(kept_cores, core) == kept_cores.end()) cores.push_back(core);
  }
  std::ranges::sort(cores);
  const int64_t mhz_per_core = cpu.total_cpu_cores() > 0 ? cpu.cpu_shares() / cpu.total_cpu_cores() : 0;
  HostAddresses addresses(node);
  const uint64_t reserved = addresses.reserved_bits();
  return std::make_shared<const Shape>(
      Shape{capacity_of(node), std::move(addresses), reserved, std::move(cores), mhz_per_core});
}

NodeRoom::NodeRoom(const v1::Node& node) : shape_(shape_of(node)) {}

void NodeRoom::add(const Usage& usage) {
  used_ += usage.amount;
  devices_.add(usage.devices);
  for (const HeldPort& port : usage.ports) ports_.add(shape_->addresses, port);
  for (const uint32_t core : usage.cores) add_sorted(cores_, core);
}

void NodeRoom::remove(const Usage& usage) {
  used_ -= usage.amount;
  devices_.remove(usage.devices);
  for (const HeldPort& port : usage.ports) ports_.remove(shape_->addresses, port);
  for (const uint32_t core : usage.cores) {
    const auto at = std::ranges::lower_bound(cores_, core);
    if (at != cores_.end() && *at == core) cores_.erase(at);
  }
}

std::string NodeRoom::exhausted(const Amount& ask) const {
  const Amount& capacity = shape_->capacity;
  if (used_.cpu + ask.cpu > capacity.cpu) return "cpu";
  if (used_.memory_mb + ask.memory_mb > capacity.memory_mb) return "memory";
  if (used_.disk_mb + ask.disk_mb > capacity.disk_mb) return "disk";
  return {};
}

int32_t NodeRoom::spare_ports() const {
  const HostAddresses& addresses = shape_->addresses;
  const HostAddresses::Address* usual = addresses.first_of(kDefaultNetwork);
  if (!usual) return 0;
  const int32_t range = addresses.last_dynamic() - addresses.first_dynamic() + 1;
  return range - addresses.reserved_dynamic(usual->slot) - static_cast<int32_t>(ports_.size());
}

uint64_t NodeRoom::port_bits() const { return shape_->reserved_port_bits | ports_.bits(shape_->addresses); }

std::vector<uint32_t> NodeRoom::free_cores() const {
  std::vector<uint32_t> free;
  std::ranges::set_difference(shape_->cores, cores_, std::back_inserter(free));
  return free;
}

int64_t NodeRoom::cores_missing(const v1::TaskGroup& group) const {
  int64_t wanted = 0;
  for (const v1::Task& task : group.tasks()) wanted += std::max(task.resources().cores(), 0);
  return wanted == 0 ? 0 : std::max<int64_t>(wanted - static_cast<int64_t>(free_cores().size()), 0);
}

std::string NodeRoom::overcommitted() const {
  if (std::ranges::adjacent_find(cores_) != cores_.end()) return "cores";
  std::string dimension = exhausted({});
  if (dimension == "cpu") return dimension;
  if (!std::ranges::includes(shape_->cores, cores_)) return "cores";
  if (!dimension.empty()) return dimension;
  std::string port = ports_.collision(shape_->addresses);
  if (!port.empty()) return port;
  return devices_.overcommitted() ? "device oversubscribed" : "";
}

v1::AllocatedResources NodeRoom::grant(const v1::TaskGroup& group, const v1::Node& node, bool memory_max,
                                       std::string_view seed) const {
  v1::AllocatedResources granted;
  const std::vector<uint32_t> cores = free_cores();
  size_t next_core = 0;
  for (const v1::Task& task : group.tasks()) {
    const v1::Resources& wanted = task.resources();
    v1::AllocatedTaskResources& resources = (*granted.mutable_tasks())[task.name()];
    resources.mutable_cpu()->set_cpu_shares(cpu_of(wanted, shape_->mhz_per_core));
    for (int i = 0; i < wanted.cores() && next_core < cores.size(); ++i) {
      resources.mutable_cpu()->add_reserved_cores(cores[next_core++]);
    }
    resources.mutable_memory()->set_memory_mb(memory_of(wanted));
    if (memory_max) resources.mutable_memory()->set_memory_max_mb(wanted.memory_max_mb());
    if (!task.lifecycle().hook().empty()) (*granted.mutable_task_lifecycles())[task.name()] = task.lifecycle();
  }
  v1::AllocatedSharedResources& shared = *granted.mutable_shared();
  shared.set_disk_mb(group.ephemeral_disk().size_mb());
  grant_ports(group, node, shape_->addresses, ports_, seed, shared);
  return granted;
}

double NodeRoom::binpack(const Amount& ask) const {
  const Amount& capacity = shape_->capacity;
  const double total = std::pow(10, free_share(capacity.cpu, used_.cpu + ask.cpu)) +
                       std::pow(10, free_share(capacity.memory_mb, used_.memory_mb + ask.memory_mb));
  return std::clamp(20 - total, 0.0, 18.0);
}

double NodeRoom::spread(const Amount& ask) const {
  const Amount& capacity = shape_->capacity;
  const double total = std::pow(10, free_share(capacity.cpu, used_.cpu + ask.cpu)) +
                       std::pow(10, free_share(capacity.memory_mb, used_.memory_mb + ask.memory_mb));
  return std::clamp(total - 2, 0.0, 18.0);
}

bool NodeRoom::operator==(const NodeRoom& other) const {
  return shape_->capacity == other.shape_->capacity && shape_->cores == other.shape_->cores && used_ == other.used_ &&
         ports_ == other.ports_ && cores_ == other.cores_ && devices_ == other.devices_;
}

}  // namespace drover::scheduler

#include "explaining/failures.h"

#include <algorithm>

#include "drover/model/constraint.h"
#include "drover/model/node.h"
#include "drover/v1/job.pb.h"
#include "placing/feasibility.h"

namespace drover::scheduler {
namespace {

std::string state_of(const v1::Node& node) {
  switch (node.status()) {
    case v1::NODE_STATUS_DOWN:
      return "the node is down";
    case v1::NODE_STATUS_DISCONNECTED:
      return "the node is out of reach";
    case v1::NODE_STATUS_INITIALIZING:
      return "the node has not reported yet";
    default:
      return node.drain() ? "the node drains" : "the node takes no new work";
  }
}

class Check {
 public:
  Check(const ClusterNode& candidate, const v1::Job& job, const v1::TaskGroup& group, const Distinct& distinct)
      : candidate_(candidate), node_(*candidate.node), job_(job), group_(group), distinct_(distinct) {}

  std::vector<Failure> run() {
    reach();
    for (const v1::Constraint& constraint : job_.constraints()) constrain(constraint);
    drivers();
    for (const v1::Constraint& constraint : group_.constraints()) constrain(constraint);
    for (const v1::Task& task : group_.tasks()) {
      for (const v1::Constraint& constraint : task.constraints()) constrain(constraint);
    }
    const bool has_devices = could_have_devices(node_, group_);
    if (!has_devices) add(Failure::Kind::device, "missing devices");
    if (std::string problem = network_problem(group_, node_); !problem.empty()) add(Failure::Kind::network, problem);
    if (std::string problem = distinct_.check(node_); !problem.empty()) add(Failure::Kind::distinct, problem);
    ports();
    if (has_devices && wants_devices(group_) && !choose_devices(node_, group_, candidate_.room.devices())) {
      add(Failure::Kind::device_in_use, std::string(kNoDevices));
    }
    amounts();
    return std::move(failures_);
  }

 private:
  void add(Failure::Kind kind, std::string text, int64_t amount = 0, std::string detail = {}) {
    const auto is_same = [&](const Failure& known) { return known.kind == kind && known.text == text; };
    if (std::ranges::any_of(failures_, is_same)) return;
    failures_.push_back({kind, std::move(text), std::move(detail), amount});
  }

  void reach() {
    const std::string pool = node_.node_pool().empty() ? "default" : node_.node_pool();
    if (!in_pool(job_, node_)) add(Failure::Kind::node_pool, "node pool " + pool);
    const auto matches = [&](const std::string& pattern) { return glob_matches(pattern, node_.datacenter()); };
    if (std::ranges::none_of(job_.datacenters(), matches)) {
      add(Failure::Kind::datacenter, "datacenter " + node_.datacenter());
    }
    if (!accepts_work(node_)) add(Failure::Kind::node, state_of(node_));
  }

  void constrain(const v1::Constraint& constraint) {
    if (is_distinct(constraint) || meets_constraint(constraint, node_)) return;
    add(Failure::Kind::constraint, constraint_text(constraint));
  }

  void drivers() {
    for (const v1::Task& task : group_.tasks()) {
      if (!driver_works(task.driver(), node_)) add(Failure::Kind::driver, "driver " + task.driver());
    }
  }

  void ports() {
    const std::string problem = candidate_.room.ports_exhausted(group_, node_);
    if (problem.empty()) return;
    std::string holder;
    for (const v1::NetworkResource& network : group_.networks()) {
      for (const v1::Port& port : network.reserved_ports()) {
        const bool is_this = problem.ends_with(port.label() + "=" + std::to_string(port.value()));
        if (is_this) holder = holder_of(port.value());
      }
    }
    add(Failure::Kind::port, problem, 0, holder);
  }
  std::string holder_of(int32_t port) const {
    for (const auto& holding : candidate_.holdings) {
      const auto is_it = [&](const HeldPort& held) { return held.port == port; };
      if (std::ranges::any_of(holding->usage.ports, is_it)) return "job " + holding->job_id;
    }
    return "the node";
  }

  void amounts() {
    const NodeRoom& room = candidate_.room;
    if (const int64_t missing = room.cores_missing(group_); missing > 0) add(Failure::Kind::cores, "cores", missing);
    const Amount ask = room.ask_of(group_);
    const auto compare = [&](Failure::Kind kind, const char* text, int64_t wanted, int64_t capacity) {
      if (wanted > capacity) add(kind, text, wanted - capacity);
    };
    compare(Failure::Kind::cpu, "cpu", room.used().cpu + ask.cpu, room.capacity().cpu);
    compare(Failure::Kind::memory, "memory", room.used().memory_mb + ask.memory_mb, room.capacity().memory_mb);
    compare(Failure::Kind::disk, "disk", room.used().disk_mb + ask.disk_mb, room.capacity().disk_mb);
  }

  const ClusterNode& candidate_;
  const v1::Node& node_;
  const v1::Job& job_;
  const v1::TaskGroup& group_;
  const Distinct& distinct_;
  std::vector<Failure> failures_;
};

}  // namespace

std::vector<Failure> failures_of(const ClusterNode& node, const v1::Job& job, const v1::TaskGroup& group,
                                 const Distinct& distinct) {
  return Check(node, job, group, distinct).run();
}

}  // namespace drover::scheduler

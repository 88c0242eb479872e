#include "explaining/failures.h"

#include <algorithm>

#include "drover/model/constraint.h"
#include "drover/model/node.h"
#include "drover/v1/job.pb.h"
#include "placing/feasibility.h"
#include "placing/prospects.h"

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

using List = std::vector<Failure>;

void add(List& failures, Failure::Kind kind, std::string text, int64_t amount = 0, std::string detail = {}) {
  const auto is_same = [&](const Failure& known) { return known.kind == kind && known.text == text; };
  if (std::ranges::any_of(failures, is_same)) return;
  failures.push_back({kind, std::move(text), std::move(detail), amount});
}

void find_reach(const v1::Job& job, const v1::Node& node, List& failures) {
  const std::string pool = node.node_pool().empty() ? "default" : node.node_pool();
  if (!in_pool(job, node)) add(failures, Failure::Kind::node_pool, "node pool " + pool);
  const auto matches = [&](const std::string& pattern) { return glob_matches(pattern, node.datacenter()); };
  if (std::ranges::none_of(job.datacenters(), matches)) {
    add(failures, Failure::Kind::datacenter, "datacenter " + node.datacenter());
  }
}

void find_constraints_and_drivers(const v1::Job& job, const v1::TaskGroup& group, const v1::Node& node,
                                  List& failures) {
  const auto constrain = [&](const v1::Constraint& constraint) {
    if (is_distinct(constraint) || meets_constraint(constraint, node)) return;
    add(failures, Failure::Kind::constraint, constraint_text(constraint));
  };
  for (const v1::Constraint& constraint : job.constraints()) constrain(constraint);
  for (const v1::Task& task : group.tasks()) {
    if (!driver_works(task.driver(), node)) add(failures, Failure::Kind::driver, "driver " + task.driver());
  }
  for (const v1::Constraint& constraint : group.constraints()) constrain(constraint);
  for (const v1::Task& task : group.tasks()) {
    for (const v1::Constraint& constraint : task.constraints()) constrain(constraint);
  }
}

// The node itself lacks these at present.
class Check {
 public:
  Check(const ClusterNode& candidate, const v1::Job& job, const v1::TaskGroup& group, List& failures)
      : candidate_(candidate), node_(*candidate.node), job_(job), group_(group), failures_(failures) {}

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
    add(failures_, Failure::Kind::port, problem, 0, holder);
  }

  void amounts(const Amount& ask) {
    const NodeRoom& room = candidate_.room;
    const int64_t cores = room.cores_missing(group_);
    if (cores > 0) add(failures_, Failure::Kind::cores, "cores", cores);
    const auto compare = [&](Failure::Kind kind, const char* text, int64_t wanted, int64_t capacity) {
      if (wanted > capacity) add(failures_, kind, text, wanted - capacity);
    };
    compare(Failure::Kind::cpu, "cpu", room.used().cpu + ask.cpu, room.capacity().cpu);
    compare(Failure::Kind::memory, "memory", room.used().memory_mb + ask.memory_mb, room.capacity().memory_mb);
    compare(Failure::Kind::disk, "disk", room.used().disk_mb + ask.disk_mb, room.capacity().disk_mb);
  }

 private:
  std::string holder_of(int32_t port) const {
    for (const auto& holding : candidate_.holdings) {
      const auto is_it = [&](const HeldPort& held) { return held.port == port; };
      if (!std::ranges::any_of(holding->usage.ports, is_it)) continue;
      // A reader of this job need not know what is in other namespaces.
      return holding->name_space == job_.namespace_() ? "job " + holding->job_id : "a job of another namespace";
    }
    return "the node";
  }

  const ClusterNode& candidate_;
  const v1::Node& node_;
  const v1::Job& job_;
  const v1::TaskGroup& group_;
  List& failures_;
};

bool wants_cores(const v1::TaskGroup& group) {
  return std::ranges::any_of(group.tasks(), [](const v1::Task& task) { return task.resources().cores() > 0; });
}

}  // namespace

FailureFinder::FailureFinder(const v1::Job& job, const v1::TaskGroup& group, const Distinct& distinct, Storage* storage,
                             const std::string& alloc_name)
    : job_(job),
      group_(group),
      distinct_(distinct),
      alloc_name_(alloc_name),
      volumes_(job, group, storage),
      escapes_kind_(Feasibility(job, group).escaped() || ports_escape_kind(group)),
      wants_devices_(wants_devices(group)),
      ask_(wants_cores(group) ? std::nullopt : std::optional(amount_of(group))) {
  (void)volumes_.ask_for(alloc_name_);
}

void FailureFinder::learn(const v1::Node& example, Shared& shared) const {
  shared.is_known = true;
  find_reach(job_, example, shared.reach);
  find_constraints_and_drivers(job_, group_, example, shared.constraints_and_drivers);
  if (std::string problem = volume_problem(group_, example, alloc_name_); !problem.empty()) {
    add(shared.constraints_and_drivers, Failure::Kind::volume, problem);
  }
  if (std::string problem = network_problem(group_, example); !problem.empty()) {
    add(shared.network, Failure::Kind::network, problem);
  }
}

std::vector<Failure> FailureFinder::failures_of(const ClusterNode& candidate, bool accepts,
                                                std::optional<uint32_t> kind) {
  const v1::Node& node = *candidate.node;
  Shared own;
  if (escapes_kind_) kind.reset();
  if (kind && *kind >= shared_.size()) shared_.resize(*kind + size_t{1});
  Shared& shared = kind ? shared_[*kind] : own;
  if (!shared.is_known) learn(node, shared);
  List failures = shared.reach;
  if (!accepts) add(failures, Failure::Kind::node, state_of(node));
  failures.insert(failures.end(), shared.constraints_and_drivers.begin(), shared.constraints_and_drivers.end());
  const bool has_devices = !wants_devices_ || could_have_devices(node, group_);
  if (!has_devices) add(failures, Failure::Kind::device, "missing devices");
  failures.insert(failures.end(), shared.network.begin(), shared.network.end());
  if (const auto problem = volumes_.check(node)) {
    add(failures, Failure::Kind::storage, text_without_node(*problem), 0, remedy_for(*problem));
  }
  if (!distinct_.empty()) {
    if (std::string problem = distinct_.check(node); !problem.empty()) add(failures, Failure::Kind::distinct, problem);
  }
  Check check(candidate, job_, group_, failures);
  if (!group_.networks().empty()) check.ports();
  if (has_devices && wants_devices_ && !choose_devices(node, group_, candidate.room.devices())) {
    add(failures, Failure::Kind::device_in_use, std::string(kNoDevices));
  }
  check.amounts(ask_of(candidate.room));
  return failures;
}

}  // namespace drover::scheduler

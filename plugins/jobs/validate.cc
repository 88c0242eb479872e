#include "validate.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <set>

#include "drover/duration.h"
#include "drover/nearest.h"
#include "drover/v1/job.pb.h"

namespace drover::jobs {
namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 20> kOperands = {"=",
                                                        "==",
                                                        "is",
                                                        "!=",
                                                        "not",
                                                        "<",
                                                        "<=",
                                                        ">",
                                                        ">=",
                                                        "regexp",
                                                        "version",
                                                        "semver",
                                                        "set_contains",
                                                        "set_contains_all",
                                                        "set_contains_any",
                                                        "distinct_hosts",
                                                        "distinct_property",
                                                        "is_set",
                                                        "is_not_set",
                                                        "attribute_is_set"};
constexpr std::array<std::string_view, 4> kTypes = {"service", "batch", "system", "sysbatch"};

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

class Validator {
 public:
  explicit Validator(const v1::Job& job) : job_(job) {}

  Findings run() {
    check_job();
    std::set<std::string> names;
    for (const v1::TaskGroup& group : job_.task_groups()) {
      const std::string place = "group " + quoted(group.name());
      if (!names.insert(group.name()).second) error(place, "is defined twice");
      check_group(group, place);
    }
    return std::move(findings_);
  }

 private:
  void error(const std::string& place, const std::string& text) {
    findings_.errors.push_back(place.empty() ? text : place + ": " + text);
  }
  void require(bool condition, const std::string& place, const std::string& text) {
    if (!condition) error(place, text);
  }
  // What the language has and this version does not carry out.
  void unsupported(bool used, const std::string& place, std::string_view what) {
    if (used) error(place, std::string(what) + " is not supported by this version of drover");
  }

  void check_job() {
    require(!job_.id().empty(), "", "the job has no ID");
    require(job_.id().find(' ') == std::string::npos, "", "the job ID contains a space");
    require(job_.id().find('\0') == std::string::npos, "", "the job ID contains a null character");
    require(job_.name().find('\0') == std::string::npos, "", "the job name contains a null character");
    require(job_.namespace_() == "default", "", "namespace " + quoted(job_.namespace_()) + " does not exist");
    if (std::ranges::find(kTypes, job_.type()) == kTypes.end()) {
      const std::string hint = nearest_hint(job_.type(), kTypes);
      error("", "job type " + quoted(job_.type()) + " is unknown" +
                    (hint.empty() ? "; use service or batch" : "; " + hint));
    }
    unsupported(job_.type() == "system" || job_.type() == "sysbatch", "", "job type " + quoted(job_.type()));
    require(job_.priority() >= 1 && job_.priority() <= 100, "", "priority must be between 1 and 100");
    require(!job_.task_groups().empty(), "", "the job has no task group");
    for (const std::string& datacenter : job_.datacenters())
      require(!datacenter.empty(), "", "a datacenter has an empty name");
    unsupported(job_.has_periodic(), "", "periodic");
    unsupported(job_.has_parameterized_job(), "", "parameterized");
    unsupported(!job_.multiregion().empty(), "", "multiregion");
    require(job_.node_pool() == "default" || job_.node_pool() == "all", "",
            "node pool " + quoted(job_.node_pool()) + " does not exist");
    unsupported(!job_.affinities().empty(), "", "affinity");
    unsupported(!job_.spreads().empty(), "", "spread");
    for (const v1::Constraint& c : job_.constraints()) check_constraint(c, "constraint", true);
  }

  void check_constraint(const v1::Constraint& c, const std::string& place, bool distinct_allowed) {
    if (std::ranges::find(kOperands, c.operand()) == kOperands.end()) {
      const std::string hint = nearest_hint(c.operand(), kOperands);
      error(place, "operator " + quoted(c.operand()) + " is unknown" + (hint.empty() ? "" : "; " + hint));
      return;
    }
    const bool is_distinct = c.operand().starts_with("distinct_");
    if (is_distinct && !distinct_allowed) error(place, c.operand() + " is not allowed in a task");
    const bool unary = c.operand() == "is_set" || c.operand() == "is_not_set";
    if (c.operand() != "distinct_hosts") require(!c.l_target().empty(), place, "attribute is missing");
    if (!unary && !is_distinct) require(!c.r_target().empty(), place, "value is missing");
  }

  void check_group(const v1::TaskGroup& group, const std::string& place) {
    require(!group.name().empty(), place, "has no name");
    require(group.name().find('\0') == std::string::npos, place, "the name contains a null character");
    require(group.count() >= 0, place, "count must not be negative");
    require(!group.tasks().empty(), place, "has no task");
    for (const v1::Constraint& c : group.constraints()) check_constraint(c, place + " constraint", true);
    unsupported(!group.affinities().empty(), place, "affinity");
    unsupported(!group.spreads().empty(), place, "spread");
    unsupported(!group.volumes().empty(), place, "volume");
    unsupported(!group.scaling().empty(), place, "scaling");
    unsupported(!group.consul().empty(), place, "consul");
    unsupported(!group.services().empty(), place, "service");
    unsupported(group.has_max_client_disconnect(), place, "max_client_disconnect");
    unsupported(group.has_stop_after_client_disconnect(), place, "stop_after_client_disconnect");
    unsupported(group.ephemeral_disk().sticky() || group.ephemeral_disk().migrate(), place,
                "ephemeral_disk sticky and migrate");
    require(group.ephemeral_disk().size_mb() >= 10, place, "ephemeral_disk.size must be at least 10");
    require(group.shutdown_delay() >= 0, place, "shutdown_delay must not be negative");
    check_restart(group.restart_policy(), place + " restart");
    check_reschedule(group, place + " reschedule");
    check_update(group, place + " update");
    check_networks(group, place);
    std::set<std::string> names;
    int leaders = 0;
    for (const v1::Task& task : group.tasks()) {
      const std::string task_place = place + " task " + quoted(task.name());
      if (!names.insert(task.name()).second) error(task_place, "is defined twice");
      leaders += task.leader();
      const int64_t log_mb = int64_t{task.log_config().max_files()} * task.log_config().max_file_size_mb();
      require(log_mb < group.ephemeral_disk().size_mb(), task_place,
              "log storage (" + std::to_string(log_mb) + " MB) must be below the group's ephemeral_disk.size (" +
                  std::to_string(group.ephemeral_disk().size_mb()) + " MB)");
      check_task(task, task_place);
    }
    require(leaders <= 1, place, "has more than one leader task");
  }

  void check_restart(const v1::RestartPolicy& policy, const std::string& place) {
    require(policy.mode() == "fail" || policy.mode() == "delay", place,
            "mode " + quoted(policy.mode()) + " is unknown; use fail or delay");
    require(policy.attempts() >= 0, place, "attempts must not be negative");
    require(policy.attempts() > 0 || policy.mode() == "fail", place, "attempts of 0 need mode \"fail\"");
    require(policy.interval() >= std::chrono::nanoseconds(5s).count(), place, "interval must be at least 5s");
    require(policy.delay() >= 0, place, "delay must not be negative");
    if (policy.attempts() > 0) {
      require(policy.delay() <= policy.interval() / policy.attempts(), place,
              std::to_string(policy.attempts()) + " attempts with a delay of " +
                  format_duration(std::chrono::nanoseconds(policy.delay())) + " do not fit into the interval of " +
                  format_duration(std::chrono::nanoseconds(policy.interval())));
    }
  }

  void check_reschedule(const v1::TaskGroup& group, const std::string& place) {
    if (!group.has_reschedule_policy()) return;
    const v1::ReschedulePolicy& policy = group.reschedule_policy();
    const auto s = [](std::chrono::nanoseconds d) { return d.count(); };
    if (policy.unlimited()) {
      require(policy.attempts() == 0, place, "attempts and unlimited exclude each other");
    } else if (policy.attempts() > 0) {
      require(policy.interval() >= s(15s), place, "interval must be at least 15s");
    } else {
      return;  // off
    }
    require(policy.delay() >= s(5s), place, "delay must be at least 5s");
    static constexpr std::array<std::string_view, 3> kFunctions = {"constant", "exponential", "fibonacci"};
    require(
        std::ranges::find(kFunctions, policy.delay_function()) != kFunctions.end(), place,
        "delay_function " + quoted(policy.delay_function()) + " is unknown; use constant, exponential or fibonacci");
    if (policy.delay_function() != "constant") {
      require(policy.max_delay() >= s(5s) && policy.max_delay() >= policy.delay(), place,
              "max_delay must be at least 5s and not below delay");
    }
  }

  void check_update(const v1::TaskGroup& group, const std::string& place) {
    if (!group.has_update()) return;
    const v1::UpdateStrategy& update = group.update();
    require(update.max_parallel() >= 0, place, "max_parallel must not be negative");
    require(update.min_healthy_time() >= 0, place, "min_healthy_time must not be negative");
    require(update.healthy_deadline() > 0, place, "healthy_deadline must be greater than 0");
    require(update.min_healthy_time() < update.healthy_deadline(), place,
            "min_healthy_time must be below healthy_deadline");
    unsupported(update.canary() > 0, place, "canary");
    unsupported(update.auto_revert(), place, "auto_revert");
    unsupported(update.auto_promote(), place, "auto_promote");
    static constexpr std::array<std::string_view, 3> kHealth = {"checks", "task_states", "manual"};
    require(std::ranges::find(kHealth, update.health_check()) != kHealth.end(), place,
            "health_check " + quoted(update.health_check()) + " is unknown; use checks, task_states or manual");
    unsupported(update.health_check() == "manual", place, "health_check \"manual\"");
  }

  void check_networks(const v1::TaskGroup& group, const std::string& place) {
    std::set<std::string> labels;
    std::set<int32_t> values;
    require(group.networks_size() <= 1, place, "has more than one network");
    for (const v1::NetworkResource& network : group.networks()) {
      unsupported(network.mode() != "host" && network.mode() != "none", place + " network",
                  "mode " + quoted(network.mode()));
      for (const auto* ports : {&network.reserved_ports(), &network.dynamic_ports()}) {
        for (const v1::Port& port : *ports) {
          const std::string at = place + " port " + quoted(port.label());
          require(!port.label().empty(), place, "a port has no label");
          if (!labels.insert(port.label()).second) error(at, "is defined twice");
          unsupported(port.host_network() != "default", at, "host_network");
          require(port.to() >= -1 && port.to() <= 65535, at, "to must be between -1 and 65535");
        }
      }
      for (const v1::Port& port : network.reserved_ports()) {
        const std::string at = place + " port " + quoted(port.label());
        require(port.value() >= 1 && port.value() <= 65535, at, "static must be between 1 and 65535");
        if (!values.insert(port.value()).second) error(at, "uses a static port twice");
      }
    }
  }

  void check_task(const v1::Task& task, const std::string& place) {
    require(!task.name().empty(), place, "has no name");
    require(task.name().find_first_of(std::string_view("/\\\0", 3)) == std::string::npos && task.name() != ".." &&
                task.name() != ".",
            place, "the name must be no path: it becomes a folder");
    require(task.name() != "alloc", place, "the name is taken by the allocation's shared folder");
    require(!task.driver().empty(), place, "has no driver");
    for (const v1::Constraint& c : task.constraints()) check_constraint(c, place + " constraint", false);
    unsupported(!task.affinities().empty(), place, "affinity");
    const v1::Resources& resources = task.resources();
    require(resources.cores() > 0 || resources.cpu() >= 1, place, "resources.cpu must be at least 1");
    unsupported(resources.cores() > 0, place, "resources.cores");
    require(resources.memory_mb() >= 10, place, "resources.memory must be at least 10");
    require(resources.memory_max_mb() == 0 || resources.memory_max_mb() >= resources.memory_mb(), place,
            "resources.memory_max must not be below memory");
    require(resources.disk_mb() == 0, place, "resources.disk must be 0; set the group's ephemeral_disk");
    unsupported(!resources.networks().empty(), place, "resources.network (use the group's network)");
    unsupported(!resources.devices().empty(), place, "resources.device");
    require(task.kill_timeout() >= 0, place, "kill_timeout must not be negative");
    require(task.shutdown_delay() >= 0, place, "shutdown_delay must not be negative");
    require(task.log_config().max_files() >= 1, place, "logs.max_files must be at least 1");
    require(task.log_config().max_file_size_mb() >= 1, place, "logs.max_file_size must be at least 1");
    check_restart(task.restart_policy(), place + " restart");
    if (task.has_lifecycle()) {
      const std::string& hook = task.lifecycle().hook();
      require(hook == "prestart" || hook == "poststart" || hook == "poststop", place,
              "lifecycle hook " + quoted(hook) + " is unknown; use prestart, poststart or poststop");
      require(hook != "poststop" || !task.lifecycle().sidecar(), place, "a poststop task cannot be a sidecar");
    }
    unsupported(!task.services().empty(), place, "service");
    unsupported(!task.templates().empty(), place, "template");
    unsupported(!task.artifacts().empty(), place, "artifact");
    unsupported(!task.vault().empty(), place, "vault");
    unsupported(!task.volume_mounts().empty(), place, "volume_mount");
    unsupported(!task.csi_plugin_config().empty(), place, "csi_plugin");
    unsupported(!task.dispatch_payload().empty(), place, "dispatch_payload");
    unsupported(!task.scaling_policies().empty(), place, "scaling");
    unsupported(!task.identity().empty(), place, "identity");
    unsupported(!task.kind().empty(), place, "kind");
    if (resources.memory_max_mb() > 0) {
      findings_.warnings.push_back(place + ": memory_max is ignored: memory oversubscription is not enabled");
    }
  }

  const v1::Job& job_;
  Findings findings_;
};

}  // namespace

Findings validate(const v1::Job& job) { return Validator(job).run(); }

}  // namespace drover::jobs

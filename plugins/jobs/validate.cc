// Rules of the job and its groups; further files hold those of their parts.
#include "validate.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "canonical.h"
#include "drover/duration.h"
#include "drover/json.h"
#include "drover/model/disconnect.h"
#include "drover/model/job.h"
#include "drover/model/namespace.h"
#include "drover/model/node.h"
#include "drover/nearest.h"
#include "validate_parts.h"

namespace drover::jobs {
namespace {

constexpr std::string_view kTypes[] = {"service", "batch", "system", "sysbatch"};
constexpr size_t kMaxUiDescription = 1000;

void check_ui(const Place& place, const v1::JobUi& ui) {
  place["description"].require(ui.description().size() <= kMaxUiDescription,
                               "has at most " + std::to_string(kMaxUiDescription) + " characters");
  for (int i = 0; i < ui.links_size(); ++i) {
    const Place at = place.item("link", ui.links(i).label(), i);
    at["label"].require(!ui.links(i).label().empty(), "label is missing");
    at["url"].require(!ui.links(i).url().empty(), "url is missing");
  }
}

void check_placement(const Place& place, const v1::Job& job, bool has_affinities, bool has_spreads) {
  place["affinity"].require(!has_affinities || !runs_everywhere(job), "a system job has no affinities");
  place["spread"].require(!has_spreads || !runs_everywhere(job), "a system job has no spreads");
}

void check_type(const Place& place, const v1::Job& job, const std::vector<std::string>& scheduled) {
  const bool has_scheduler = std::ranges::find(scheduled, job.type()) != scheduled.end();
  if (!has_scheduler && std::ranges::find(kTypes, job.type()) == std::end(kTypes)) {
    const std::string hint = nearest_hint(job.type(), kTypes);
    place["type"].error("job type " + quoted(job.type()) + " is unknown" +
                        (hint.empty() ? "; use service or batch" : "; " + hint));
  } else {
    place["type"].unsupported(!has_scheduler, "job type " + quoted(job.type()));
  }
  const bool is_batch = job.type() == "batch" || job.type() == "sysbatch";
  if (job.has_periodic()) {
    check_periodic(place["periodic"], job.periodic());
    place["periodic"].require(is_batch, "is for batch and sysbatch jobs");
  }
  if (job.has_parameterized_job()) {
    check_parameterized(place["parameterized"], job.parameterized_job());
    place["parameterized"].require(is_batch, "is for batch and sysbatch jobs");
  }
}

// True when jobs of the type are updated step by step at all; else nothing else about the block is worth saying.
bool takes_updates(const Place& place, const v1::Job& job) {
  const bool takes = job.type() == "service" || job.type() == "system";
  place["update"].require(takes, "Job type " + quoted(job.type()) + " does not allow update block");
  return takes;
}

void check_job(const Place& place, const v1::Job& job, const Admission& admission) {
  place["id"].require(!job.id().empty(), "the job has no ID");
  place["id"].require(job.id().find(' ') == std::string::npos, "the job ID contains a space");
  place["id"].require(!has_null(job.id()), "the job ID contains a null character");
  place["name"].require(!has_null(job.name()), "the job name contains a null character");
  place["namespace"].require(is_namespace_name(job.namespace_()),
                             quoted(job.namespace_()) + " is no name of a namespace: 1 to 128 letters, digits and -");
  check_type(place, job, admission.scheduled);
  place["priority"].require(job.priority() >= 1 && job.priority() <= admission.priorities.highest,
                            "priority must be between 1 and " + std::to_string(admission.priorities.highest));
  place["group"].require(!job.task_groups().empty(), "the job has no task group");
  for (const std::string& datacenter : job.datacenters()) {
    place["datacenters"].require(!datacenter.empty(), "a datacenter has an empty name");
  }
  place["payload"].require(job.payload().empty(), "a job is registered without a payload; it gets one when dispatched");
  place["multiregion"].require(!job.has_multiregion(), "Multiregion jobs are unlicensed.");
  place["node_pool"].require(is_pool_name(job.node_pool()),
                             quoted(job.node_pool()) + " is no name of a node pool: 1 to 128 letters, digits, - and _");
  for (int i = 0; i < job.constraints_size(); ++i) {
    check_constraint(place.item("constraint", "", i), job.constraints(i), true);
  }
  for (int i = 0; i < job.affinities_size(); ++i) check_affinity(place.item("affinity", "", i), job.affinities(i));
  for (int i = 0; i < job.spreads_size(); ++i) check_spread(place.item("spread", "", i), job.spreads(i));
  check_placement(place, job, !job.affinities().empty(), !job.spreads().empty());
  if (job.has_update()) takes_updates(place, job);
  if (job.has_ui()) check_ui(place["ui"], job.ui());
  place["vault_token"].require(
      job.vault_token().empty(),
      "is not taken: each task logs in to Vault with its own identity; remove it, and configure Vault's jwt auth "
      "method");
  if (!job.consul_token().empty()) place["consul_token"].warn("is neither used nor kept");
}

void check_disconnect(const Place& place, const v1::TaskGroup& group, const v1::Job& job) {
  place["stop_after_client_disconnect"].require(
      !group.has_stop_after_client_disconnect() || group.stop_after_client_disconnect() > 0, "must be greater than 0");
  place["stop_after_client_disconnect"].require(
      !group.has_stop_after_client_disconnect() || job.type() == "service" || job.type() == "batch",
      "is for service and batch jobs");
  place["max_client_disconnect"].require(group.max_client_disconnect() >= 0, "must not be negative");
  place["max_client_disconnect"].require(
      !group.has_max_client_disconnect() || !group.has_stop_after_client_disconnect(),
      "excludes stop_after_client_disconnect");
  if (group.has_disconnect()) {
    const v1::DisconnectStrategy& disconnect = group.disconnect();
    const Place at = place["disconnect"];
    at["lost_after"].require(disconnect.lost_after() >= 0, "must not be negative");
    at["stop_on_client_after"].require(disconnect.stop_on_client_after() >= 0, "must not be negative");
    at["stop_on_client_after"].require(
        !disconnect.has_stop_on_client_after() || job.type() == "service" || job.type() == "batch",
        "is for service and batch jobs");
    at.require(!disconnect.has_lost_after() || !disconnect.has_stop_on_client_after(),
               "lost_after and stop_on_client_after exclude each other");
    at["replace"].require(!disconnect.has_stop_on_client_after() || !disconnect.has_replace() || disconnect.replace(),
                          "must not be false with stop_on_client_after: nothing would run until the node is back");
    at["reconcile"].require_one_of(disconnect.reconcile(),
                                   {"best_score", "keep_original", "keep_replacement", "longest_running"});
  }
  place["prevent_reschedule_on_lost"].require(
      !group.prevent_reschedule_on_lost() || !stop_on_client_after(group),
      "excludes stop_after_client_disconnect and disconnect.stop_on_client_after: nothing would run until the node is "
      "back");
  place["max_run_duration"].require(group.max_run_duration() >= 0, "must not be negative");
  place["max_run_duration"].unsupported(group.has_max_run_duration(), "max_run_duration");
}

void check_group_services(const Place& place, const v1::TaskGroup& group) {
  std::set<std::string> keys, providers;
  const auto note = [&](const Place& at, const v1::Service& service) {
    if (!keys.insert(service.name() + "\n" + service.task_name() + "\n" + service.port_label()).second) {
      at.error("is defined twice, with the same name, task and port");
    }
    providers.insert(service.provider());
  };
  for (int i = 0; i < group.services_size(); ++i) {
    const Place at = place.item("service", group.services(i).name(), i);
    note(at, group.services(i));
    check_service(at, group.services(i), group, nullptr);
  }
  for (const v1::Task& task : group.tasks()) {
    for (const v1::Service& service : task.services()) note(place.item("task", task.name(), 0), service);
  }
  place["service"].require(providers.size() <= 1, "the services of a group have one provider, not two");
}

void check_group(const Place& place, const v1::TaskGroup& group, const v1::Job& job) {
  place.require(!group.name().empty(), "has no name");
  place.require(!has_null(group.name()), "the name contains a null character");
  place["count"].require(group.count() >= 0, "must not be negative");
  place["count"].require(job.type() != "system" || group.count() <= 1, "a system job has a count of 1 at most");
  place["task"].require(!group.tasks().empty(), "has no task");
  for (int i = 0; i < group.constraints_size(); ++i) {
    check_constraint(place.item("constraint", "", i), group.constraints(i), true);
  }
  for (int i = 0; i < group.affinities_size(); ++i) check_affinity(place.item("affinity", "", i), group.affinities(i));
  for (int i = 0; i < group.spreads_size(); ++i) check_spread(place.item("spread", "", i), group.spreads(i));
  check_placement(place, job, !group.affinities().empty(), !group.spreads().empty());
  const std::set<std::string> order = [&] {
    std::set<std::string> names;
    for (const auto& entry : group.volumes()) names.insert(entry.first);
    return names;
  }();
  for (const std::string& name : order)
    check_volume(place.item("volume", name, 0), group.volumes().at(name), group, job);
  if (group.has_scaling()) check_scaling(place["scaling"], group.scaling(), group, false);
  check_group_services(place, group);
  check_disconnect(place, group, job);
  const Place disk = place["ephemeral_disk"];
  disk["size"].require(group.ephemeral_disk().size_mb() >= 10, "must be at least 10");
  place["shutdown_delay"].require(group.shutdown_delay() >= 0, "must not be negative");
  check_restart(place["restart"], group.restart_policy());
  if (group.has_reschedule_policy()) {
    place["reschedule"].require(!job.type().starts_with("sys"), "is not for system jobs");
    check_reschedule(place["reschedule"], group.reschedule_policy());
  }
  if (group.has_update() && takes_updates(place, job)) check_update(place["update"], group.update());
  if (group.has_migrate()) {
    place["migrate"].require(job.type() == "service", "is for service jobs");
    check_migrate(place["migrate"], group.migrate());
  }
  check_networks(place, group.networks());
  check_consul(place["consul"], group.consul());
  std::set<std::string> names;
  int leaders = 0;
  for (int i = 0; i < group.tasks_size(); ++i) {
    const v1::Task& task = group.tasks(i);
    const bool is_new = names.insert(task.name()).second;
    const Place at = place.item("task", is_new ? task.name() : "", i);
    if (!is_new) at.error("task " + quoted(task.name()) + " is defined twice");
    leaders += task.leader();
    check_task(at, task, group, job);
  }
  place.require(leaders <= 1, "has more than one leader task");
}

void warn_of_promotion(const Place& place, const v1::Job& job) {
  int with = 0, without = 0;
  for (const v1::TaskGroup& group : job.task_groups()) ++(group.update().auto_promote() ? with : without);
  if (with > 0 && without > 0)
    place["update"].warn("auto_promote is set for some groups only, so nothing is promoted by itself");
}

}  // namespace

Place Place::item(std::string_view block, const std::string& name, int index) const {
  const bool has_name = !name.empty() && name.find('"') == std::string::npos;
  return Place(*findings_, join(block) + "[" + (has_name ? quoted(name) : std::to_string(index)) + "]");
}

void Place::require_one_of(const std::string& value, std::initializer_list<std::string_view> choices) const {
  if (std::ranges::find(choices, value) != choices.end()) return;
  std::string list;
  for (const std::string_view& choice : choices) {
    list += (list.empty() ? "" : &choice == choices.end() - 1 ? " or " : ", ") + std::string(choice);
  }
  error(quoted(value) + " is unknown; use " + list);
}

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }
bool has_null(const std::string& text) { return text.find('\0') != std::string::npos; }
std::string duration_text(int64_t nanoseconds) { return format_duration(std::chrono::nanoseconds(nanoseconds)); }

bool stays_inside(const std::string& path) {
  int depth = 0;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string part = path.substr(begin, end - begin);
    if (part == "..") --depth;
    if (!part.empty() && part != "." && part != "..") ++depth;
    if (depth < 0) return false;
    begin = end + 1;
  }
  return true;
}

bool stays_in_folders(const std::string& path) {
  constexpr std::string_view kShared = "../alloc/";
  return stays_inside(path.starts_with(kShared) ? path.substr(kShared.size()) : path);
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

std::string as_list(const std::vector<std::string>& errors) {
  std::string text = std::to_string(errors.size()) + (errors.size() == 1 ? " error occurred:" : " errors occurred:");
  for (const std::string& error : errors) text += "\n\t* " + error;
  return text + "\n";
}

// Types of checks that only plugins bring; those of drover's own are judged with the rest of the check.
void check_foreign_types(const Place& place, const google::protobuf::RepeatedPtrField<v1::Service>& services,
                         const Admission& admission) {
  for (int i = 0; i < services.size(); ++i) {
    const Place at = place.item("service", services[i].name(), i);
    for (int c = 0; c < services[i].checks_size(); ++c) {
      const v1::ServiceCheck& check = services[i].checks(c);
      if (is_own_check_type(check.type()) || (admission.has_check_type && admission.has_check_type(check.type())))
        continue;
      at.item("check", check.name(), c)["type"].error(
          "invalid check type (" + quoted(check.type()) +
          "), must be one of tcp, http, grpc, script, or a type that a plugin of a node runs");
    }
  }
}

void check_vault_use(const Place& place, const v1::Task& task, const Admission& admission) {
  place["vault"].require(!task.has_vault() || admission.has_vault,
                         "Vault not enabled but used in the job; the servers' configuration needs vault { enabled = "
                         "true }");
}

Findings validate(const v1::Job& job, const Admission& admission) {
  Findings findings;
  const Place root(findings);
  check_job(root, job, admission);
  std::set<std::string> names;
  for (int i = 0; i < job.task_groups_size(); ++i) {
    const v1::TaskGroup& group = job.task_groups(i);
    const bool is_new = names.insert(group.name()).second;
    const Place at = root.item("group", is_new ? group.name() : "", i);
    if (!is_new) at.error("group " + quoted(group.name()) + " is defined twice");
    check_group(at, group, job);
    check_foreign_types(at, group.services(), admission);
    for (int t = 0; t < group.tasks_size(); ++t) {
      const Place task = at.item("task", group.tasks(t).name(), t);
      check_foreign_types(task, group.tasks(t).services(), admission);
      check_vault_use(task, group.tasks(t), admission);
    }
  }
  if (admission.refused_by_namespace && is_namespace_name(job.namespace_()))
    std::ranges::move(admission.refused_by_namespace(job), std::back_inserter(findings.errors));
  warn_of_promotion(root, job);
  return findings;
}

Status check_update(const v1::Job& from, const v1::Job& to) {
  const auto refused = [](const std::string& change) { return failed_precondition("cannot update " + change); };
  if (from.type() != to.type()) return refused("job from type " + quoted(from.type()) + " to " + quoted(to.type()));
  if (from.has_periodic() != to.has_periodic()) {
    return refused(from.has_periodic() ? "periodic job to being non-periodic" : "non-periodic job to being periodic");
  }
  if (from.has_parameterized_job() != to.has_parameterized_job()) {
    return refused(from.has_parameterized_job() ? "parameterized job to being non-parameterized"
                                                : "non-parameterized job to being parameterized");
  }
  return ok_status();
}

Result<JobValidator::Findings> Validator::validate(std::string_view json) const {
  v1::Job job;
  DROVER_RETURN_IF_ERROR(json_to_message(json, job));
  canonicalize(job);
  jobs::Findings found = jobs::validate(
      job, {.priorities = {.highest = kMaxPriority},
            .has_check_type = [](const std::string&) { return true; },
            .has_vault = true});
  if (job.priority() > Priorities().highest) {
    found.warnings.push_back("priority: is above " + std::to_string(Priorities().highest) +
                             ", which servers take only where job_max_priority says so");
  }
  return Findings{.errors = found.errors.empty() ? "" : as_list(found.errors), .warnings = joined(found.warnings)};
}

}  // namespace drover::jobs

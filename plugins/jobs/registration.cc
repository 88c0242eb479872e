#include "registration.h"

#include <algorithm>
#include <utility>

#include "drover/api/jobs.pb.h"
#include "drover/model/evaluation.h"
#include "drover/model/job.h"
#include "drover/options.pb.h"
#include "drover/plugin.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/scheduler_config.pb.h"

namespace drover::jobs {

Status may_register(const Call& call, const ReadView& view, const Host& host) {
  if (call.permissions().is_management()) return ok_status();
  const auto table = host.find_table("scheduler_config");
  if (!table) return ok_status();  // the scheduler is not loaded
  const auto config = Table<v1::SchedulerConfiguration>(*table).get(view, "");
  if (!config || !config->reject_job_registration()) return ok_status();
  return permission_denied("Job registration, dispatch, and scale are disabled by the scheduler configuration");
}

namespace {

bool may_use(const v1::TaskGroup& group, const std::string& name, const v1::VolumeRequest& volume,
             std::string_view name_space, const Permissions& permissions) {
  if (volume.type() == "csi")
    return permissions.may(Access::CSI_MOUNT_VOLUME, name_space) && permissions.granted(Area::plugin) >= Grant::read;
  if (volume.type() != "host") return permissions.is_management();
  const bool reaches_back = std::ranges::any_of(group.tasks(), [&](const v1::Task& task) {
    return std::ranges::any_of(task.volume_mounts(), [&](const v1::VolumeMount& mount) {
      return mount.volume() == name && mount.propagation_mode() == "bidirectional";
    });
  });
  return permissions.may_mount(volume.source(), !volume.read_only() || reaches_back);
}

}  // namespace

Status may_submit(const v1::Job& job, bool overrides_policies, const Call& call) {
  const Permissions& permissions = call.permissions();
  const std::string& name_space = job.namespace_();
  bool may = call.allowed_in(name_space);
  if (overrides_policies) may &= permissions.may(Access::SENTINEL_OVERRIDE, name_space);
  for (const v1::TaskGroup& group : job.task_groups()) {
    for (const auto& [name, volume] : group.volumes()) may &= may_use(group, name, volume, name_space, permissions);
    for (const v1::Task& task : group.tasks()) {
      if (task.has_csi_plugin_config()) may &= permissions.may(Access::CSI_REGISTER_PLUGIN, name_space);
    }
  }
  return may ? ok_status() : access_denied();
}

bool has_pool(const ReadView& view, const Host& host, std::string_view name) {
  if (name == "default" || name == "all") return true;
  const auto table = host.find_table("node_pools");
  return table && view.get(*table, node_pool_key(name));
}

Status in_known_pool(const ReadView& view, const Host& host, const v1::Job& job) {
  if (has_pool(view, host, job.node_pool())) return ok_status();
  return invalid_argument("job \"" + job.id() + "\" is in nonexistent node pool \"" + job.node_pool() + "\"");
}

bool runs_checks(Host& host, const std::string& type) {
  const auto table = host.find_table("nodes");
  if (!table) return false;
  const auto view = host.snapshot();
  for (auto row = view->scan(*table, 0, {}); row->valid(); row->next()) {
    const auto node = parse_message<v1::Node>(row->row());
    if (node && node->attributes().contains("check." + type)) return true;
  }
  return false;
}

v1::JobRegistered registration_of(v1::Job job, std::string_view trigger, int64_t time, int32_t priority) {
  v1::JobRegistered command;
  command.set_time(time);
  if (!starts_children(job)) {
    *command.mutable_evaluation() = new_evaluation(Uuid::random().bytes(), job, trigger);
    if (priority > 0) command.mutable_evaluation()->set_priority(priority);
  }
  *command.mutable_job() = std::move(job);
  return command;
}

Status check_again(const v1::Job& version, const Admission& admission) {
  v1::Job described = version;
  described.clear_payload();  // a child has it of its dispatch
  const Findings findings = validate(described, admission);
  return findings.errors.empty() ? ok_status() : invalid_argument(as_list(findings.errors));
}

void keep_submission(const v1::JobSubmission& submission, v1::JobRegistered& command,
                     std::vector<std::string>& warnings) {
  constexpr size_t kMost = 1 << 20;  // the job without its file may be larger
  if (submission.source().size() > kMost) {
    warnings.emplace_back("the file of the job is larger than 1 MiB and is not kept");
  } else if (!submission.source().empty()) {
    *command.mutable_submission() = submission;
  }
}

void keep_policy_ids(v1::Job& job, const v1::Job* existing) {
  for (v1::TaskGroup& group : *job.mutable_task_groups()) {
    if (!group.has_scaling()) continue;
    const v1::TaskGroup* old = existing ? find_group(*existing, group.name()) : nullptr;
    const std::string known = old ? old->scaling().id() : "";
    group.mutable_scaling()->set_id(known.empty() ? Uuid::random().to_string() : known);
    group.mutable_scaling()->clear_create_index();
    group.mutable_scaling()->clear_modify_index();
  }
}

Result<v1::RegisterJobResponse> registered(v1::RegisterJobResponse response, const Applied& applied) {
  DROVER_TRY(v1::JobRegisteredAnswer answer, parse_message<v1::JobRegisteredAnswer>(applied.answer));
  if (!response.eval_id().empty()) response.set_eval_create_index(applied.index);
  response.set_job_modify_index(answer.job_modify_index());
  return response;
}

}  // namespace drover::jobs

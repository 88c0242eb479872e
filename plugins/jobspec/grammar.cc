// The job and its groups. Tasks and services have files of their own.
#include "grammar.h"

#include "grammar_parts.h"

namespace drover::jobspec {
namespace {

using enum Form;

BlockRule spread() {
  BlockRule target =
      labelled("target", "SpreadTarget", "Value", {{"value", "Value", text}, {"percent", "Percent", integer}});
  target.label_is_optional = true;  // older files give the value as an attribute
  return list("spread", "Spreads", {{"attribute", "Attribute", text}, {"weight", "Weight", integer}}, {target});
}

BlockRule update() {
  return object("update", "Update",
                {{"stagger", "Stagger", duration},
                 {"max_parallel", "MaxParallel", integer},
                 {"health_check", "HealthCheck", text},
                 {"min_healthy_time", "MinHealthyTime", duration},
                 {"healthy_deadline", "HealthyDeadline", duration},
                 {"progress_deadline", "ProgressDeadline", duration},
                 {"auto_revert", "AutoRevert", boolean},
                 {"auto_promote", "AutoPromote", boolean},
                 {"canary", "Canary", integer}});
}

BlockRule reschedule(std::string_view json) {
  return object("reschedule", json,
                {{"attempts", "Attempts", integer},
                 {"interval", "Interval", duration},
                 {"delay", "Delay", duration},
                 {"delay_function", "DelayFunction", text},
                 {"max_delay", "MaxDelay", duration},
                 {"unlimited", "Unlimited", boolean}});
}

BlockRule migrate() {
  return object("migrate", "Migrate",
                {{"max_parallel", "MaxParallel", integer},
                 {"health_check", "HealthCheck", text},
                 {"min_healthy_time", "MinHealthyTime", duration},
                 {"healthy_deadline", "HealthyDeadline", duration}});
}

BlockRule volume() {
  return {"volume",
          "Volumes",
          Shape::by_label,
          "Name",
          {{"type", "Type", text},
           {"source", "Source", text},
           {"read_only", "ReadOnly", boolean},
           {"access_mode", "AccessMode", text},
           {"attachment_mode", "AttachmentMode", text},
           {"per_alloc", "PerAlloc", boolean},
           {"sticky", "Sticky", boolean}},
          {object("mount_options", "MountOptions",
                  {{"fs_type", "FSType", text}, {"mount_flags", "MountFlags", text_list}})}};
}

BlockRule group() {
  return labelled(
      "group", "TaskGroups", "Name",
      {{"count", "Count", integer},
       {"shutdown_delay", "ShutdownDelay", duration},
       {"stop_after_client_disconnect", "StopAfterClientDisconnect", duration},
       {"max_client_disconnect", "MaxClientDisconnect", duration},
       {"prevent_reschedule_on_lost", "PreventRescheduleOnLost", boolean},
       {"max_run_duration", "MaxRunDuration", duration}},
      {task(), constraint(), affinity(), spread(), map_block("meta", "Meta"), update(), restart(),
       reschedule("ReschedulePolicy"), migrate(), network(), service(),
       object("ephemeral_disk", "EphemeralDisk",
              {{"size", "SizeMB", integer}, {"sticky", "Sticky", boolean}, {"migrate", "Migrate", boolean}}),
       object("disconnect", "Disconnect",
              {{"lost_after", "LostAfter", duration},
               {"stop_on_client_after", "StopOnClientAfter", duration},
               {"replace", "Replace", boolean},
               {"reconcile", "Reconcile", text}}),
       volume(), scaling("Scaling", Shape::object, ""), consul(), vault()});
}

BlockRule multiregion() {
  return object(
      "multiregion", "Multiregion", {},
      {object("strategy", "Strategy", {{"max_parallel", "MaxParallel", integer}, {"on_failure", "OnFailure", text}}),
       labelled(
           "region", "Regions", "Name",
           {{"count", "Count", integer}, {"datacenters", "Datacenters", text_list}, {"node_pool", "NodePool", text}},
           {map_block("meta", "Meta")})});
}

BlockRule job() {
  return {"job",
          "",
          Shape::object,
          "ID",
          {{"id", "ID", text},
           {"name", "Name", text},
           {"region", "Region", text},
           {"namespace", "Namespace", text},
           {"type", "Type", text},
           {"priority", "Priority", integer},
           {"all_at_once", "AllAtOnce", boolean},
           {"datacenters", "Datacenters", text_list},
           {"node_pool", "NodePool", text},
           {"consul_token", "ConsulToken", text},
           {"vault_token", "VaultToken", text}},
          {group(), task(), constraint(), affinity(), spread(), map_block("meta", "Meta"), update(),
           reschedule("Reschedule"), migrate(), vault(), multiregion(),
           object("periodic", "Periodic",
                  {{"cron", "Spec", text},
                   {"crons", "Specs", text_list},
                   {"prohibit_overlap", "ProhibitOverlap", boolean},
                   {"time_zone", "TimeZone", text},
                   {"enabled", "Enabled", boolean}}),
           object("parameterized", "ParameterizedJob",
                  {{"payload", "Payload", text},
                   {"meta_required", "MetaRequired", text_list},
                   {"meta_optional", "MetaOptional", text_list}}),
           object("ui", "UI", {{"description", "Description", text}},
                  {list("link", "Links", {{"label", "Label", text}, {"url", "URL", text}})})}};
}

}  // namespace

const BlockRule& job_rule() {
  static const BlockRule rule = job();
  return rule;
}

}  // namespace drover::jobspec

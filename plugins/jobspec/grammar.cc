#include "grammar.h"

namespace drover::jobspec {
namespace {

using enum Form;
using Rules = std::vector<BlockRule>;

BlockRule constraint() {
  return {"constraint",
          "Constraints",
          Shape::list,
          "",
          {{"attribute", "LTarget", text},
           {"operator", "Operand", text},
           {"value", "RTarget", text},
           // shorthands, which decode.cc turns into operator and value
           {"regexp", "regexp", text},
           {"version", "version", text},
           {"semver", "semver", text},
           {"set_contains", "set_contains", text},
           {"set_contains_all", "set_contains_all", text},
           {"set_contains_any", "set_contains_any", text},
           {"distinct_hosts", "distinct_hosts", boolean},
           {"distinct_property", "distinct_property", text},
           {"is_set", "is_set", text},
           {"is_not_set", "is_not_set", text}},
          {}};
}

BlockRule affinity() {
  return {"affinity",
          "Affinities",
          Shape::list,
          "",
          {{"attribute", "LTarget", text},
           {"operator", "Operand", text},
           {"value", "RTarget", text},
           {"weight", "Weight", integer},
           {"regexp", "regexp", text},
           {"version", "version", text},
           {"semver", "semver", text},
           {"set_contains", "set_contains", text},
           {"set_contains_all", "set_contains_all", text},
           {"set_contains_any", "set_contains_any", text}},
          {}};
}

BlockRule spread() {
  return {"spread",
          "Spreads",
          Shape::list,
          "",
          {{"attribute", "Attribute", text}, {"weight", "Weight", integer}},
          {{"target",
            "SpreadTarget",
            Shape::list,
            "Value",
            {{"value", "Value", text}, {"percent", "Percent", integer}},
            {}}}};
}

BlockRule meta() { return {"meta", "Meta", Shape::map, "", {}, {}}; }

BlockRule update() {
  return {"update",
          "Update",
          Shape::object,
          "",
          {{"stagger", "Stagger", duration},
           {"max_parallel", "MaxParallel", integer},
           {"health_check", "HealthCheck", text},
           {"min_healthy_time", "MinHealthyTime", duration},
           {"healthy_deadline", "HealthyDeadline", duration},
           {"progress_deadline", "ProgressDeadline", duration},
           {"auto_revert", "AutoRevert", boolean},
           {"auto_promote", "AutoPromote", boolean},
           {"canary", "Canary", integer}},
          {}};
}

BlockRule restart() {
  return {"restart",
          "RestartPolicy",
          Shape::object,
          "",
          {{"attempts", "Attempts", integer},
           {"interval", "Interval", duration},
           {"delay", "Delay", duration},
           {"mode", "Mode", text}},
          {}};
}

BlockRule reschedule(std::string_view json) {
  return {"reschedule",
          json,
          Shape::object,
          "",
          {{"attempts", "Attempts", integer},
           {"interval", "Interval", duration},
           {"delay", "Delay", duration},
           {"delay_function", "DelayFunction", text},
           {"max_delay", "MaxDelay", duration},
           {"unlimited", "Unlimited", boolean}},
          {}};
}

BlockRule migrate() {
  return {"migrate",
          "Migrate",
          Shape::object,
          "",
          {{"max_parallel", "MaxParallel", integer},
           {"health_check", "HealthCheck", text},
           {"min_healthy_time", "MinHealthyTime", duration},
           {"healthy_deadline", "HealthyDeadline", duration}},
          {}};
}

BlockRule network() {
  return {"network",
          "Networks",
          Shape::list,
          "",
          {{"mode", "Mode", text}, {"hostname", "Hostname", text}, {"mbits", "MBits", integer}},
          {{"port",
            "ports",
            Shape::list,
            "Label",
            {{"static", "Value", integer}, {"to", "To", integer}, {"host_network", "HostNetwork", text}},
            {}},
           {"dns",
            "DNS",
            Shape::object,
            "",
            {{"servers", "Servers", text_list}, {"searches", "Searches", text_list}, {"options", "Options", text_list}},
            {}}}};
}

// Blocks that this version carries without looking into them; registering a job that has one says so.
BlockRule carried(std::string_view name, std::string_view json, Shape shape = Shape::free_form,
                  std::string_view label = "") {
  return {name, json, shape, label, {}, {}};
}

BlockRule service() {
  return {"service",
          "Services",
          Shape::list,
          "",
          {{"name", "Name", text},
           {"port", "PortLabel", text},
           {"provider", "Provider", text},
           {"tags", "Tags", text_list},
           {"canary_tags", "CanaryTags", text_list},
           {"address_mode", "AddressMode", text},
           {"address", "Address", text},
           {"enable_tag_override", "EnableTagOverride", boolean},
           {"task", "TaskName", text},
           {"on_update", "OnUpdate", text}},
          {meta(),
           {"canary_meta", "CanaryMeta", Shape::map, "", {}, {}},
           {"tagged_addresses", "TaggedAddresses", Shape::map, "", {}, {}},
           carried("check", "Checks", Shape::list),
           carried("check_restart", "CheckRestart"),
           carried("connect", "Connect")}};
}

BlockRule resources() {
  return {"resources",
          "Resources",
          Shape::object,
          "",
          {{"cpu", "CPU", integer},
           {"cores", "Cores", integer},
           {"memory", "MemoryMB", integer},
           {"memory_max", "MemoryMaxMB", integer},
           {"disk", "DiskMB", integer},
           {"iops", "IOPS", integer}},
          {network(), carried("device", "Devices", Shape::list, "Name")}};
}

BlockRule task() {
  return {"task",
          "Tasks",
          Shape::list,
          "Name",
          {{"driver", "Driver", text},
           {"user", "User", text},
           {"leader", "Leader", boolean},
           {"kill_timeout", "KillTimeout", duration},
           {"kill_signal", "KillSignal", text},
           {"shutdown_delay", "ShutdownDelay", duration},
           {"kind", "Kind", text}},
          {carried("config", "Config"),
           {"env", "Env", Shape::map, "", {}, {}},
           meta(),
           constraint(),
           affinity(),
           resources(),
           restart(),
           {"lifecycle", "Lifecycle", Shape::object, "", {{"hook", "Hook", text}, {"sidecar", "Sidecar", boolean}}, {}},
           {"logs",
            "LogConfig",
            Shape::object,
            "",
            {{"max_files", "MaxFiles", integer},
             {"max_file_size", "MaxFileSizeMB", integer},
             {"disabled", "Disabled", boolean}},
            {}},
           service(),
           carried("artifact", "Artifacts", Shape::list),
           carried("template", "Templates", Shape::list),
           carried("vault", "Vault"),
           carried("identity", "Identity"),
           carried("dispatch_payload", "DispatchPayload"),
           carried("volume_mount", "VolumeMounts", Shape::list),
           carried("csi_plugin", "CSIPluginConfig"),
           carried("scaling", "ScalingPolicies", Shape::list, "Type")}};
}

BlockRule group() {
  return {"group",
          "TaskGroups",
          Shape::list,
          "Name",
          {{"count", "Count", integer},
           {"shutdown_delay", "ShutdownDelay", duration},
           {"stop_after_client_disconnect", "StopAfterClientDisconnect", duration},
           {"max_client_disconnect", "MaxClientDisconnect", duration}},
          {task(),
           constraint(),
           affinity(),
           spread(),
           meta(),
           update(),
           restart(),
           reschedule("ReschedulePolicy"),
           migrate(),
           network(),
           service(),
           {"ephemeral_disk",
            "EphemeralDisk",
            Shape::object,
            "",
            {{"size", "SizeMB", integer}, {"sticky", "Sticky", boolean}, {"migrate", "Migrate", boolean}},
            {}},
           {"volume",
            "Volumes",
            Shape::by_label,
            "Name",
            {{"type", "Type", text},
             {"source", "Source", text},
             {"read_only", "ReadOnly", boolean},
             {"access_mode", "AccessMode", text},
             {"attachment_mode", "AttachmentMode", text},
             {"per_alloc", "PerAlloc", boolean}},
            {carried("mount_options", "MountOptions")}},
           carried("scaling", "Scaling"),
           carried("consul", "Consul")}};
}

}  // namespace

const BlockRule& job_rule() {
  static const BlockRule rule = {"job",
                                 "",
                                 Shape::object,
                                 "ID",
                                 {{"name", "Name", text},
                                  {"region", "Region", text},
                                  {"namespace", "Namespace", text},
                                  {"type", "Type", text},
                                  {"priority", "Priority", integer},
                                  {"all_at_once", "AllAtOnce", boolean},
                                  {"datacenters", "Datacenters", text_list},
                                  {"node_pool", "NodePool", text}},
                                 {group(),
                                  task(),
                                  constraint(),
                                  affinity(),
                                  spread(),
                                  meta(),
                                  update(),
                                  reschedule("Reschedule"),
                                  migrate(),
                                  {"periodic",
                                   "Periodic",
                                   Shape::object,
                                   "",
                                   {{"cron", "Spec", text},
                                    {"prohibit_overlap", "ProhibitOverlap", boolean},
                                    {"time_zone", "TimeZone", text},
                                    {"enabled", "Enabled", boolean}},
                                   {}},
                                  {"parameterized",
                                   "ParameterizedJob",
                                   Shape::object,
                                   "",
                                   {{"payload", "Payload", text},
                                    {"meta_required", "MetaRequired", text_list},
                                    {"meta_optional", "MetaOptional", text_list}},
                                   {}},
                                  carried("multiregion", "Multiregion")}};
  return rule;
}

}  // namespace drover::jobspec

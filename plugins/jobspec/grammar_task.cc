// Tasks, and what groups share with them.
#include "grammar_parts.h"

namespace drover::jobspec {
namespace {

using enum Form;

BlockRule artifact() {
  return list("artifact", "Artifacts",
              {{"source", "GetterSource", text},
               {"destination", "RelativeDest", text},
               {"mode", "GetterMode", text},
               {"insecure", "GetterInsecure", boolean},
               {"chown", "Chown", boolean}},
              {map_block("options", "GetterOptions"), map_block("headers", "GetterHeaders")});
}

BlockRule template_() {
  return list("template", "Templates",
              {{"data", "EmbeddedTmpl", text},
               {"source", "SourcePath", text},
               {"destination", "DestPath", text},
               {"change_mode", "ChangeMode", text},
               {"change_signal", "ChangeSignal", text},
               {"splay", "Splay", duration},
               {"perms", "Perms", text},
               {"uid", "Uid", integer},
               {"gid", "Gid", integer},
               {"left_delimiter", "LeftDelim", text},
               {"right_delimiter", "RightDelim", text},
               {"env", "Envvars", boolean},
               {"vault_grace", "VaultGrace", duration},
               {"error_on_missing_key", "ErrMissingKey", boolean},
               {"once", "Once", boolean}},
              {object("change_script", "ChangeScript",
                      {{"command", "Command", text},
                       {"args", "Args", text_list},
                       {"timeout", "Timeout", duration},
                       {"fail_on_error", "FailOnError", boolean},
                       {"run_on_first_render", "RunOnFirstRender", boolean}}),
               object("wait", "Wait", {{"min", "Min", duration}, {"max", "Max", duration}})});
}

}  // namespace

BlockRule identity(std::string_view json) {
  BlockRule rule = labelled("identity", json, "Name",
                            {{"name", "Name", text},
                             {"aud", "Audience", text_list},
                             {"env", "Env", boolean},
                             {"file", "File", boolean},
                             {"filepath", "Filepath", text},
                             {"service_name", "ServiceName", text},
                             {"change_mode", "ChangeMode", text},
                             {"change_signal", "ChangeSignal", text},
                             {"ttl", "TTL", duration},
                             {"extra_claims", "ExtraClaims", text_list}});
  rule.label_is_optional = true;
  return rule;
}

namespace {

BlockRule csi_plugin() {
  return object("csi_plugin", "CSIPluginConfig",
                {{"id", "ID", text},
                 {"type", "Type", text},
                 {"mount_dir", "MountDir", text},
                 {"stage_publish_base_dir", "StagePublishBaseDir", text},
                 {"health_timeout", "HealthTimeout", duration}});
}

// Words that may stand in place of operator and value; decode.cc turns them into those.
void add_comparisons(Attributes& attributes) {
  for (std::string_view word :
       {"regexp", "version", "semver", "set_contains", "set_contains_all", "set_contains_any"}) {
    attributes.push_back({word, word, text});
  }
}

}  // namespace

BlockRule constraint() {
  BlockRule rule = list("constraint", "Constraints",
                        {{"attribute", "LTarget", text}, {"operator", "Operand", text}, {"value", "RTarget", text}});
  add_comparisons(rule.attributes);
  rule.attributes.push_back({"distinct_hosts", "distinct_hosts", boolean});
  for (std::string_view word : {"distinct_property", "is_set", "is_not_set"})
    rule.attributes.push_back({word, word, text});
  return rule;
}

BlockRule affinity() {
  BlockRule rule = list("affinity", "Affinities",
                        {{"attribute", "LTarget", text},
                         {"operator", "Operand", text},
                         {"value", "RTarget", text},
                         {"weight", "Weight", integer}});
  add_comparisons(rule.attributes);
  return rule;
}

BlockRule restart() {
  return object("restart", "RestartPolicy",
                {{"attempts", "Attempts", integer},
                 {"interval", "Interval", duration},
                 {"delay", "Delay", duration},
                 {"mode", "Mode", text},
                 {"render_templates", "RenderTemplates", boolean}});
}

BlockRule network() {
  return list(
      "network", "Networks",
      {{"mode", "Mode", text},
       {"device", "Device", text},
       {"cidr", "CIDR", text},
       {"ip", "IP", text},
       {"hostname", "Hostname", text},
       {"mbits", "MBits", integer}},
      {labelled("port", "ports", "Label",
                {{"static", "Value", integer},
                 {"to", "To", integer},
                 {"host_network", "HostNetwork", text},
                 {"ignore_collision", "IgnoreCollision", boolean}}),
       object(
           "dns", "DNS",
           {{"servers", "Servers", text_list}, {"searches", "Searches", text_list}, {"options", "Options", text_list}}),
       object("cni", "CNI", {}, {map_block("args", "Args")})});
}

BlockRule resources() {
  return object(
      "resources", "Resources",
      {{"cpu", "CPU", integer},
       {"cores", "Cores", integer},
       {"memory", "MemoryMB", integer},
       {"memory_max", "MemoryMaxMB", integer},
       {"disk", "DiskMB", integer},
       {"iops", "IOPS", integer},
       {"secrets", "SecretsMB", integer}},
      {network(), labelled("device", "Devices", "Name", {{"count", "Count", integer}}, {constraint(), affinity()}),
       object("numa", "NUMA", {{"affinity", "Affinity", text}, {"devices", "Devices", text_list}})});
}

BlockRule logs() {
  return object("logs", "LogConfig",
                {{"max_files", "MaxFiles", integer},
                 {"max_file_size", "MaxFileSizeMB", integer},
                 {"disabled", "Disabled", boolean},
                 {"enabled", "Enabled", boolean}});
}

BlockRule volume_mount() {
  return list("volume_mount", "VolumeMounts",
              {{"volume", "Volume", text},
               {"destination", "Destination", text},
               {"read_only", "ReadOnly", boolean},
               {"propagation_mode", "PropagationMode", text},
               {"selinux_label", "SELinuxLabel", text}});
}

BlockRule vault() {
  return object("vault", "Vault",
                {{"policies", "Policies", text_list},
                 {"role", "Role", text},
                 {"namespace", "Namespace", text},
                 {"cluster", "Cluster", text},
                 {"env", "Env", boolean},
                 {"disable_file", "DisableFile", boolean},
                 {"change_mode", "ChangeMode", text},
                 {"change_signal", "ChangeSignal", text},
                 {"allow_token_expiration", "AllowTokenExpiration", boolean}});
}

BlockRule consul() {
  return object("consul", "Consul",
                {{"namespace", "Namespace", text}, {"cluster", "Cluster", text}, {"partition", "Partition", text}});
}

BlockRule scaling(std::string_view json, Shape shape, std::string_view label) {
  return {"scaling",
          json,
          shape,
          label,
          {{"enabled", "Enabled", boolean}, {"min", "Min", integer}, {"max", "Max", integer}, {"type", "Type", text}},
          {free_block("policy", "Policy")}};
}

BlockRule task() {
  return labelled("task", "Tasks", "Name",
                  {{"driver", "Driver", text},
                   {"user", "User", text},
                   {"leader", "Leader", boolean},
                   {"kill_timeout", "KillTimeout", duration},
                   {"kill_signal", "KillSignal", text},
                   {"shutdown_delay", "ShutdownDelay", duration},
                   {"kind", "Kind", text}},
                  {free_block("config", "Config"),
                   map_block("env", "Env"),
                   map_block("meta", "Meta"),
                   constraint(),
                   affinity(),
                   resources(),
                   restart(),
                   object("lifecycle", "Lifecycle", {{"hook", "Hook", text}, {"sidecar", "Sidecar", boolean}}),
                   logs(),
                   service(),
                   artifact(),
                   template_(),
                   vault(),
                   consul(),
                   identity("identities"),
                   object("dispatch_payload", "DispatchPayload", {{"file", "File", text}}),
                   volume_mount(),
                   csi_plugin(),
                   scaling("ScalingPolicies", Shape::list, "Type"),
                   labelled("action", "Actions", "Name", {{"command", "Command", text}, {"args", "Args", text_list}}),
                   object("schedule", "Schedule", {},
                          {object("cron", "Cron",
                                  {{"start", "Start", text}, {"end", "End", text}, {"timezone", "Timezone", text}})}),
                   labelled("secret", "Secrets", "Name", {{"provider", "Provider", text}, {"path", "Path", text}},
                            {free_block("config", "Config"), map_block("env", "Env")})});
}

}  // namespace drover::jobspec

// Defaults of tasks and the blocks inside of them.
#include <algorithm>

#include "canonical_parts.h"

namespace drover::jobs {
namespace {

// The task's own fields win, field by field.
void inherit(v1::RestartPolicy& own, const v1::RestartPolicy& from) {
  v1::RestartPolicy merged = from;
  merged.MergeFrom(own);
  own = merged;
}

void resources_defaults(v1::Resources& resources) {
  if (!resources.has_cpu()) resources.set_cpu(resources.cores() == 0 ? 100 : 0);
  DROVER_DEFAULT(resources, memory_mb, 300);
  for (v1::NetworkResource& network : *resources.mutable_networks()) network_defaults(network);
  for (v1::RequestedDevice& device : *resources.mutable_devices()) {
    DROVER_DEFAULT(device, count, 1);
    constraint_defaults(device);
  }
  if (resources.has_numa()) DROVER_DEFAULT_TEXT(*resources.mutable_numa(), affinity, "none");
}

void template_defaults(v1::Template& each) {
  DROVER_DEFAULT_TEXT(each, change_mode, "restart");
  each.set_change_signal(upper_case(each.change_signal()));
  DROVER_DEFAULT(each, splay, ns(5s));
  DROVER_DEFAULT_TEXT(each, perms, "0644");
  DROVER_DEFAULT_TEXT(each, left_delim, "{{");
  DROVER_DEFAULT_TEXT(each, right_delim, "}}");
  if (each.has_change_script()) DROVER_DEFAULT(*each.mutable_change_script(), timeout, ns(5s));
}

void vault_defaults(v1::Vault& vault) {
  DROVER_DEFAULT(vault, env, true);
  DROVER_DEFAULT_TEXT(vault, cluster, "default");
  DROVER_DEFAULT_TEXT(vault, change_mode, "restart");
  if (vault.change_mode() == "signal") DROVER_DEFAULT_TEXT(vault, change_signal, "SIGHUP");
  vault.set_change_signal(upper_case(vault.change_signal()));
}

void csi_plugin_defaults(v1::CsiPluginConfig& plugin) {
  DROVER_DEFAULT_TEXT(plugin, mount_dir, "/csi");
  DROVER_DEFAULT_TEXT(plugin, stage_publish_base_dir, "/local/csi");
  DROVER_DEFAULT(plugin, health_timeout, ns(30s));
}

}  // namespace

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

void network_defaults(v1::NetworkResource& network) {
  DROVER_DEFAULT_TEXT(network, mode, "host");
  for (auto* ports : {network.mutable_reserved_ports(), network.mutable_dynamic_ports()}) {
    for (v1::Port& port : *ports) DROVER_DEFAULT_TEXT(port, host_network, "default");
  }
}

void scaling_defaults(const v1::Job& job, const v1::TaskGroup& group, const std::string& task,
                      v1::ScalingPolicy& policy) {
  DROVER_DEFAULT(policy, enabled, true);
  DROVER_DEFAULT_TEXT(policy, type, "horizontal");
  if (policy.type() == "horizontal") DROVER_DEFAULT(policy, min, group.count());
  auto& target = *policy.mutable_target();
  target["Namespace"] = job.namespace_();
  target["Job"] = job.id();
  target["Group"] = group.name();
  if (!task.empty()) target["Task"] = task;
}

void task_defaults(const v1::Job& job, const v1::TaskGroup& group, v1::Task& task) {
  inherit(*task.mutable_restart_policy(), group.restart_policy());
  if (task.lifecycle().hook().empty()) task.clear_lifecycle();  // a main task
  DROVER_DEFAULT(task, kill_timeout, ns(5s));
  resources_defaults(*task.mutable_resources());
  v1::LogConfig& logs = *task.mutable_log_config();
  DROVER_DEFAULT(logs, max_files, 10);
  DROVER_DEFAULT(logs, max_file_size_mb, 10);
  if (logs.has_enabled()) logs.set_disabled(!logs.enabled());
  logs.clear_enabled();
  constraint_defaults(task);
  for (v1::Service& service : *task.mutable_services()) service_defaults(job, group, &task, service);
  for (v1::Artifact& artifact : *task.mutable_artifacts()) {
    DROVER_DEFAULT_TEXT(artifact, getter_mode, "any");
    DROVER_DEFAULT_TEXT(artifact, relative_dest, "local/");
  }
  for (v1::Template& each : *task.mutable_templates()) template_defaults(each);
  if (task.has_vault()) vault_defaults(*task.mutable_vault());
  if (task.has_consul()) DROVER_DEFAULT_TEXT(*task.mutable_consul(), cluster, "default");
  if (task.has_identity()) DROVER_DEFAULT_TEXT(*task.mutable_identity(), name, "default");
  for (v1::VolumeMount& mount : *task.mutable_volume_mounts()) DROVER_DEFAULT_TEXT(mount, propagation_mode, "private");
  if (task.has_csi_plugin_config()) csi_plugin_defaults(*task.mutable_csi_plugin_config());
  for (v1::ScalingPolicy& policy : *task.mutable_scaling_policies()) scaling_defaults(job, group, task.name(), policy);
}

}  // namespace drover::jobs

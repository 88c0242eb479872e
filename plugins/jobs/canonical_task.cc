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

void resources_defaults(Side side, v1::Resources& resources) {
  if (!resources.has_cpu()) resources.set_cpu(resources.cores() == 0 ? 100 : 0);
  DROVER_DEFAULT(resources, cores, 0);
  DROVER_DEFAULT(resources, memory_mb, 300);
  for (v1::RequestedDevice& device : *resources.mutable_devices()) {
    DROVER_DEFAULT(device, count, 1);
    constraint_defaults(side, device);
  }
  if (side == Side::client) return;
  DROVER_DEFAULT(resources, memory_max_mb, 0);
  DROVER_DEFAULT(resources, disk_mb, 0);
  DROVER_DEFAULT(resources, iops, 0);
  for (v1::NetworkResource& network : *resources.mutable_networks()) network_defaults(network);
  if (resources.has_numa()) DROVER_DEFAULT_TEXT(*resources.mutable_numa(), affinity, "none");
}

void artifact_defaults(v1::Artifact& artifact) {
  DROVER_DEFAULT(artifact, getter_source, "");
  DROVER_DEFAULT_TEXT(artifact, getter_mode, "any");
  // A file is called as at its source. An empty destination is one: the task's folder.
  const std::string& source = artifact.getter_source();
  const std::string name = artifact.getter_mode() == "file" ? source.substr(source.rfind('/') + 1) : "";
  DROVER_DEFAULT(artifact, relative_dest, "local/" + name);
}

void template_defaults(v1::Template& each) {
  DROVER_DEFAULT(each, source_path, "");
  DROVER_DEFAULT(each, dest_path, "");
  DROVER_DEFAULT(each, embedded_tmpl, "");
  DROVER_DEFAULT(each, envvars, false);
  DROVER_DEFAULT(each, err_missing_key, false);
  DROVER_DEFAULT(each, vault_grace, 0);
  DROVER_DEFAULT_TEXT(each, change_mode, "restart");
  DROVER_DEFAULT(each, change_signal, each.change_mode() == "signal" ? "SIGHUP" : "");
  each.set_change_signal(upper_case(each.change_signal()));
  DROVER_DEFAULT(each, splay, ns(5s));
  DROVER_DEFAULT_TEXT(each, perms, "0644");
  DROVER_DEFAULT_TEXT(each, left_delim, "{{");
  DROVER_DEFAULT_TEXT(each, right_delim, "}}");
  if (!each.has_change_script()) return;
  DROVER_DEFAULT(*each.mutable_change_script(), command, "");
  DROVER_DEFAULT(*each.mutable_change_script(), timeout, ns(5s));
  DROVER_DEFAULT(*each.mutable_change_script(), fail_on_error, false);
}

void vault_defaults(Side side, v1::Vault& vault) {
  DROVER_DEFAULT(vault, env, true);
  DROVER_DEFAULT(vault, namespace_, "");
  DROVER_DEFAULT_TEXT(vault, change_mode, "restart");
  DROVER_DEFAULT(vault, change_signal, "SIGHUP");
  if (side == Side::client) return;
  DROVER_DEFAULT_TEXT(vault, cluster, "default");
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
  DROVER_DEFAULT(network, mbits, 0);
  for (auto* ports : {network.mutable_reserved_ports(), network.mutable_dynamic_ports()}) {
    for (v1::Port& port : *ports) DROVER_DEFAULT_TEXT(port, host_network, "default");
  }
}

void scaling_defaults(Side side, const v1::Job& job, const v1::TaskGroup& group, const std::string& task,
                      v1::ScalingPolicy& policy) {
  DROVER_DEFAULT(policy, enabled, true);
  DROVER_DEFAULT_TEXT(policy, type, "horizontal");
  if (policy.type() == "horizontal") DROVER_DEFAULT(policy, min, group.count());
  if (side == Side::client) return;
  auto& target = *policy.mutable_target();
  target["Namespace"] = job.namespace_();
  target["Job"] = job.id();
  target["Group"] = group.name();
  if (!task.empty()) target["Task"] = task;
}

void identity_defaults(v1::Identity& identity) {
  DROVER_DEFAULT_TEXT(identity, name, "default");
  DROVER_DEFAULT_TEXT(identity, change_mode, "noop");
}

void task_defaults(Side side, const v1::Job& job, const v1::TaskGroup& group, v1::Task& task) {
  inherit(*task.mutable_restart_policy(), group.restart_policy());
  if (task.lifecycle().hook().empty()) task.clear_lifecycle();  // a main task
  DROVER_DEFAULT(task, kill_timeout, ns(5s));
  resources_defaults(side, *task.mutable_resources());
  v1::LogConfig& logs = *task.mutable_log_config();
  DROVER_DEFAULT(logs, max_files, 10);
  DROVER_DEFAULT(logs, max_file_size_mb, 10);
  if (logs.has_enabled()) logs.set_disabled(!logs.enabled());
  logs.clear_enabled();
  DROVER_DEFAULT(logs, disabled, false);
  constraint_defaults(side, task);
  for (v1::Service& service : *task.mutable_services()) service_defaults(side, job, group, &task, service);
  for (v1::Artifact& artifact : *task.mutable_artifacts()) artifact_defaults(artifact);
  for (v1::Template& each : *task.mutable_templates()) template_defaults(each);
  if (task.has_vault()) vault_defaults(side, *task.mutable_vault());
  for (v1::VolumeMount& mount : *task.mutable_volume_mounts()) {
    DROVER_DEFAULT_TEXT(mount, propagation_mode, "private");
    DROVER_DEFAULT(mount, read_only, false);
  }
  if (task.has_csi_plugin_config()) csi_plugin_defaults(*task.mutable_csi_plugin_config());
  if (side == Side::client) return;
  if (task.has_consul()) DROVER_DEFAULT_TEXT(*task.mutable_consul(), cluster, "default");
  if (task.has_identity()) identity_defaults(*task.mutable_identity());
  for (v1::Identity& each : *task.mutable_identities()) identity_defaults(each);
  for (v1::ScalingPolicy& policy : *task.mutable_scaling_policies()) {
    scaling_defaults(side, job, group, task.name(), policy);
  }
}

}  // namespace drover::jobs

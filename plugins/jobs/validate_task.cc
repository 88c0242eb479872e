// Rules of tasks and the blocks inside of them.
#include <algorithm>
#include <set>

#include "drover/workload.h"
#include "validate_parts.h"

namespace drover::jobs {
namespace {

void check_change(const Place& place, const std::string& mode, const std::string& signal, bool may_be_script) {
  if (may_be_script) {
    place["change_mode"].require_one_of(mode, {"noop", "restart", "signal", "script"});
  } else {
    place["change_mode"].require_one_of(mode, {"noop", "restart", "signal"});
  }
  place["change_signal"].require(mode != "signal" || !signal.empty(), "change_mode \"signal\" needs a change_signal");
}

bool is_octal(const std::string& text) {
  return !text.empty() && text.size() <= 5 && text.find_first_not_of("01234567") == std::string::npos;
}

void check_template(const Place& place, const v1::Template& each) {
  place.require(!each.embedded_tmpl().empty() || !each.source_path().empty(), "data or source is missing");
  place["destination"].require(!each.dest_path().empty(), "destination is missing");
  place["destination"].require(stays_in_folders(each.dest_path()), "the path leaves the task's folder");
  check_change(place, each.change_mode(), each.change_signal(), true);
  place["env"].require(!each.envvars() || each.change_mode() != "signal", "excludes change_mode \"signal\"");
  place["change_script"].require(each.change_mode() != "script" || each.has_change_script(),
                                 "change_mode \"script\" needs a change_script");
  if (each.has_change_script()) {
    place["change_script"]["command"].require(!each.change_script().command().empty(), "command is missing");
  }
  place["splay"].require(each.splay() >= 0, "must not be negative");
  place["perms"].require(is_octal(each.perms()), quoted(each.perms()) + " is no octal number");
  if (each.has_wait()) {
    place["wait"].require(!each.wait().has_max() || each.wait().min() <= each.wait().max(),
                          "min must not be above max");
  }
  if (each.vault_grace() != 0) place["vault_grace"].warn("has no effect any more");
}

void check_artifact(const Place& place, const v1::Artifact& artifact) {
  place["source"].require(!artifact.getter_source().empty(), "source is missing");
  place["mode"].require_one_of(artifact.getter_mode(), {"any", "file", "dir"});
  place["destination"].require(stays_in_folders(artifact.relative_dest()), "the path leaves the task's folder");
  const auto checksum = artifact.getter_options().find("checksum");
  if (checksum == artifact.getter_options().end() || checksum->second.find("${") != std::string::npos) return;
  const std::string& text = checksum->second;
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const size_t digits = kind == "md5" ? 32 : kind == "sha1" ? 40 : kind == "sha256" ? 64 : kind == "sha512" ? 128 : 0;
  const std::string value = colon == std::string::npos ? "" : text.substr(colon + 1);
  place["options"]["checksum"].require(
      digits > 0 && value.size() == digits && value.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos,
      quoted(text) + " is no checksum; write \"sha256:\" (or md5, sha1, sha512) and as many digits as it has");
}

void check_vault(const Place& place, const v1::Vault& vault) {
  if (!vault.policies().empty()) place["policies"].warn("has no effect: the role in Vault says what the token may do");
  for (const std::string& policy : vault.policies()) {
    place["policies"].require(policy != "root", "the policy \"root\" is not allowed");
  }
  place["cluster"].unsupported(vault.cluster() != "default", "vault.cluster (there is one Vault, \"default\")");
  check_change(place, vault.change_mode(), vault.change_signal(), false);
}

// "type", "vendor/type" or "vendor/type/name", of which only the last may hold further slashes.
void check_device_name(const Place& place, const std::string& name) {
  const size_t first = name.find('/');
  const size_t second = first == std::string::npos ? first : name.find('/', first + 1);
  const bool has_empty_part = name.empty() || first == 0 || second == first + 1 || name.ends_with('/');
  place.require(!has_empty_part, "has no name of the form \"type\", \"vendor/type\" or \"vendor/type/name\"");
}

void check_resources(const Place& place, const v1::Resources& resources) {
  place["cpu"].require(resources.cores() > 0 || resources.cpu() >= 1, "must be at least 1");
  place["cores"].require(resources.cores() >= 0, "must not be negative");
  place["cores"].require(resources.cores() == 0 || resources.cpu() == 0, "cores and cpu exclude each other");
  place["memory"].require(resources.memory_mb() >= 10, "must be at least 10");
  place["memory_max"].require(resources.memory_max_mb() == 0 || resources.memory_max_mb() == -1 ||
                                  resources.memory_max_mb() >= resources.memory_mb(),
                              "must not be below memory");
  if (resources.memory_max_mb() != 0) {
    place["memory_max"].warn(
        "has an effect only while memory oversubscription is enabled (operator scheduler set-config)");
  }
  if (resources.disk_mb() != 0) place["disk"].warn("has no effect any more; the group's ephemeral_disk has");
  if (resources.iops() != 0) place["iops"].warn("has no effect any more");
  place["network"].unsupported(!resources.networks().empty(), "resources.network (use the group's network)");
  place["secrets"].require(resources.secrets_mb() >= 0, "must not be negative");
  if (resources.has_numa()) {
    place["numa"]["affinity"].require_one_of(resources.numa().affinity(), {"none", "prefer", "require"});
    place["numa"].unsupported(resources.numa().affinity() != "none", "numa");
  }
  for (int i = 0; i < resources.devices_size(); ++i) {
    const v1::RequestedDevice& device = resources.devices(i);
    const Place at = place.item("device", device.name(), i);
    check_device_name(at, device.name());
    at["count"].require(device.count() >= 1, "must be at least 1");
    for (int c = 0; c < device.constraints_size(); ++c) {
      check_constraint(at.item("constraint", "", c), device.constraints(c), false);
    }
    for (int a = 0; a < device.affinities_size(); ++a) check_affinity(at.item("affinity", "", a), device.affinities(a));
  }
}

bool is_identity_name(const std::string& name) {
  return !name.empty() && name.size() <= 128 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

void check_identity(const Place& at, const v1::Identity& identity) {
  constexpr int64_t kSecond = 1'000'000'000, kLongest = int64_t{87'600} * 3600 * kSecond;
  at["ttl"].require(identity.ttl() == 0 || (identity.ttl() >= 5 * kSecond && identity.ttl() <= kLongest),
                    "must be from 5s to 87600h");
  check_change(at, identity.change_mode().empty() ? "noop" : identity.change_mode(), identity.change_signal(), false);
  if (!identity.filepath().empty() && !identity.file()) at["filepath"].warn("has an effect only with file = true");
  at["filepath"].require(stays_inside(identity.filepath()), "must stay in the task's folder");
  at["service_name"].require(identity.service_name().empty(), "is for the identities of services");
  at["extra_claims"].unsupported(identity.extra_claims_size() > 0, "identity.extra_claims");
}

void check_identities(const Place& place, const v1::Task& task) {
  std::set<std::string> names, variables, files;
  for (int i = 0; i < task.identities_size(); ++i) {
    const v1::Identity& identity = task.identities(i);
    const Place at = place.item("identity", identity.name(), i);
    at["name"].require(is_identity_name(identity.name()), quoted(identity.name()) + " is no name of an identity");
    at["name"].require(identity.name() != kDefaultIdentity, "is the task's own identity: say it as Identity");
    if (!names.insert(identity.name()).second) at.error("is defined twice");
    std::string variable = identity.name();
    std::ranges::replace(variable, '-', '_');
    at["env"].require(!identity.env() || variables.insert(variable).second, "gives another identity's variable");
    const std::string& path = identity.filepath();
    at["filepath"].require(!identity.file() || path.empty() || files.insert(path).second, "is another identity's file");
    check_identity(at, identity);
    if (identity.audience().empty()) at.warn("has no aud: whoever gets the token may show it to others");
    if (identity.ttl() == 0) at.warn("has no ttl: its token is good for as long as the allocation runs");
  }
  if (!task.has_identity()) return;
  const bool is_for_us = task.identity().audience().empty() ||
                         (task.identity().audience_size() == 1 && task.identity().audience(0) == kOwnAudience);
  place["identity"]["aud"].require(is_for_us, "of the default identity is always " + quoted(std::string(kOwnAudience)) +
                                                 "; name another identity for other audiences");
  check_identity(place["identity"], task.identity());
}

void check_volume_mounts(const Place& place, const v1::Task& task, const v1::TaskGroup& group) {
  for (int i = 0; i < task.volume_mounts_size(); ++i) {
    const v1::VolumeMount& mount = task.volume_mounts(i);
    const Place at = place.item("volume_mount", mount.volume(), i);
    at["volume"].require(group.volumes().contains(mount.volume()), "the group has no volume " + quoted(mount.volume()));
    at["destination"].require(!mount.destination().empty(), "destination is missing");
    at["propagation_mode"].require_one_of(mount.propagation_mode(), {"private", "host-to-task", "bidirectional"});
    at["selinux_label"].unsupported(!mount.selinux_label().empty(), "volume_mount.selinux_label");
  }
}

void check_lifecycle(const Place& place, const v1::TaskLifecycle& lifecycle) {
  place["hook"].require_one_of(lifecycle.hook(), {"prestart", "poststart", "poststop"});
  place.require(lifecycle.hook() != "poststop" || !lifecycle.sidecar(), "a poststop task cannot be a sidecar");
}

void check_logs(const Place& place, const v1::LogConfig& logs, const v1::TaskGroup& group) {
  place["max_files"].require(logs.max_files() >= 1, "must be at least 1");
  place["max_file_size"].require(logs.max_file_size_mb() >= 1, "must be at least 1");
  const int64_t megabytes = int64_t{logs.max_files()} * logs.max_file_size_mb();
  place.require(logs.disabled() || megabytes < group.ephemeral_disk().size_mb(),
                "log storage (" + std::to_string(megabytes) + " MB) must be below the group's ephemeral_disk.size (" +
                    std::to_string(group.ephemeral_disk().size_mb()) + " MB)");
}

void check_templates(const Place& place, const v1::Task& task) {
  std::set<std::string> destinations;
  for (int i = 0; i < task.templates_size(); ++i) {
    const Place at = place.item("template", "", i);
    check_template(at, task.templates(i));
    const std::string& destination = task.templates(i).dest_path();
    if (!destination.empty() && !destinations.insert(destination).second) {
      at["destination"].error(quoted(destination) + " is the destination of another template as well");
    }
  }
}

void check_csi_plugin(const Place& place, const v1::CsiPluginConfig& plugin) {
  place["id"].require(!plugin.id().empty(), "id is missing");
  place["type"].require_one_of(plugin.type(), {"node", "controller", "monolith"});
}

void check_further_blocks(const Place& place, const v1::Task& task) {
  for (int i = 0; i < task.artifacts_size(); ++i) {
    check_artifact(place.item("artifact", "", i), task.artifacts(i));
  }
  if (task.has_consul()) check_consul(place["consul"], task.consul());
  if (task.has_vault()) check_vault(place["vault"], task.vault());
  if (task.has_csi_plugin_config()) check_csi_plugin(place["csi_plugin"], task.csi_plugin_config());
  if (task.has_dispatch_payload()) {
    const std::string& file = task.dispatch_payload().file();
    place["dispatch_payload"]["file"].require(!file.empty(), "file is missing");
    place["dispatch_payload"]["file"].require(stays_inside(file), "the path leaves the task's folder");
  }
  for (int i = 0; i < task.secrets_size(); ++i) {
    const Place at = place.item("secret", task.secrets(i).name(), i);
    at["provider"].require(!task.secrets(i).provider().empty(), "provider is missing");
    at["path"].require(!task.secrets(i).path().empty(), "path is missing");
    at.unsupported(true, "secret");
  }
  std::set<std::string> actions;
  for (int i = 0; i < task.actions_size(); ++i) {
    const Place at = place.item("action", task.actions(i).name(), i);
    if (!actions.insert(task.actions(i).name()).second) at.error("is defined twice");
    at["command"].require(!task.actions(i).command().empty(), "command is missing");
  }
  place["schedule"].unsupported(task.has_schedule(), "schedule");
  place["kind"].unsupported(!task.kind().empty(), "kind");
}

}  // namespace

void check_task(const Place& place, const v1::Task& task, const v1::TaskGroup& group, const v1::Job& job) {
  place.require(!task.name().empty(), "has no name");
  place.require(task.name().find_first_of(std::string_view("/\\\0", 3)) == std::string::npos && task.name() != ".." &&
                    task.name() != ".",
                "the name must be no path: it becomes a folder");
  place.require(task.name() != "alloc", "the name is taken by the allocation's shared folder");
  place["driver"].require(!task.driver().empty(), "has no driver");
  for (int i = 0; i < task.constraints_size(); ++i) {
    check_constraint(place.item("constraint", "", i), task.constraints(i), false);
  }
  for (int i = 0; i < task.affinities_size(); ++i) check_affinity(place.item("affinity", "", i), task.affinities(i));
  place.require(task.affinities().empty() || !job.type().starts_with("sys"), "a system job has no affinities");
  check_resources(place["resources"], task.resources());
  place["kill_timeout"].require(task.kill_timeout() >= 0, "must not be negative");
  if (job.type() == "service" && group.has_update() && group.update().progress_deadline() > 0) {
    place["kill_timeout"].require(task.kill_timeout() <= group.update().progress_deadline(),
                                  "must not be above the group's update.progress_deadline");
  }
  place["shutdown_delay"].require(task.shutdown_delay() >= 0, "must not be negative");
  check_logs(place["logs"], task.log_config(), group);
  check_restart(place["restart"], task.restart_policy());
  if (task.has_lifecycle()) check_lifecycle(place["lifecycle"], task.lifecycle());
  for (int i = 0; i < task.services_size(); ++i) {
    check_service(place.item("service", task.services(i).name(), i), task.services(i), group, &task);
  }
  check_templates(place, task);
  check_volume_mounts(place, task, group);
  check_identities(place, task);
  for (int i = 0; i < task.scaling_policies_size(); ++i) {
    check_scaling(place.item("scaling", task.scaling_policies(i).type(), i), task.scaling_policies(i), group, true);
  }
  check_further_blocks(place, task);
}

}  // namespace drover::jobs

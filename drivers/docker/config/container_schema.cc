// The schema of a task's `config`, apart from what reads it.
#include "config/container_options.h"
#include "config/hcl_spec.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::docker {
namespace {

hclspec::Spec plain_options() {
  return hclspec::object_of({{.name = "image", .type = "string", .is_required = true},
                             {"advertise_ipv6_address", "bool"},
                             {"args", "list(string)"},
                             {"auth_soft_fail", "bool"},
                             {"cap_add", "list(string)"},
                             {"cap_drop", "list(string)"},
                             {"command", "string"},
                             {"cpu_cfs_period", "number"},
                             {"cpu_hard_limit", "bool"},
                             {"cpuset_cpus", "string"},
                             {"dns_options", "list(string)"},
                             {"dns_search_domains", "list(string)"},
                             {"dns_servers", "list(string)"},
                             {"entrypoint", "list(string)"},
                             {"extra_hosts", "list(string)"},
                             {"force_pull", "bool"},
                             {"hostname", "string"},
                             {"image_pull_timeout", "string"},
                             {"init", "bool"},
                             {"interactive", "bool"},
                             {"ipc_mode", "string"},
                             {"ipv4_address", "string"},
                             {"ipv6_address", "string"},
                             {"isolation", "string"},
                             {"load", "string"},
                             {"mac_address", "string"},
                             {"memory_hard_limit", "number"},
                             {"network_aliases", "list(string)"},
                             {"network_mode", "string"},
                             {"pid_mode", "string"},
                             {"pids_limit", "number"},
                             {"ports", "list(string)"},
                             {"privileged", "bool"},
                             {"readonly_rootfs", "bool"},
                             {"runtime", "string"},
                             {"security_opt", "list(string)"},
                             {"shm_size", "number"},
                             {"tty", "bool"},
                             {"userns_mode", "string"},
                             {"uts_mode", "string"},
                             {"volume_driver", "string"},
                             {"volumes", "list(string)"},
                             {"work_dir", "string"}});
}

hclspec::Spec mount_schema() {
  hclspec::Spec mount = hclspec::object_of({{.name = "type", .type = "string", .default_literal = "\"volume\""},
                                            {"target", "string"},
                                            {"source", "string"},
                                            {"readonly", "bool"}});
  add_block(mount, "bind_options", hclspec::object_of({{"propagation", "string"}}));
  add_block(mount, "tmpfs_options", hclspec::object_of({{"size", "number"}, {"mode", "number"}}));
  hclspec::Spec driver = hclspec::object_of({{"name", "string"}});
  add_map(driver, "options", "string");
  hclspec::Spec volume = hclspec::object_of({{"no_copy", "bool"}});
  add_map(volume, "labels", "string");
  add_block(volume, "driver_config", driver);
  add_block(mount, "volume_options", volume);
  return mount;
}

}  // namespace

hclspec::Spec container_schema() {
  hclspec::Spec schema = plain_options();
  for (const char* name : {"labels", "storage_opt", "sysctl", "ulimit"}) add_map(schema, name, "string");
  add_map(schema, "port_map", "number");
  add_block(schema, "auth",
            hclspec::object_of(
                {{"username", "string"}, {"password", "string"}, {"email", "string"}, {"server_address", "string"}}));
  hclspec::Spec logging = hclspec::object_of({{"type", "string"}, {"driver", "string"}});
  add_map(logging, "config", "string");
  add_block(schema, "logging", logging);
  add_block(schema, "healthchecks", hclspec::object_of({{"disable", "bool"}}));
  add_block_list(
      schema, "devices",
      hclspec::object_of({{"host_path", "string"}, {"container_path", "string"}, {"cgroup_permissions", "string"}}));
  for (const char* name : {"mount", "mounts"}) add_block_list(schema, name, mount_schema());
  return schema;
}

}  // namespace drover::docker

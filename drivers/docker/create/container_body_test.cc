// Every option of the reference's table: what it becomes at the engine, or why it is refused.
#include "create/container_body.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "create/capabilities.h"
#include "drover/hcl_value.h"
#include "drover/hclspec.h"
#include "drover/isolation.h"
#include "nomad/plugins/driver.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::docker {
namespace {

using Json = nlohmann::json;

constexpr const char* kAlloc = "5f1c7d2e-0000-4000-8000-000000000001";

Result<ContainerOptions> options_of(const Json& config) {
  DROVER_TRY(const hcl::Value written, hcl::from_json(config.dump()));
  DROVER_TRY(const hcl::Value decoded, hclspec::decode(container_schema(), written));
  return read_container_options(hclspec::to_msgpack(decoded));
}

struct World {
  driver::TaskConfig task;
  PluginOptions plugin;
  EngineFacts engine;
  std::map<std::string, std::string> profiles;
  std::string shared_cores{};
};

World small_world() {
  World world;
  world.task.set_id(std::string(kAlloc) + "/web/0a1b2c3d");
  world.task.set_name("web");
  world.task.set_alloc_id(kAlloc);
  world.task.set_alloc_dir("/d/alloc");
  world.task.set_node_id("node");
  world.task.set_node_name("nodename");
  world.task.set_job_name("job");
  (*world.task.mutable_env())["A"] = "b";
  auto& resources = *world.task.mutable_resources();
  resources.mutable_allocated_resources()->mutable_memory()->set_memory_mb(64);
  resources.mutable_linux_resources()->set_cpu_shares(500);
  resources.mutable_linux_resources()->set_percentticks(0.25);
  driver::PortMapping& port = *resources.add_ports();
  port.set_label("http");
  port.set_value(20001);
  port.set_to(80);
  port.set_host_ip("10.0.0.1");
  driver::PortMapping& plain = *resources.add_ports();
  plain.set_label("plain");
  plain.set_value(20002);
  plain.set_host_ip("10.0.0.1");
  world.plugin = *read_plugin_options("");
  world.engine.runtimes = {"nvidia", "runc"};
  return world;
}

Result<ContainerBody> make(const World& world, Json config) {
  config.emplace("image", "bb:t");
  DROVER_TRY(const ContainerOptions options, options_of(config));
  return container_body({.task = world.task,
                         .options = options,
                         .plugin = world.plugin,
                         .engine = world.engine,
                         .image = "sha256:1",
                         .cores = 4,
                         .shared_cores = world.shared_cores,
                         .seccomp_profiles = world.profiles});
}

void volumes(World& world) { world.plugin.has_volumes = true; }
void privileged(World& world) { world.plugin.allows_privileged = true; }
void group(World& world) {
  auto& spec = *world.task.mutable_network_isolation_spec();
  spec.set_mode(driver::NetworkIsolationSpec::GROUP);
  spec.set_path("/run/netns/x");
  (*spec.mutable_labels())[kSandboxId] = "pause1";
}

struct Case {
  const char* name;
  Json config;
  const char* place;  // a JSON pointer
  Json expected;      // null: not there
  std::function<void(World&)> change{};
};

TEST(ContainerBody, HasEachOptionAtItsPlace) {
  const Json own_binds = {"/d/alloc/alloc:/alloc", "/d/alloc/web/local:/local", "/d/alloc/web/secrets:/secrets"};
  const auto with = [&](const char* bind) {
    Json all = own_binds;
    all.push_back(bind);
    return all;
  };
  const Case cases[] = {
      {"image", {}, "/Image", "sha256:1"},
      {"environment", {}, "/Env", {"A=b"}},
      {"device environment", {}, "/Env/0", "A=c", [](World& w) { (*w.task.mutable_device_env())["A"] = "c"; }},
      {"no command", {}, "/Cmd", nullptr},
      {"command", {{"command", "ls"}, {"args", {"-l"}}}, "/Cmd", {"ls", "-l"}},
      {"args alone", {{"args", {"-l"}}}, "/Cmd", {"-l"}},
      {"entrypoint", {{"entrypoint", {"/e", "x"}}}, "/Entrypoint", {"/e", "x"}},
      {"hostname", {{"hostname", "h"}}, "/Hostname", "h"},
      {"user", {}, "/User", "nobody", [](World& w) { w.task.set_user("nobody"); }},
      {"tty", {{"tty", true}}, "/Tty", true},
      {"interactive", {{"interactive", true}}, "/OpenStdin", true},
      {"work_dir", {{"work_dir", "/w"}}, "/WorkingDir", "/w"},
      {"labels as a block", {{"labels", {{{"a", "b"}}}}}, "/Labels/a", "b"},
      {"labels as an attribute", {{"labels", {{"a", "b"}}}}, "/Labels/a", "b"},
      {"label of the allocation", {}, "/Labels/com.hashicorp.nomad.alloc_id", kAlloc},
      {"label of the allocation is not the job's",
       {{"labels", {{"com.hashicorp.nomad.alloc_id", "x"}}}},
       "/Labels/com.hashicorp.nomad.alloc_id",
       kAlloc},
      {"label of the node", {}, "/Labels/drover.node_id", "node"},
      {"no extra labels", {}, "/Labels/com.hashicorp.nomad.job_name", nullptr},
      {"extra labels",
       {},
       "/Labels/com.hashicorp.nomad.job_name",
       "job",
       [](World& w) { w.plugin.extra_labels = {"job*"}; }},
      {"other extra labels",
       {},
       "/Labels/com.hashicorp.nomad.node_name",
       nullptr,
       [](World& w) { w.plugin.extra_labels = {"job*"}; }},
      {"healthchecks", {{"healthchecks", {{"disable", true}}}}, "/Healthcheck/Test", {"NONE"}},
      {"mac_address", {{"mac_address", "02:42:ac:11:00:02"}}, "/MacAddress", "02:42:ac:11:00:02"},
      {"network_aliases",
       {{"network_mode", "n"}, {"network_aliases", {"a"}}},
       "/NetworkingConfig/EndpointsConfig/n/Aliases",
       {"a"}},
      {"ipv4_address",
       {{"network_mode", "n"}, {"ipv4_address", "10.1.1.1"}},
       "/NetworkingConfig/EndpointsConfig/n/IPAMConfig/IPv4Address",
       "10.1.1.1"},
      {"ipv6_address",
       {{"network_mode", "n"}, {"ipv6_address", "fd::1"}},
       "/NetworkingConfig/EndpointsConfig/n/IPAMConfig/IPv6Address",
       "fd::1"},
      {"memory", {}, "/HostConfig/Memory", 64 << 20},
      {"no swap", {}, "/HostConfig/MemorySwap", 64 << 20},
      {"swappiness", {}, "/HostConfig/MemorySwappiness", 0},
      {"no swappiness in version 2",
       {},
       "/HostConfig/MemorySwappiness",
       nullptr,
       [](World& w) { w.engine.cgroup_version = 2; }},
      {"no reservation", {}, "/HostConfig/MemoryReservation", nullptr},
      {"memory_hard_limit", {{"memory_hard_limit", 128}}, "/HostConfig/Memory", 128 << 20},
      {"memory_hard_limit reserves", {{"memory_hard_limit", 128}}, "/HostConfig/MemoryReservation", 64 << 20},
      {"memory_max",
       {{"memory_hard_limit", 128}},
       "/HostConfig/Memory",
       256 << 20,
       [](World& w) {
         w.task.mutable_resources()->mutable_allocated_resources()->mutable_memory()->set_memory_max_mb(256);
       }},
      {"cpu", {}, "/HostConfig/CpuShares", 500},
      {"no quota", {}, "/HostConfig/CpuQuota", nullptr},
      {"cpu_hard_limit", {{"cpu_hard_limit", true}}, "/HostConfig/CpuQuota", 100'000},
      {"its period", {{"cpu_hard_limit", true}}, "/HostConfig/CpuPeriod", 100'000},
      {"cpu_cfs_period", {{"cpu_hard_limit", true}, {"cpu_cfs_period", 20'000}}, "/HostConfig/CpuQuota", 20'000},
      {"cpuset_cpus", {{"cpuset_cpus", "0-1"}}, "/HostConfig/CpusetCpus", "0-1"},
      {"cores",
       {},
       "/HostConfig/CpusetCpus",
       "2,3",
       [](World& w) { w.task.mutable_resources()->mutable_linux_resources()->set_cpuset_cpus("2,3"); }},
      {"shared cores", {}, "/HostConfig/CpusetCpus", "0-2", [](World& w) { w.shared_cores = "0-2"; }},
      {"cpuset_cpus before shared cores",
       {{"cpuset_cpus", "1"}},
       "/HostConfig/CpusetCpus",
       "1",
       [](World& w) { w.shared_cores = "0-2"; }},
      {"pids_limit", {{"pids_limit", 10}}, "/HostConfig/PidsLimit", 10},
      {"the operator's pids_limit", {}, "/HostConfig/PidsLimit", 20, [](World& w) { w.plugin.pids_limit = 20; }},
      {"a lower pids_limit",
       {{"pids_limit", 10}},
       "/HostConfig/PidsLimit",
       10,
       [](World& w) { w.plugin.pids_limit = 20; }},
      {"own folders", {}, "/HostConfig/Binds", own_binds},
      {"volumes below the task",
       {{"volumes", {"local/a:/a:ro"}}},
       "/HostConfig/Binds",
       with("/d/alloc/web/local/a:/a:ro")},
      {"volumes of the machine", {{"volumes", {"/etc/../opt:/a"}}}, "/HostConfig/Binds", with("/opt:/a"), volumes},
      {"volume_driver", {{"volumes", {"v:/a"}}, {"volume_driver", "pxd"}}, "/HostConfig/Binds", with("v:/a"), volumes},
      {"its name", {{"volumes", {"v:/a"}}, {"volume_driver", "pxd"}}, "/HostConfig/VolumeDriver", "pxd", volumes},
      {"selinuxlabel",
       {{"volumes", {"local/a:/a:ro"}}},
       "/HostConfig/Binds/3",
       "/d/alloc/web/local/a:/a:ro,z",
       [](World& w) { w.plugin.selinux_label = "z"; }},
      {"mount of a volume",
       {{"mount", {{{"target", "/t"}, {"source", "v"}}}}},
       "/HostConfig/Mounts/0",
       {{"Type", "volume"},
        {"Target", "/t"},
        {"Source", "v"},
        {"ReadOnly", false},
        {"VolumeOptions", {{"NoCopy", false}}}},
       volumes},
      {"volume_options",
       {{"mount",
         {{{"target", "/t"},
           {"source", "v"},
           {"volume_options",
            {{"no_copy", true},
             {"labels", {{"a", "b"}}},
             {"driver_config", {{"name", "d"}, {"options", {{"o", "p"}}}}}}}}}}},
       "/HostConfig/Mounts/0/VolumeOptions",
       {{"NoCopy", true}, {"Labels", {{"a", "b"}}}, {"DriverConfig", {{"Name", "d"}, {"Options", {{"o", "p"}}}}}},
       volumes},
      {"mounts of a path",
       {{"mounts",
         {{{"type", "bind"},
           {"target", "/t"},
           {"source", "local/x"},
           {"readonly", true},
           {"bind_options", {{"propagation", "rslave"}}}}}}},
       "/HostConfig/Mounts/0",
       {{"Type", "bind"},
        {"Target", "/t"},
        {"Source", "/d/alloc/web/local/x"},
        {"ReadOnly", true},
        {"BindOptions", {{"Propagation", "rslave"}}}}},
      {"tmpfs",
       {{"mount", {{{"type", "tmpfs"}, {"target", "/t"}, {"tmpfs_options", {{"size", 1000}, {"mode", 511}}}}}}},
       "/HostConfig/Mounts/0/TmpfsOptions",
       {{"SizeBytes", 1000}, {"Mode", 511}}},
      {"volume_mount of the job",
       {},
       "/HostConfig/Mounts/0",
       {{"Type", "bind"},
        {"Target", "/data"},
        {"Source", "/srv/x"},
        {"ReadOnly", true},
        {"BindOptions", {{"Propagation", "rslave"}}}},
       [](World& w) {
         driver::Mount& mount = *w.task.add_mounts();
         mount.set_task_path("/data");
         mount.set_host_path("/srv/x");
         mount.set_readonly(true);
         mount.set_propagation_mode("host-to-task");
       }},
      {"devices",
       {{"devices", {{{"host_path", "/dev/null"}}}}},
       "/HostConfig/Devices/0",
       {{"PathOnHost", "/dev/null"}, {"PathInContainer", "/dev/null"}, {"CgroupPermissions", "rwm"}}},
      {"a device of a plugin",
       {},
       "/HostConfig/Devices/0",
       {{"PathOnHost", "/dev/x0"}, {"PathInContainer", "/dev/x"}, {"CgroupPermissions", "r"}},
       [](World& w) {
         driver::Device& device = *w.task.add_devices();
         device.set_host_path("/dev/x0");
         device.set_task_path("/dev/x");
         device.set_cgroup_permissions("r");
       }},
      {"privileged", {{"privileged", true}}, "/HostConfig/Privileged", true, privileged},
      {"cap_add", {{"cap_add", {"CAP_CHOWN"}}}, "/HostConfig/CapAdd", {"chown"}},
      {"net_raw is taken", {}, "/HostConfig/CapDrop", {"net_raw"}},
      {"cap_drop", {{"cap_drop", {"kill"}}}, "/HostConfig/CapDrop", {"kill", "net_raw"}},
      {"dns", {{"dns_servers", {"1.1.1.1"}}}, "/HostConfig/Dns", {"1.1.1.1"}},
      {"dns_search_domains", {{"dns_search_domains", {"x.y"}}}, "/HostConfig/DnsSearch", {"x.y"}},
      {"dns_options", {{"dns_options", {"ndots:2"}}}, "/HostConfig/DnsOptions", {"ndots:2"}},
      {"dns of the group",
       {},
       "/HostConfig/Dns",
       {"9.9.9.9"},
       [](World& w) { w.task.mutable_dns()->add_servers("9.9.9.9"); }},
      {"extra_hosts", {{"extra_hosts", {"a:1.2.3.4"}}}, "/HostConfig/ExtraHosts", {"a:1.2.3.4"}},
      {"ipc_mode", {{"ipc_mode", "private"}}, "/HostConfig/IpcMode", "private"},
      {"pid_mode", {{"pid_mode", "host"}}, "/HostConfig/PidMode", "host", privileged},
      {"uts_mode", {{"uts_mode", "host"}}, "/HostConfig/UTSMode", "host", privileged},
      {"userns_mode", {{"userns_mode", "host"}}, "/HostConfig/UsernsMode", "host", privileged},
      {"readonly_rootfs", {{"readonly_rootfs", true}}, "/HostConfig/ReadonlyRootfs", true},
      {"sysctl", {{"sysctl", {{"net.core.somaxconn", "128"}}}}, "/HostConfig/Sysctls", {{"net.core.somaxconn", "128"}}},
      {"shm_size", {{"shm_size", 1000}}, "/HostConfig/ShmSize", 1000},
      {"storage_opt", {{"storage_opt", {{"size", "40G"}}}}, "/HostConfig/StorageOpt", {{"size", "40G"}}},
      {"runtime", {{"runtime", "runc"}}, "/HostConfig/Runtime", "runc"},
      {"runtime for a GPU",
       {},
       "/HostConfig/Runtime",
       "nvidia",
       [](World& w) { (*w.task.mutable_device_env())["NVIDIA_VISIBLE_DEVICES"] = "0"; }},
      {"init", {{"init", true}}, "/HostConfig/Init", true},
      {"isolation", {{"isolation", "default"}}, "/HostConfig/Isolation", nullptr},
      {"security_opt",
       {{"security_opt", {"no-new-privileges", "seccomp=unconfined"}}},
       "/HostConfig/SecurityOpt",
       {"no-new-privileges", "seccomp=unconfined"}},
      {"seccomp of a file",
       {{"security_opt", {"seccomp=s.json"}}},
       "/HostConfig/SecurityOpt",
       {"seccomp={\"a\":1}"},
       [](World& w) { w.profiles["s.json"] = "{ \"a\": 1 }\n"; }},
      {"seccomp of a file with Podman",
       {{"security_opt", {"seccomp=s.json"}}},
       "/HostConfig/SecurityOpt",
       {"seccomp=/d/alloc/web/s.json"},
       [](World& w) {
         w.profiles["s.json"] = "{}";
         w.engine.is_podman = true;
       }},
      {"ulimit",
       {{"ulimit", {{"nofile", "10:20"}}}},
       "/HostConfig/Ulimits",
       {{{"Name", "nofile"}, {"Soft", 10}, {"Hard", 20}}}},
      {"ulimit of one number",
       {{"ulimit", {{"nproc", "5"}}}},
       "/HostConfig/Ulimits",
       {{{"Name", "nproc"}, {"Soft", 5}, {"Hard", 5}}}},
      {"logging",
       {},
       "/HostConfig/LogConfig",
       {{"Type", "json-file"}, {"Config", {{"max-file", "2"}, {"max-size", "2m"}}}}},
      {"logging of the job",
       {{"logging", {{"config", {{"max-file", "9"}}}}}},
       "/HostConfig/LogConfig",
       {{"Type", "json-file"}, {"Config", {{"max-file", "9"}, {"max-size", "2m"}}}}},
      {"another log driver",
       {{"logging", {{"type", "syslog"}, {"config", {{"tag", "t"}}}}}},
       "/HostConfig/LogConfig",
       {{"Type", "syslog"}, {"Config", {{"tag", "t"}}}},
       [](World& w) {
         w.plugin.log_config = {{"max-size", "1m"}};
       }},
      {"network_mode", {}, "/HostConfig/NetworkMode", "default"},
      {"its name", {{"network_mode", "mine"}}, "/HostConfig/NetworkMode", "mine"},
      {"network of the group", {}, "/HostConfig/NetworkMode", "container:pause1", group},
      {"network of the group with Podman",
       {},
       "/HostConfig/NetworkMode",
       "ns:/run/netns/x",
       [](World& w) {
         group(w);
         w.engine.is_podman = true;
         w.task.mutable_network_isolation_spec()->clear_labels();
       }},
      {"network of the machine", {{"network_mode", "host"}}, "/HostConfig/NetworkMode", "host"},
      {"ports",
       {{"ports", {"http"}}},
       "/HostConfig/PortBindings",
       {{"80/tcp", {{{"HostIp", "10.0.0.1"}, {"HostPort", "20001"}}}},
        {"80/udp", {{{"HostIp", "10.0.0.1"}, {"HostPort", "20001"}}}}}},
      {"exposed ports",
       {{"ports", {"plain"}}},
       "/ExposedPorts",
       {{"20002/tcp", Json::object()}, {"20002/udp", Json::object()}}},
      {"ports of a shared network", {{"ports", {"http"}}}, "/HostConfig/PortBindings", nullptr, group},
      {"port_map",
       {{"port_map", {{"db", 5432}}}},
       "/HostConfig/PortBindings/5432~1tcp",
       {{{"HostIp", "10.0.0.9"}, {"HostPort", "30000"}}},
       [](World& w) {
         w.task.mutable_resources()->clear_ports();
         auto& network = *w.task.mutable_resources()->mutable_allocated_resources()->add_networks();
         network.set_ip("10.0.0.9");
         auto& port = *network.add_dynamic_ports();
         port.set_label("db");
         port.set_value(30000);
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world = small_world();
    if (c.change) c.change(world);
    const auto body = make(world, c.config.is_null() ? Json::object() : c.config);
    ASSERT_TRUE(body.ok()) << body.status().to_string();
    const Json json = Json::parse(body->json);
    const Json::json_pointer place(c.place);
    if (c.expected.is_null()) {
      EXPECT_FALSE(json.contains(place)) << json.dump(1);
    } else {
      ASSERT_TRUE(json.contains(place)) << json.dump(1);
      EXPECT_EQ(c.expected, json[place]);
    }
  }
}

struct Refusal {
  const char* name;
  Json config;
  const char* text;
  std::function<void(World&)> change{};
};

TEST(ContainerBody, RefusesWithItsReason) {
  const Refusal cases[] = {
      {"no image", {{"image", ""}}, "image name required for docker driver"},
      {"an empty command", {{"command", " "}}, "command empty: \" \""},
      {"a command with space", {{"command", " ls"}}, "command contains extra white space: \" ls\""},
      {"period", {{"cpu_cfs_period", 1'000'001}}, "invalid value for cpu_cfs_period"},
      {"an unknown option", {{"imgae", "x"}}, "imgae"},
      {"pids",
       {{"pids_limit", 30}},
       "pids_limit cannot be greater than nomad plugin config pids_limit: 20",
       [](World& w) { w.plugin.pids_limit = 20; }},
      {"a host path", {{"volumes", {"/etc:/e"}}}, "volumes are not enabled; cannot mount host paths: \"/etc:/e\""},
      {"a way out",
       {{"volumes", {"../../../etc:/e"}}},
       "volumes are not enabled; cannot mount host paths: \"../../../etc:/e\""},
      {"a neighbour's name",
       {{"volumes", {"../../alloc2:/e"}}},
       "volumes are not enabled; cannot mount host paths: \"../../alloc2:/e\""},
      {"a volume driver", {{"volume_driver", "d"}}, "volumes are not enabled; cannot use volume driver \"d\""},
      {"half a volume", {{"volumes", {"x"}}}, "invalid docker volume \"x\": "},
      {"a relative target", {{"volumes", {"x:y"}}}, "invalid docker volume \"x:y\": "},
      {"a mounted path",
       {{"mount", {{{"type", "bind"}, {"target", "/t"}, {"source", "/etc"}}}}},
       "volumes are not enabled; cannot mount host path: \"/etc\" \"/d/alloc\""},
      {"a mounted volume",
       {{"mount", {{{"target", "/t"}, {"source", "v"}}}}},
       "volumes are not enabled; cannot mount volume: \"v\""},
      {"a source of a tmpfs",
       {{"mount", {{{"type", "tmpfs"}, {"target", "/t"}, {"source", "v"}}}}},
       "invalid source, must be \"\" for tmpfs"},
      {"a type of mount",
       {{"mount", {{{"type", "npipe"}, {"target", "/t"}}}}},
       "invalid mount type, must be \"bind\", \"volume\", \"tmpfs\": \"npipe\""},
      {"options of another type",
       {{"mount", {{{"type", "tmpfs"}, {"target", "/t"}, {"bind_options", {{"propagation", "rslave"}}}}}}},
       "bind_options is for mounts of type \"bind\""},
      {"a device without a path",
       {{"devices", {{{"container_path", "/x"}}}}},
       "host path must be set in configuration for devices"},
      {"a device's permission",
       {{"devices", {{{"host_path", "/x"}, {"cgroup_permissions", "rx"}}}}},
       "invalid cgroup permission string: \"rx\""},
      {"privileged", {{"privileged", true}}, "Docker privileged mode is disabled on this Nomad agent"},
      {"capabilities",
       {{"cap_add", {"sys_admin", "net_raw"}}},
       "driver does not allow the following capabilities: net_raw, sys_admin"},
      {"processes of the machine", {{"pid_mode", "host"}}, "pid_mode \"host\" needs the operator's permission"},
      {"memory of another", {{"ipc_mode", "container:x"}}, "ipc_mode \"container:x\" needs the operator's permission"},
      {"users of the machine", {{"userns_mode", "host"}}, "userns_mode \"host\" needs the operator's permission"},
      {"runtime", {{"runtime", "kata"}}, "requested runtime \"kata\" is not allowed"},
      {"a missing runtime", Json::object(), "requested docker runtime \"nvidia\" was not found",
       [](World& w) {
         (*w.task.mutable_device_env())["NVIDIA_VISIBLE_DEVICES"] = "0";
         w.engine.runtimes = {"runc"};
       }},
      {"two runtimes",
       {{"runtime", "runc"}},
       "conflicting runtime requests: gpu runtime \"nvidia\" conflicts with task runtime \"runc\"",
       [](World& w) { (*w.task.mutable_device_env())["NVIDIA_VISIBLE_DEVICES"] = "0"; }},
      {"isolation", {{"isolation", "hyperv"}}, "cannot use isolation mode \"hyperv\" on linux"},
      {"security_opt", {{"security_opt", {"apparmor"}}}, "invalid security_opt: \"apparmor\""},
      {"no profile", {{"security_opt", {"seccomp=x"}}}, "opening seccomp profile (x) failed"},
      {"a profile that is none",
       {{"security_opt", {"seccomp=x"}}},
       "seccomp profile (x) failed",
       [](World& w) { w.profiles["x"] = "secret"; }},
      {"an empty ulimit", {{"ulimit", {{"n", ""}}}}, "Malformed ulimit specification n: \"\", cannot be empty"},
      {"a soft ulimit", {{"ulimit", {{"n", "x:1"}}}}, "Malformed soft ulimit n: x:1"},
      {"a hard ulimit", {{"ulimit", {{"n", "1:x"}}}}, "Malformed hard ulimit n: 1:x"},
      {"a port", {{"ports", {"nope"}}}, "Port \"nope\" not found, check network block"},
      {"port_map of a group",
       {{"port_map", {{"http", 80}}}},
       "'port_map' cannot map group network ports, use 'ports' instead"},
      {"port_map of nothing",
       {{"port_map", {{"db", 1}}}},
       "Trying to map ports but no network interface is available",
       [](World& w) { w.task.mutable_resources()->clear_ports(); }},
      {"logging twice", {{"logging", {{"type", "a"}, {"driver", "b"}}}}, "two names of one thing"},
      {"a host", {{"extra_hosts", {"a"}}}, "cannot parse extra_hosts \"a\""},
      {"a network by path", Json::object(), "Docker joins the network of a container only",
       [](World& w) {
         group(w);
         w.task.mutable_network_isolation_spec()->clear_labels();
       }},
      {"propagation", Json::object(), "unknown propagation mode \"x\"",
       [](World& w) { w.task.add_mounts()->set_propagation_mode("x"); }},
  };
  for (const Refusal& c : cases) {
    SCOPED_TRACE(c.name);
    World world = small_world();
    if (c.change) c.change(world);
    const auto body = make(world, c.config);
    ASSERT_FALSE(body.ok()) << body->json;
    EXPECT_EQ(Code::invalid_argument, body.status().code());
    EXPECT_NE(std::string::npos, body.status().message().find(c.text)) << body.status().message();
    EXPECT_EQ(std::string::npos, body.status().message().find("secret"));
  }
}

TEST(ContainerBody, NamesItsFilesInASharedNetwork) {
  World world = small_world();
  group(world);
  auto& hosts = *world.task.mutable_network_isolation_spec()->mutable_hostsconfig();
  hosts.set_address("10.9.9.9");
  hosts.set_hostname("box");
  const auto body =
      make(world, {{"dns_servers", {"1.1.1.1"}}, {"dns_search_domains", {"x.y"}}, {"extra_hosts", {"a:fd::1"}}});
  ASSERT_TRUE(body.ok()) << body.status().to_string();
  ASSERT_EQ(2u, body->files.size());
  EXPECT_EQ("/d/alloc/web/resolv.conf", body->files[0].path);
  EXPECT_EQ("search x.y\nnameserver 1.1.1.1\n", body->files[0].content);
  EXPECT_NE(std::string::npos, body->files[1].content.find("10.9.9.9\tbox\nfd::1\ta\n"));
  const Json json = Json::parse(body->json);
  EXPECT_EQ("/d/alloc/web/hosts:/etc/hosts:ro", json["HostConfig"]["Binds"][4]);
  EXPECT_FALSE(json["HostConfig"].contains("Dns"));
}

TEST(ContainerBody, HasTheNameOfItsGroupWhereTheEngineDoesNotShareIt) {
  struct Case {
    const char* name;
    bool is_podman;
    Json config;
    Json expected;  // null: none
  };
  const Case cases[] = {{"Docker shares it", false, Json::object(), nullptr},
                        {"Podman does not", true, Json::object(), "box"},
                        {"its own", true, {{"hostname", "own"}}, "own"},
                        {"another network", true, {{"network_mode", "bridge"}}, nullptr}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world = small_world();
    group(world);
    (*world.task.mutable_network_isolation_spec()->mutable_labels())[kSandboxHostname] = "box";
    world.engine.is_podman = c.is_podman;
    const auto body = make(world, c.config);
    ASSERT_TRUE(body.ok()) << body.status().to_string();
    EXPECT_EQ(c.expected, Json::parse(body->json).value("Hostname", Json()));
  }
}

TEST(ContainerBody, SaysWhichPathsMustStayInTheAllocation) {
  const World world = small_world();
  const auto body = make(world, {{"volumes", {"local/a:/a", "/d/alloc/alloc/b:/b"}},
                                 {"mount", {{{"type", "bind"}, {"target", "/t"}, {"source", "secrets/c"}}}}});
  ASSERT_TRUE(body.ok());
  EXPECT_EQ((std::vector<std::string>{"/d/alloc/web/local/a", "/d/alloc/alloc/b", "/d/alloc/web/secrets/c"}),
            body->own_paths);
}

TEST(ContainerBody, IsJsonWhateverTheEnvironmentHolds) {
  World world = small_world();
  (*world.task.mutable_env())["A"] = "\xff\xfe";
  const auto body = make(world, Json::object());
  ASSERT_TRUE(body.ok());
  EXPECT_TRUE(Json::accept(body->json));
}

TEST(ContainerName, IsThatOfNomad) {
  driver::TaskConfig task;
  task.set_name("a/b");
  task.set_alloc_id("1");
  task.set_id("1/a/b/0f");
  EXPECT_EQ("a_b-1", container_name(task));
  EXPECT_EQ("a_b-1-0f", other_container_name(task));
}

TEST(Capabilities, AreThoseOfBoth) {
  struct CapCase {
    const char* name;
    std::vector<std::string> allowed, add, drop, added, dropped;
  };
  const auto defaults = default_allowed_capabilities();
  const CapCase cases[] = {
      {"nothing asked", defaults, {}, {}, {}, {"net_raw"}},
      {"all allowed", {"all"}, {"SYS_ADMIN"}, {}, {"sys_admin"}, {}},
      {"all added", {"ALL"}, {"all"}, {}, {"all"}, {}},
      {"all dropped, one added", defaults, {"cap_kill"}, {"ALL"}, {"kill"}, {"all"}},
      {"added and dropped", defaults, {"kill"}, {"kill"}, {"kill"}, {"net_raw"}},
  };
  for (const CapCase& c : cases) {
    SCOPED_TRACE(c.name);
    const auto change = capability_change(c.allowed, c.add, c.drop);
    ASSERT_TRUE(change.ok());
    EXPECT_EQ(c.added, change->add);
    EXPECT_EQ(c.dropped, change->drop);
  }
  EXPECT_EQ(Code::invalid_argument, capability_change(defaults, {"all"}, {}).status().code());
}

}  // namespace
}  // namespace drover::docker

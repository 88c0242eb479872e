#include "drover/task_environment.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client_config.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "fingerprint/machine.h"
#include "hooks/alloc_dir.h"

namespace drover::agent {
namespace {

struct Fixture {
  v1::Job job;
  v1::Allocation allocation;
  v1::Task task;
  v1::Node node;
  Variables node_values;
  Variables host{{"PATH", "/bin"}, {"COLOR", "host"}};

  Fixture() {
    job.set_id("web");
    job.set_name("web");
    (*job.mutable_meta())["owner"] = "job";
    v1::TaskGroup& group = *job.add_task_groups();
    group.set_name("front");
    (*group.mutable_meta())["owner"] = "group";
    (*group.mutable_meta())["data-center"] = "${node.datacenter}";
    task.set_name("nginx");
    allocation.set_id(Uuid::parse("6b4dc52f-9a3c-4ef1-bd0c-1a0c7d7f5b11")->bytes());
    allocation.set_name("web.front[7]");
    allocation.set_namespace_("default");
    allocation.set_task_group("front");
    auto& resources = (*allocation.mutable_allocated_resources()->mutable_tasks())["nginx"];
    resources.mutable_cpu()->set_cpu_shares(500);
    resources.mutable_memory()->set_memory_mb(256);
    v1::PortMapping& port = *allocation.mutable_allocated_resources()->mutable_shared()->add_ports();
    port.set_label("http-api");
    port.set_value(23456);
    port.set_to(8080);
    port.set_host_ip("10.0.0.5");
    node.set_id(Uuid::parse("11111111-2222-3333-4444-555555555555")->bytes());
    node.set_name("n1");
    node.set_datacenter("dc1");
    node.set_node_class("big");
    (*node.mutable_attributes())["kernel.name"] = "linux";
    (*node.mutable_meta())["rack"] = "r7";
    node_values = node_variables(node, "global");
  }
  Variables build() {
    return task_environment({.job = job,
                             .allocation = allocation,
                             .task = task,
                             .node = node_values,
                             .region = "global",
                             .datacenter = "dc1",
                             .paths = {"/a/alloc", "/a/nginx/local", "/a/nginx/secrets"},
                             .host = &host});
  }
};

TEST(Environment, HasTheDocumentedVariables) {
  Fixture f;
  (*f.task.mutable_env())["GREETING"] = "hello ${NOMAD_TASK_NAME} on ${node.class}";
  (*f.task.mutable_env())["COLOR"] = "task";
  const Variables env = f.build();
  const Variables expected{{"NOMAD_ALLOC_DIR", "/a/alloc"},
                           {"NOMAD_TASK_DIR", "/a/nginx/local"},
                           {"NOMAD_SECRETS_DIR", "/a/nginx/secrets"},
                           {"NOMAD_ALLOC_ID", "6b4dc52f-9a3c-4ef1-bd0c-1a0c7d7f5b11"},
                           {"NOMAD_SHORT_ALLOC_ID", "6b4dc52f"},
                           {"NOMAD_ALLOC_NAME", "web.front[7]"},
                           {"NOMAD_ALLOC_INDEX", "7"},
                           {"NOMAD_TASK_NAME", "nginx"},
                           {"NOMAD_GROUP_NAME", "front"},
                           {"NOMAD_JOB_ID", "web"},
                           {"NOMAD_JOB_NAME", "web"},
                           {"NOMAD_DC", "dc1"},
                           {"NOMAD_REGION", "global"},
                           {"NOMAD_NAMESPACE", "default"},
                           {"NOMAD_CPU_LIMIT", "500"},
                           {"NOMAD_MEMORY_LIMIT", "256"},
                           {"NOMAD_META_owner", "group"},
                           {"NOMAD_META_OWNER", "group"},
                           {"NOMAD_META_data_center", "dc1"},
                           {"NOMAD_META_DATA_CENTER", "dc1"},
                           {"NOMAD_IP_http_api", "10.0.0.5"},
                           {"NOMAD_PORT_http_api", "8080"},
                           {"NOMAD_ADDR_http_api", "10.0.0.5:23456"},
                           {"NOMAD_HOST_IP_http_api", "10.0.0.5"},
                           {"NOMAD_HOST_PORT_http_api", "23456"},
                           {"NOMAD_HOST_ADDR_http_api", "10.0.0.5:23456"},
                           {"NOMAD_ALLOC_PORT_http_api", "8080"},
                           {"PATH", "/bin"},
                           {"COLOR", "task"},
                           {"GREETING", "hello nginx on big"}};
  EXPECT_EQ(expected, env);
}

TEST(Environment, InterpolatesReferences) {
  Fixture f;
  const Variables env{{"NOMAD_PORT_http", "80"}, {"HOME", "/root"}};
  struct Case {
    const char* text;
    const char* expected;
  };
  const Case cases[] = {
      {"plain", "plain"},
      {"${NOMAD_PORT_http}", "80"},
      {"${env[\"HOME\"]}/x", "/root/x"},
      {"${ attr.kernel.name }", "linux"},
      {"${meta.rack}-${node.unique.name}", "r7-n1"},
      {"${node.unique.id}", "11111111-2222-3333-4444-555555555555"},
      {"${attr.unknown} stays", "${attr.unknown} stays"},
      {"${unclosed", "${unclosed"},
      {"$HOME", "$HOME"},
      {"", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(c.expected, interpolate(c.text, env, f.node_values));
  }
}

TEST(DriverConfig, IsInterpolatedInAllItsStrings) {
  Fixture f;
  auto config = driver_config(R"({"command":"sh","args":["-c","echo ${meta.rack}"],"deep":{"n":1,"s":"${NOMAD_X}"}})",
                              {{"NOMAD_X", "y"}}, f.node_values);
  ASSERT_TRUE(config.ok());
  const auto expected = nlohmann::json::parse(R"({"command":"sh","args":["-c","echo r7"],"deep":{"n":1,"s":"y"}})");
  EXPECT_EQ(expected, nlohmann::json::parse(*config));
  EXPECT_EQ("{}", *driver_config("", {}, {}));
  EXPECT_EQ(Code::invalid_argument, driver_config("[1]", {}, {}).status().code());
}

TEST(Environment, DropsDeniedHostVariables) {
  const char* const environment[] = {"A=1", "VAULT_TOKEN=s", "B=x=y", "broken", nullptr};
  EXPECT_EQ((Variables{{"A", "1"}, {"B", "x=y"}}), host_environment(environment, {"VAULT_TOKEN"}));
}

TEST(AllocDir, NamesThatAreNoPlainComponentAreRefused) {
  for (const char* bad : {"", ".", "..", "a/b", "../x", "a\\b", "alloc"}) EXPECT_FALSE(is_plain_name(bad)) << bad;
  EXPECT_FALSE(is_plain_name(std::string_view("a\0b", 3)));
  EXPECT_TRUE(is_plain_name("web-1.x"));
}

TEST(ClientConfig, ReadsWhatItKnowsAndGoesOnWithTheRest) {
  const auto read = [](const std::string& text) -> Result<ClientConfig> {
    DROVER_TRY(ConfigBlock block, parse_config("t.hcl", text));
    DROVER_TRY(ConfigBlock checked, apply_schema(block, client_schema()));
    return client_config(&checked, "/data");
  };
  auto config = read(
      "max_kill_timeout = \"10s\"\nmeta { rack = \"r1\" }\nreserved { cpu = 100 }\n"
      "options = { \"driver.denylist\" = \"docker, java\", \"fingerprint.denylist\" = \"env_aws\", \"x.y\" = \"z\" }");
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ("/data/alloc", config->alloc_dir);
  EXPECT_EQ(std::chrono::seconds(10), config->max_kill_timeout);
  EXPECT_EQ("r1", config->meta["rack"]);
  EXPECT_EQ(100, config->reserved_cpu);
  EXPECT_FALSE(config->allows_driver("java"));
  EXPECT_TRUE(config->allows_driver("raw_exec"));
  EXPECT_EQ(20000, config->min_dynamic_port);
  EXPECT_EQ("fingerprint.denylist, x.y", config->ignored_options);
  EXPECT_FALSE(read("min_dynamic_port = 30000\nmax_dynamic_port = 20000").ok());
}

TEST(Fingerprint, ReadsTheSystemsTexts) {
  const CpuInfo cpu = parse_cpuinfo(
      "processor\t: 0\nmodel name\t: Fast CPU\ncpu MHz\t\t: 2100.5\n\nprocessor\t: 1\ncpu MHz\t: 2400.0\n");
  EXPECT_EQ(2, cpu.cores);
  EXPECT_EQ("Fast CPU", cpu.model);
  EXPECT_EQ(2400.0, cpu.mhz);
  EXPECT_EQ(2048u * 1024, parse_memory_total("MemTotal:        2048 kB\nMemFree: 1 kB\n"));
  EXPECT_EQ("debian", parse_os_release("NAME=\"Debian\"\nID=debian\nVERSION_ID=\"12\"\n").name);
  EXPECT_EQ("12", parse_os_release("ID=debian\nVERSION_ID=\"12\"\n").version);
  EXPECT_EQ(CgroupMode::v2, cgroup_mode(true, false, false));
  EXPECT_EQ(CgroupMode::hybrid, cgroup_mode(false, true, true));
  EXPECT_EQ(CgroupMode::v1, cgroup_mode(false, false, true));
  EXPECT_EQ(CgroupMode::none, cgroup_mode(false, false, false));
}

}  // namespace
}  // namespace drover::agent

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "canonical.h"
#include "drover/json.h"
#include "drover/v1/job.pb.h"
#include "implied.h"
#include "validate.h"

namespace drover::jobs {
namespace {

v1::Job minimal(std::string_view type = "service") {
  v1::Job job;
  EXPECT_TRUE(
      json_to_message(R"({"ID":"web","TaskGroups":[{"Name":"a","Tasks":[{"Name":"t","Driver":"raw_exec"}]}]})", job)
          .ok());
  job.set_type(std::string(type));
  canonicalize(job);
  return job;
}

TEST(Canonical, FillsTheTablesDefaults) {
  v1::Job job = minimal();
  EXPECT_EQ("web", job.name());
  EXPECT_EQ("default", job.namespace_());
  EXPECT_EQ(50, job.priority());
  ASSERT_EQ(1, job.datacenters_size());
  EXPECT_EQ("*", job.datacenters(0));
  const v1::TaskGroup& group = job.task_groups(0);
  EXPECT_EQ(1, group.count());
  EXPECT_EQ(2, group.restart_policy().attempts());
  EXPECT_EQ(1'800'000'000'000, group.restart_policy().interval());
  EXPECT_TRUE(group.reschedule_policy().unlimited());
  EXPECT_EQ("exponential", group.reschedule_policy().delay_function());
  EXPECT_EQ(1, group.update().max_parallel());
  EXPECT_EQ(300, group.ephemeral_disk().size_mb());
  const v1::Task& task = group.tasks(0);
  EXPECT_EQ(100, task.resources().cpu());
  EXPECT_EQ(300, task.resources().memory_mb());
  EXPECT_EQ(5'000'000'000, task.kill_timeout());
  EXPECT_EQ(10, task.log_config().max_files());
}

// Clients of 1.5 compare these fields with their own defaults.
TEST(Canonical, TheClientsFormLeavesOpenWhatServersDecide) {
  v1::Job job;
  ASSERT_TRUE(json_to_message(R"({"ID":"web","TaskGroups":[{"Name":"a","Networks":[{"DynamicPorts":[{"Label":"p"}]}],
      "Tasks":[{"Name":"t","Driver":"raw_exec","Services":[{"Connect":{"SidecarService":{}}}],
                "Templates":[{}],"Vault":{},"Artifacts":[{"RelativeDest":""},{"GetterMode":"file",
                "GetterSource":"https://example.com/a/b.zip"}]}]}]})",
                              job)
                  .ok());
  fill_in_for_clients(job);
  const struct {
    const char *path, *value;
  } cases[] = {
      {"/Priority", "0"},
      {"/Datacenters", "null"},
      {"/ConsulToken", "\"\""},
      {"/VaultToken", "\"\""},
      {"/NomadTokenID", "\"\""},
      {"/ParentID", "\"\""},
      {"/Stop", "false"},
      {"/Version", "0"},
      {"/SubmitTime", "null"},
      {"/DispatchIdempotencyToken", "null"},
      {"/Reschedule", "null"},
      {"/Migrate", "null"},
      {"/Update/MaxParallel", "1"},
      {"/Update/Stagger", "30000000000"},
      {"/Namespace", "\"default\""},
      {"/Region", "\"global\""},
      {"/TaskGroups/0/Count", "1"},
      {"/TaskGroups/0/Update/HealthCheck", "\"checks\""},
      {"/TaskGroups/0/Consul/Namespace", "\"\""},
      {"/TaskGroups/0/EphemeralDisk/Sticky", "false"},
      {"/TaskGroups/0/Networks/0/Mode", "\"\""},
      {"/TaskGroups/0/Networks/0/MBits", "null"},
      {"/TaskGroups/0/Networks/0/DynamicPorts/0/HostNetwork", "\"\""},
      {"/TaskGroups/0/Tasks/0/Resources/CPU", "100"},
      {"/TaskGroups/0/Tasks/0/Resources/Cores", "0"},
      {"/TaskGroups/0/Tasks/0/Resources/IOPS", "null"},
      {"/TaskGroups/0/Tasks/0/Resources/DiskMB", "null"},
      {"/TaskGroups/0/Tasks/0/Resources/MemoryMaxMB", "null"},
      {"/TaskGroups/0/Tasks/0/Services/0/Name", "\"web-a-t\""},
      {"/TaskGroups/0/Tasks/0/Services/0/TaskName", "\"\""},
      {"/TaskGroups/0/Tasks/0/Services/0/Namespace", "\"\""},
      {"/TaskGroups/0/Tasks/0/Services/0/Connect/SidecarService/Proxy", "null"},
      {"/TaskGroups/0/Tasks/0/Templates/0/VaultGrace", "0"},
      {"/TaskGroups/0/Tasks/0/Templates/0/ChangeSignal", "\"\""},
      {"/TaskGroups/0/Tasks/0/Vault/ChangeSignal", "\"SIGHUP\""},
      {"/TaskGroups/0/Tasks/0/Artifacts/0/RelativeDest", "\"\""},
      {"/TaskGroups/0/Tasks/0/Artifacts/1/RelativeDest", "\"local/b.zip\""},
  };
  const nlohmann::json shown = nlohmann::json::parse(message_to_json(job));
  for (const auto& c : cases) {
    const nlohmann::json::json_pointer at(c.path);
    EXPECT_TRUE(shown.contains(at)) << c.path;
    EXPECT_EQ(shown.contains(at) ? shown[at].dump() : "", c.value) << c.path;
  }
  const std::string once = message_to_json(job);
  fill_in_for_clients(job);
  EXPECT_EQ(once, message_to_json(job));
}

TEST(Canonical, AGroupOfASystemJobIsUpdatedAsItSaysOnly) {
  EXPECT_FALSE(minimal("system").task_groups(0).has_update());
  v1::Job job = minimal("system");
  job.mutable_task_groups(0)->mutable_update()->set_max_parallel(2);
  canonicalize(job);
  EXPECT_EQ(30'000'000'000, job.task_groups(0).update().stagger());
}

TEST(Canonical, TheMeshTakesTheOlderNamesOfExpose) {
  v1::Job job = minimal();
  v1::Proxy& proxy =
      *job.mutable_task_groups(0)->add_services()->mutable_connect()->mutable_sidecar_service()->mutable_proxy();
  proxy.mutable_expose_config()->add_path()->set_path("/health");
  canonicalize(job);
  EXPECT_EQ("/health", proxy.expose().paths(0).path());
  EXPECT_FALSE(proxy.has_expose_config());
}

TEST(Canonical, BatchHasItsOwnDefaults) {
  v1::Job job = minimal("batch");
  EXPECT_EQ(3, job.task_groups(0).restart_policy().attempts());
  EXPECT_EQ(1, job.task_groups(0).reschedule_policy().attempts());
  EXPECT_FALSE(job.task_groups(0).reschedule_policy().unlimited());
  EXPECT_FALSE(job.task_groups(0).has_update());
  EXPECT_FALSE(job.task_groups(0).has_migrate());
}

TEST(Canonical, IsIdempotentAndKeepsWhatWasSaid) {
  v1::Job job;
  ASSERT_TRUE(
      json_to_message(R"({"ID":"web","Priority":70,"Update":{"MaxParallel":0},"TaskGroups":[{"Name":"a","Count":0,
      "RestartPolicy":{"Attempts":0},"Tasks":[{"Name":"t","Driver":"raw_exec","RestartPolicy":{"Attempts":5}}]}]})",
                      job)
          .ok());
  canonicalize(job);
  EXPECT_EQ(70, job.priority());
  EXPECT_EQ(0, job.task_groups(0).count());
  EXPECT_EQ(0, job.task_groups(0).update().max_parallel());
  EXPECT_EQ(0, job.task_groups(0).restart_policy().attempts());
  EXPECT_EQ(5, job.task_groups(0).tasks(0).restart_policy().attempts());
  EXPECT_EQ(1'800'000'000'000, job.task_groups(0).tasks(0).restart_policy().interval());
  const std::string once = message_to_json(job);
  canonicalize(job);
  EXPECT_EQ(once, message_to_json(job));
}

// The update of the job, of its one group, and what becomes of the group's: auto_revert, auto_promote, canary, stagger.
TEST(Canonical, AGroupsUpdateStandsBeforeTheJobs) {
  const struct {
    const char *of_job, *of_group, *expected;
  } cases[] = {
      {R"({"AutoRevert":true,"Canary":2})", R"({})", "1 0 2 30s checks"},
      {R"({"AutoRevert":true,"Canary":2})", R"({"AutoRevert":false})", "0 0 2 30s checks"},
      {R"({"AutoPromote":true,"Canary":2})", R"({"AutoPromote":false,"Canary":0})", "0 0 0 30s checks"},
      {R"({"AutoRevert":true,"Canary":2})", R"({"AutoRevert":null,"Canary":null})", "1 0 2 30s checks"},
      {R"({"AutoRevert":false,"Canary":0})", R"({"AutoRevert":true,"Canary":1})", "1 0 1 30s checks"},
      {R"({"Stagger":5000000000,"HealthCheck":"manual"})", R"({})", "0 0 0 5s manual"},
      {R"({"Stagger":5000000000,"HealthCheck":"manual"})", R"({"Stagger":0,"HealthCheck":"checks"})",
       "0 0 0 0s checks"},
      {R"({})", R"({})", "0 0 0 30s checks"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.of_job) + " " + c.of_group);
    v1::Job job;
    ASSERT_TRUE(json_to_message(std::string(R"({"ID":"web","Update":)") + c.of_job +
                                    R"(,"TaskGroups":[{"Name":"a","Update":)" + c.of_group + "}]}",
                                job)
                    .ok());
    canonicalize(job);
    const v1::UpdateStrategy& update = job.task_groups(0).update();
    EXPECT_EQ(c.expected, std::to_string(update.auto_revert()) + " " + std::to_string(update.auto_promote()) + " " +
                              std::to_string(update.canary()) + " " + std::to_string(update.stagger() / 1'000'000'000) +
                              "s " + update.health_check());
    EXPECT_TRUE(update.has_auto_revert() && update.has_auto_promote() && update.has_canary());
  }
}

// As in Nomad, a check cannot take ignore_warnings back.
TEST(Canonical, ACheckTakesWhatItDoesNotSetOfItsServicesRestart) {
  const struct {
    const char *of_service, *of_check, *expected;
  } cases[] = {
      {"", "", "none"},
      {R"({"Limit":3})", "", R"({"Limit":3,"Grace":1000000000,"IgnoreWarnings":false})"},
      {"", R"({"Limit":2})", R"({"Limit":2,"Grace":1000000000,"IgnoreWarnings":false})"},
      {R"({"Limit":3,"Grace":9000000000,"IgnoreWarnings":true})", R"({"Limit":2})",
       R"({"Limit":2,"Grace":9000000000,"IgnoreWarnings":true})"},
      {R"({"Limit":3,"Grace":9000000000})", R"({"Grace":0,"IgnoreWarnings":true})",
       R"({"Limit":3,"Grace":0,"IgnoreWarnings":true})"},
      {R"({"Limit":3,"IgnoreWarnings":true})", R"({"Limit":0,"IgnoreWarnings":false})",
       R"({"Limit":3,"Grace":1000000000,"IgnoreWarnings":true})"},
  };
  const auto member = [](const char* json) { return *json ? std::string(R"("CheckRestart":)") + json : ""; };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.of_service) + " " + c.of_check);
    v1::Job job;
    const std::string service = member(c.of_service) + (*c.of_service ? "," : "");
    ASSERT_TRUE(json_to_message(R"({"ID":"web","TaskGroups":[{"Name":"a","Services":[{)" + service + R"("Checks":[{)" +
                                    member(c.of_check) + "}]}]}]}",
                                job)
                    .ok());
    canonicalize(job);
    const v1::ServiceCheck& check = job.task_groups(0).services(0).checks(0);
    EXPECT_EQ(c.expected, check.has_check_restart() ? message_to_json(check.check_restart()) : "none");
  }
}

TEST(Validate, AcceptsAMinimalJob) {
  for (const char* type : {"service", "batch"}) EXPECT_TRUE(validate(minimal(type)).errors.empty()) << type;
}

struct Case {
  const char* name;
  void (*change)(v1::Job&);
  const char* error;
};

v1::Task& task(v1::Job& job) { return *job.mutable_task_groups(0)->mutable_tasks(0); }

// A service of the group, for a test to spoil.
v1::Service& in_consul(v1::Job& job) {
  v1::Service& service = *job.mutable_task_groups(0)->add_services();
  service.set_provider("consul");
  return service;
}

// A good check of a service of the group, likewise.
v1::ServiceCheck& check(v1::Job& job) {
  v1::Service& service = *job.mutable_task_groups(0)->add_services();
  service.set_name("web");
  service.set_provider("nomad");
  service.set_address_mode("auto");
  service.set_on_update("require_healthy");
  service.set_port_label("http");
  v1::ServiceCheck& check = *service.add_checks();
  check.set_name("c");
  check.set_type("tcp");
  check.set_interval(10'000'000'000);
  check.set_timeout(2'000'000'000);
  check.set_on_update("require_healthy");
  return check;
}

TEST(Validate, TakesChecksOfDroversTypesAndOfThosePluginsBring) {
  for (const char* type : {"tcp", "grpc"}) {
    v1::Job job = minimal();
    check(job).set_type(type);
    EXPECT_TRUE(validate(job).errors.empty()) << type << ": " << as_list(validate(job).errors);
  }
  v1::Job job = minimal();
  v1::ServiceCheck& redis = check(job);
  redis.set_type("redis");
  redis.set_config(R"({"database":3})");
  const Admission admission{.has_check_type = [](const std::string& type) { return type == "redis"; }};
  EXPECT_TRUE(validate(job, admission).errors.empty()) << as_list(validate(job, admission).errors);
  EXPECT_FALSE(validate(job).errors.empty()) << "nobody runs it";
}

TEST(Validate, EveryViolationIsNamedWithItsPlace) {
  const Case cases[] = {
      {"no id", [](v1::Job& j) { j.clear_id(); }, "the job has no ID"},
      {"space", [](v1::Job& j) { j.set_id("a b"); }, "the job ID contains a space"},
      {"type", [](v1::Job& j) { j.set_type("servce"); }, "did you mean \"service\"?"},
      {"system", [](v1::Job& j) { j.set_type("system"); }, "job type \"system\" is not supported"},
      {"priority", [](v1::Job& j) { j.set_priority(101); }, "priority must be between 1 and 100"},
      {"no group", [](v1::Job& j) { j.clear_task_groups(); }, "the job has no task group"},
      {"twice", [](v1::Job& j) { *j.add_task_groups() = j.task_groups(0); }, "group[1]: group \"a\" is defined twice"},
      {"no driver", [](v1::Job& j) { task(j).clear_driver(); }, "group[\"a\"].task[\"t\"].driver: has no driver"},
      {"path", [](v1::Job& j) { task(j).set_name("../x"); }, "the name must be no path"},
      {"cpu", [](v1::Job& j) { task(j).mutable_resources()->set_cpu(0); },
       "group[\"a\"].task[\"t\"].resources.cpu: must be at least 1"},
      {"memory", [](v1::Job& j) { task(j).mutable_resources()->set_memory_mb(1); },
       "task[\"t\"].resources.memory: must be at least 10"},
      {"operator", [](v1::Job& j) { j.add_constraints()->set_operand("=~"); }, "operator \"=~\" is unknown"},
      {"the mesh of Consul", [](v1::Job& j) { in_consul(j).mutable_connect()->set_native(true); },
       "connect: Consul's service mesh is not carried out: it needs Envoy beside the tasks"},
      {"a second Consul", [](v1::Job& j) { in_consul(j).set_cluster("other"); },
       "cluster: a node speaks to one Consul only"},
      {"a type of checks", [](v1::Job& j) { check(j).set_type("ping"); },
       "check[\"c\"].type: invalid check type (\"ping\"), must be one of tcp, http, grpc, script, or a type that"},
      {"interval", [](v1::Job& j) { check(j).set_interval(500'000'000); }, "interval (500ms) cannot be lower than 1s"},
      {"timeout", [](v1::Job& j) { check(j).set_timeout(500'000'000); },
       "timeout (500ms) is lower than required minimum timeout 1s"},
      {"successes", [](v1::Job& j) { check(j).set_success_before_passing(2); },
       "success_before_passing may only be set for Consul service checks"},
      {"failures", [](v1::Job& j) { check(j).set_failures_before_critical(2); },
       "failures_before_critical may only be set for Consul service checks"},
      {"expose", [](v1::Job& j) { check(j).set_expose(true); }, "expose may only be set for Consul service checks"},
      {"ignored and restarted",
       [](v1::Job& j) {
         v1::ServiceCheck& ignored = check(j);
         ignored.set_on_update("ignore");
         ignored.mutable_check_restart()->set_limit(2);
       },
       "on_update value \"ignore\" is not compatible with check_restart"},
      {"options of nobody", [](v1::Job& j) { check(j).set_config("{}"); }, "is for types of checks that plugins bring"},
      {"a script of a group", [](v1::Job& j) { check(j).set_type("script"); },
       "a script check of a group's service needs a task"},
      {"a name for the machine",
       [](v1::Job& j) {
         v1::NetworkResource& network = *j.mutable_task_groups(0)->add_networks();
         network.set_mode("host");
         network.set_hostname("db");
       },
       "hostname: cannot be set on task group using \"host\" networking mode"},
      {"logs", [](v1::Job& j) { task(j).mutable_log_config()->set_max_files(40); },
       "log storage (400 MB) must be below"},
      {"restart", [](v1::Job& j) { task(j).mutable_restart_policy()->set_mode("often"); },
       "restart.mode: \"often\" is unknown; use fail or delay"},
      {"payload", [](v1::Job& j) { j.set_payload("x"); }, "payload: a job is registered without a payload"},
      {"namespace", [](v1::Job& j) { j.set_namespace_("a b"); }, "namespace: \"a b\" is no name of a namespace"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    v1::Job job = minimal();
    c.change(job);
    auto errors = validate(job).errors;
    EXPECT_TRUE(std::ranges::any_of(errors, [&](const std::string& e) { return e.find(c.error) != std::string::npos; }))
        << (errors.empty() ? "no error" : errors.front());
  }
}

v1::VolumeRequest& volume(v1::Job& job, const char* type) {
  v1::VolumeRequest& volume = (*job.mutable_task_groups(0)->mutable_volumes())["v"];
  volume.set_type(type);
  return volume;
}

v1::VolumeRequest& csi_volume(v1::Job& job, const char* access_mode) {
  v1::VolumeRequest& request = volume(job, "csi");
  request.set_source("s");
  request.set_access_mode(access_mode);
  request.set_attachment_mode("file-system");
  return request;
}

TEST(Validate, VolumesByTypeAndAttachment) {
  const Case cases[] = {
      {"options of a block device",
       [](v1::Job& j) {
         volume(j, "csi").set_attachment_mode("block-device");
         volume(j, "csi").mutable_mount_options()->set_fs_type("ext4");
       },
       "volume[\"v\"].mount_options: a block device has no mount options"},
      {"options of a host volume", [](v1::Job& j) { volume(j, "host").mutable_mount_options(); },
       "volume[\"v\"].mount_options: is for csi volumes"},
      {"attachment of a host volume", [](v1::Job& j) { volume(j, "host").set_attachment_mode("tape"); },
       "volume[\"v\"].attachment_mode: \"tape\" is no attachment mode"},
      {"access to a host volume", [](v1::Job& j) { volume(j, "host").set_access_mode("multi-node-multi-writer"); },
       "volume[\"v\"].access_mode: \"multi-node-multi-writer\" is no access mode of host volumes"},
      {"a host volume that is only read",
       [](v1::Job& j) { volume(j, "host").set_access_mode("single-node-reader-only"); },
       "volume[\"v\"].read_only: access_mode \"single-node-reader-only\" needs read_only"},
      {"a sticky csi volume", [](v1::Job& j) { csi_volume(j, "single-node-writer").set_sticky(true); },
       "volume[\"v\"].sticky: is for host volumes"},
      {"a sticky volume by allocation",
       [](v1::Job& j) {
         volume(j, "host").set_per_alloc(true);
         volume(j, "host").set_sticky(true);
       },
       "volume[\"v\"].sticky: excludes per_alloc"},
      {"a volume by allocation of a system job",
       [](v1::Job& j) {
         j.set_type("system");
         volume(j, "host").set_per_alloc(true);
       },
       "volume[\"v\"].per_alloc: is not for system jobs"},
      {"a volume by allocation with canaries",
       [](v1::Job& j) {
         j.mutable_task_groups(0)->mutable_update()->set_canary(1);
         volume(j, "csi").set_per_alloc(true);
       },
       "volume[\"v\"].per_alloc: excludes canaries"},
      {"a csi volume without a mode", [](v1::Job& j) { volume(j, "csi").set_source("s"); },
       "volume[\"v\"].access_mode: "},
      {"a csi volume that nobody may write", [](v1::Job& j) { csi_volume(j, "multi-node-reader-only"); },
       "volume[\"v\"].read_only: access_mode \"multi-node-reader-only\" needs read_only"},
      {"a csi volume for one writer and two allocations",
       [](v1::Job& j) {
         csi_volume(j, "single-node-writer");
         j.mutable_task_groups(0)->set_count(2);
       },
       "volume[\"v\"].per_alloc: access_mode \"single-node-writer\" with a count above 1 needs per_alloc"},
      {"a storage plugin without a name", [](v1::Job& j) { task(j).mutable_csi_plugin_config()->set_type("node"); },
       "csi_plugin.id: id is missing"},
      {"a storage plugin of another type",
       [](v1::Job& j) {
         task(j).mutable_csi_plugin_config()->set_id("p");
         task(j).mutable_csi_plugin_config()->set_type("half");
       },
       "csi_plugin.type: "},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    v1::Job job = minimal();
    c.change(job);
    const std::string errors = joined(validate(job).errors);
    EXPECT_NE(std::string::npos, errors.find(c.error)) << errors;
  }
  v1::Job job = minimal();
  volume(job, "csi").set_attachment_mode("file-system");
  volume(job, "csi").mutable_mount_options()->set_fs_type("ext4");
  EXPECT_EQ(std::string::npos, joined(validate(job).errors).find("mount_options"));
}

TEST(Validate, StoragePluginsAndTheirVolumesAreTaken) {
  v1::Job job = minimal();
  csi_volume(job, "single-node-writer").set_per_alloc(true);
  job.mutable_task_groups(0)->set_count(3);
  EXPECT_EQ("", joined(validate(job).errors));
  v1::Job plugin = minimal();
  for (const char* type : {"node", "controller", "monolith"}) {
    task(plugin).mutable_csi_plugin_config()->set_id("p");
    task(plugin).mutable_csi_plugin_config()->set_type(type);
    EXPECT_EQ("", joined(validate(plugin).errors)) << type;
  }
}

TEST(Validate, HostVolumesAndDisksThatMoveAreTaken) {
  v1::Job job = minimal();
  volume(job, "host").set_source("data");
  volume(job, "host").set_per_alloc(true);
  v1::TaskGroup& group = *job.mutable_task_groups(0);
  group.mutable_ephemeral_disk()->set_migrate(true);
  group.mutable_ephemeral_disk()->set_sticky(true);
  v1::VolumeMount& mount = *group.mutable_tasks(0)->add_volume_mounts();
  mount.set_volume("v");
  mount.set_destination("/srv");
  mount.set_propagation_mode("private");
  group.mutable_tasks(0)->mutable_resources()->set_secrets_mb(4);
  EXPECT_EQ("", joined(validate(job).errors));
}

TEST(Validate, PrioritiesAreAsTheServersAreConfigured) {
  const Priorities priorities{.standard = 60, .highest = 200};
  v1::Job job;
  canonicalize(job, priorities);
  EXPECT_EQ(60, job.priority());
  const auto refuses = [&](int32_t priority) {
    job.set_priority(priority);
    const std::string errors = joined(validate(job, {.priorities = priorities}).errors);
    return errors.find("priority must be between 1 and 200") != std::string::npos;
  };
  EXPECT_FALSE(refuses(200));
  EXPECT_TRUE(refuses(201));
  EXPECT_TRUE(refuses(-1));
}

TEST(Validate, AJobKeepsItsType) {
  const Case cases[] = {
      {"type", [](v1::Job& j) { j.set_type("batch"); }, "cannot update job from type \"service\" to \"batch\""},
      {"periodic", [](v1::Job& j) { j.mutable_periodic(); }, "cannot update non-periodic job to being periodic"},
      {"parameterized", [](v1::Job& j) { j.mutable_parameterized_job(); },
       "cannot update non-parameterized job to being parameterized"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    v1::Job job = minimal();
    c.change(job);
    EXPECT_EQ(c.error, check_update(minimal(), job).message());
    EXPECT_FALSE(check_update(job, minimal()).ok());
    EXPECT_TRUE(check_update(job, job).ok());
  }
}

// Without a server, nobody knows how high a priority may be.
TEST(Validator, AHighPriorityIsAWarning) {
  const auto findings = [](int priority) {
    return Validator().validate(R"({"ID":"web","Priority":)" + std::to_string(priority) +
                                R"(,"TaskGroups":[{"Name":"a","Tasks":[{"Name":"t","Driver":"raw_exec"}]}]})");
  };
  EXPECT_EQ("", findings(100)->warnings);
  EXPECT_EQ("", findings(200)->errors);
  EXPECT_NE(std::string::npos, findings(200)->warnings.find("job_max_priority"));
  EXPECT_NE("", findings(40'000)->errors);
}

std::string errors_of(const v1::Job& job) { return joined(validate(job).errors); }

TEST(Validate, OnlyServiceAndSystemJobsAreUpdatedStepByStep) {
  for (const char* type : {"batch", "sysbatch"}) {
    const std::string refused = "update: Job type \"" + std::string(type) + "\" does not allow update block";
    v1::Job of_job = minimal(type), of_group = minimal(type);
    of_job.mutable_update();
    of_group.mutable_task_groups(0)->mutable_update();
    EXPECT_NE(std::string::npos, errors_of(of_job).find(refused)) << errors_of(of_job);
    EXPECT_NE(std::string::npos, errors_of(of_group).find("group[\"a\"]." + refused)) << errors_of(of_group);
    EXPECT_EQ(std::string::npos, errors_of(of_group).find("healthy_deadline")) << errors_of(of_group);
  }
}

TEST(Validate, DeploymentsMayHaveCanariesAndGoBack) {
  v1::Job job = minimal();
  v1::UpdateStrategy& update = *job.mutable_task_groups(0)->mutable_update();
  update.set_canary(1);
  update.set_auto_promote(true);
  update.set_auto_revert(true);
  for (const char* check : {"checks", "task_states", "manual"}) {
    update.set_health_check(check);
    EXPECT_EQ(errors_of(job), "");
  }
  update.set_canary(0);
  EXPECT_NE(std::string::npos, errors_of(job).find("needs canary to be greater than 0")) << errors_of(job);
}

TEST(Validate, OperandsMustBeReadable) {
  const struct {
    const char *operand, *value, *problem;
  } cases[] = {
      {"regexp", "^linux-[0-9]+$", ""},
      {"regexp", "(?i)^(linux|freebsd)$", ""},
      {"regexp", "(", "\"(\" is no regular expression"},
      {"version", ">= 1.2, < 2.0", ""},
      {"version", "~> 1.2.3-beta1+x", ""},
      {"version", "v1.2rc1", ""},
      {"version", "banana", "\"banana\" is no constraint on versions"},
      {"version", ">= 1.2,", "is no constraint on versions"},
      {"version", "1..2", "is no constraint on versions"},
      {"semver", ">= 1.2.3-beta", ""},
      {"semver", ">= 1.2", ""},
      {"semver", ">> 1", "\">> 1\" is no constraint on versions"},
      {"semver", "~> 1.2.3", "is no constraint on versions"},
      {"is_set", "", ""},
      {"is_set", "x", "is_set takes no value"},
      {"is_not_set", "x", "is_not_set takes no value"},
      {"regexp", "${meta.pattern}(", ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.operand) + " " + c.value);
    v1::Job job = minimal();
    v1::Constraint& constraint = *job.add_constraints();
    v1::Affinity& affinity = *job.mutable_task_groups(0)->add_affinities();
    constraint.set_l_target("${attr.x}");
    affinity.set_l_target("${attr.x}");
    affinity.set_weight(50);
    constraint.set_operand(c.operand);
    affinity.set_operand(c.operand);
    constraint.set_r_target(c.value);
    affinity.set_r_target(c.value);
    const std::string errors = errors_of(job);
    for (const std::string place : {"constraint[0].value: ", "group[\"a\"].affinity[0].value: "}) {
      EXPECT_EQ(*c.problem != '\0', errors.find(place) != std::string::npos) << errors;
    }
    EXPECT_NE(std::string::npos, errors.find(c.problem)) << errors;
  }
}

v1::Job implied_of(const std::string& constraint) {
  v1::Job job;
  const std::string task = R"("Driver":"raw_exec","Vault":{},"Services":[{"Provider":"consul"}])";
  EXPECT_TRUE(json_to_message(R"({"ID":"web","Constraints":[)" + constraint + R"(],"TaskGroups":[{"Name":"a","Tasks":[
      {"Name":"t","KillSignal":"SIGINT",)" +
                                  task + R"(},{"Name":"u","KillSignal":"SIGHUP",)" + task + R"(}]}]})",
                              job)
                  .ok());
  add_implied_constraints(job);
  return job;
}

TEST(Implied, AGroupNeedsTheSignalsOfAllItsTasksOnce) {
  const v1::Job job = implied_of("");
  std::string text;
  for (const v1::Constraint& each : job.task_groups(0).constraints()) text += each.l_target() + each.r_target() + "\n";
  EXPECT_EQ("${attr.consul.version}>= 1.7.0\n${attr.vault.version}>= 0.6.1\n${attr.os.signals}SIGHUP,SIGINT\n", text);
  EXPECT_TRUE(job.task_groups(0).tasks(0).constraints().empty());
}

TEST(Implied, AConstraintOfOnesOwnStandsForTheDefault) {
  const v1::Job job = implied_of(R"({"LTarget":"${attr.vault.version}","Operand":"is_set"},
                                    {"LTarget":"${attr.consul.version}","Operand":"version","RTarget":">= 1.0"})");
  ASSERT_EQ(1, job.task_groups(0).constraints_size());
  EXPECT_EQ("${attr.os.signals}", job.task_groups(0).constraints(0).l_target());
}

TEST(Validate, AllViolationsComeAtOnce) {
  v1::Job job = minimal();
  job.set_priority(0);
  task(job).clear_driver();
  EXPECT_EQ(2u, validate(job).errors.size());
}

}  // namespace
}  // namespace drover::jobs

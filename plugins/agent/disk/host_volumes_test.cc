// The machine's folders that jobs ask for by name.
#include "disk/host_volumes.h"

#include <filesystem>

#include "nomad/plugins/driver.pb.h"
#include "testing/agent_fixture.h"

namespace drover::agent {
namespace {

struct World {
  v1::TaskGroup group;
  v1::Task task;
  std::string alloc_name = "web.app[0]";
  std::vector<HostVolume> volumes = {{.name = "data", .path = "/srv/data"},
                                     {.name = "certs", .path = "/etc/ssl", .is_read_only = true}};
  FindVolume others;
  driver::DriverCapabilities driver;
  v1::VolumeRequest& request(const std::string& name, const std::string& source) {
    v1::VolumeRequest& request = (*group.mutable_volumes())[name];
    request.set_type("host");
    request.set_source(source);
    return request;
  }
  v1::VolumeMount& mount(const std::string& volume) {
    v1::VolumeMount& mount = *task.add_volume_mounts();
    mount.set_volume(volume);
    mount.set_destination("/srv");
    return mount;
  }
  Status add(driver::TaskConfig& adds) const {
    return add_host_volumes({.group = group,
                             .task = task,
                             .alloc_name = alloc_name,
                             .volumes = volumes,
                             .others = others,
                             .driver = driver,
                             .environment = {{"NOMAD_TASK_DIR", "/local"}},
                             .node = {}},
                            adds);
  }
};

TEST(HostVolumes, BecomeMountsOfTheTask) {
  World world;
  world.request("d", "data");
  v1::VolumeMount& mount = world.mount("d");
  mount.set_destination("${NOMAD_TASK_DIR}/in");
  mount.set_propagation_mode("host-to-task");
  driver::TaskConfig adds;
  ASSERT_TRUE(world.add(adds).ok());
  ASSERT_EQ(1, adds.mounts_size());
  EXPECT_EQ("/srv/data", adds.mounts(0).host_path());
  EXPECT_EQ("/local/in", adds.mounts(0).task_path());
  EXPECT_EQ("host-to-task", adds.mounts(0).propagation_mode());
  EXPECT_FALSE(adds.mounts(0).readonly());
}

TEST(HostVolumes, AreReadOnlyWhenAnybodySaysSo) {
  const struct {
    const char* source;
    bool by_group, by_task, is_read_only;
  } cases[] = {{"data", false, false, false},
               {"data", true, false, true},
               {"data", false, true, true},
               {"certs", false, false, true}};
  for (const auto& c : cases) {
    World world;
    world.request("v", c.source).set_read_only(c.by_group);
    world.mount("v").set_read_only(c.by_task);
    driver::TaskConfig adds;
    ASSERT_TRUE(world.add(adds).ok());
    EXPECT_EQ(c.is_read_only, adds.mounts(0).readonly()) << c.source << c.by_group << c.by_task;
  }
}

TEST(HostVolumes, OfEachAllocationItsOwn) {
  World world;
  world.alloc_name = "web.app[3]";
  world.volumes.push_back({.name = "data[3]", .path = "/srv/three"});
  world.request("d", "data").set_per_alloc(true);
  world.mount("d");
  driver::TaskConfig adds;
  ASSERT_TRUE(world.add(adds).ok());
  EXPECT_EQ("/srv/three", adds.mounts(0).host_path());
  world.alloc_name = "web.app[4]";
  EXPECT_EQ(invalid_argument("host volume validation error: missing data[4]"), world.add(adds));
}

TEST(HostVolumes, OfOthersAreMountedToo) {
  World world;
  world.others = [](const std::string& name) {
    return name == "made" || name == "data" ? std::optional("/srv/volumes/" + name) : std::nullopt;
  };
  world.request("m", "made");
  world.mount("m");
  driver::TaskConfig adds;
  ASSERT_TRUE(world.add(adds).ok());
  EXPECT_EQ("/srv/volumes/made", adds.mounts(0).host_path());
  World both = world;
  both.request("m", "data");
  driver::TaskConfig own;
  ASSERT_TRUE(both.add(own).ok());
  EXPECT_EQ("/srv/data", own.mounts(0).host_path()) << "the configuration's";
}

TEST(HostVolumes, SayWhatIsMissing) {
  const struct {
    const char* name;
    std::function<void(World&)> edit;
    const char* error;
  } cases[] = {
      {"the machine's", [](World& w) { w.request("d", "none"), w.request("e", "nothing"); },
       "host volume validation error: missing none, nothing"},
      {"the group's", [](World& w) { w.mount("x"); }, "No group volume declaration found named: x"},
      {"mounts of the driver",
       [](World& w) {
         w.request("d", "data");
         w.mount("d");
         w.task.set_name("web");
         w.task.set_driver("raw_exec");
         w.driver.set_mount_configs(driver::DriverCapabilities::NO_MOUNTS);
       },
       "task driver \"raw_exec\" for \"web\" does not support host volumes"},
  };
  for (const auto& c : cases) {
    World world;
    c.edit(world);
    driver::TaskConfig adds;
    EXPECT_EQ(invalid_argument(c.error), world.add(adds)) << c.name;
  }
}

TEST(HostVolumes, OfferedAreThoseThatAreThere) {
  v1::Node node;
  const std::string here = std::filesystem::temp_directory_path();
  const std::vector<HostVolume> volumes = {{.name = "here", .path = here, .is_read_only = true},
                                           {.name = "gone", .path = here + "/drover-no-such-folder"}};
  EXPECT_TRUE(describe_host_volumes(volumes, node));
  ASSERT_EQ(1, node.host_volumes_size());
  EXPECT_EQ(here, node.host_volumes().at("here").path());
  EXPECT_TRUE(node.host_volumes().at("here").read_only());
  EXPECT_FALSE(describe_host_volumes(volumes, node)) << "as before";
  (*node.mutable_host_volumes())["made"].set_id(std::string(16, '\x01'));
  EXPECT_TRUE(describe_host_volumes({}, node));
  ASSERT_EQ(1, node.host_volumes_size()) << "what others offer stays";
  EXPECT_TRUE(node.host_volumes().contains("made"));
}

TEST(HostVolumes, AreConfiguredByAbsolutePath) {
  const auto read = [](const char* text) -> Result<ClientConfig> {
    DROVER_TRY(const ConfigBlock checked, apply_schema(*parse_config("c.hcl", text), client_schema()));
    return client_config(&checked, "/data");
  };
  const auto good = read("host_volume \"data\" {\n  path = \"/srv/data\"\n  read_only = true\n}\n");
  ASSERT_TRUE(good.ok()) << good.status().message();
  EXPECT_EQ("data", good->host_volumes.at(0).name);
  EXPECT_TRUE(good->host_volumes.at(0).is_read_only);
  for (const char* bad : {"host_volume \"data\" {}\n", "host_volume \"data\" {\n  path = \"srv\"\n}\n"})
    EXPECT_EQ("c.hcl:1: client.host_volume \"data\".path: must be an absolute path", read(bad).status().message());
}

TEST_F(AgentTest, AHostVolumeReachesTheNodeAndTheTask) {
  configure("host_volume \"data\" {\n  path = \"" + folder_ + "\"\n}\n");
  start();
  servers_.wait([&] { return servers_.node.has_value(); });
  EXPECT_EQ(folder_, servers_.node->host_volumes().at("data").path());
  v1::Job job;
  job.set_id("volumes");
  job.set_namespace_("default");
  v1::TaskGroup& group = *job.add_task_groups();
  group.set_name("front");
  (*group.mutable_volumes())["d"].set_type("host");
  (*group.mutable_volumes())["d"].set_source("data");
  v1::Task& web = *group.add_tasks();
  web = task("web");
  web.add_volume_mounts()->set_volume("d");
  web.mutable_volume_mounts(0)->set_destination("/srv");
  v1::Allocation allocation;
  allocation.set_id(Uuid::random().bytes());
  allocation.set_namespace_("default");
  allocation.set_job_id("volumes");
  allocation.set_task_group("front");
  allocation.set_desired_status(v1::DESIRED_STATUS_RUN);
  servers_.place(allocation, job);
  until_status(allocation.id(), v1::CLIENT_STATUS_RUNNING);
  ASSERT_EQ(1, driver_.find("web")->config.mounts_size());
  EXPECT_EQ(folder_, driver_.find("web")->config.mounts(0).host_path());
}

}  // namespace
}  // namespace drover::agent

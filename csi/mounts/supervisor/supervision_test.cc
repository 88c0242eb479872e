#include "supervisor/supervision.h"

#include "drover/v1/csi.pb.h"
#include "drover/v1/node.pb.h"
#include "gtest/gtest.h"
#include "sdk/testing/fake_hooks.h"
#include "sdk/testing/waiting.h"
#include "supervisor/plugin_hook.h"
#include "testing/node_world.h"
#include "testing/socket_file.h"

namespace drover::mounts {
namespace {

using namespace std::chrono_literals;
using drover::testing::FakeState;
using drover::testing::FakeTask;
using testing::FakePlugin;
using testing::SocketFile;

constexpr SupervisionTiming kQuick{
    .look_for_socket = 2ms, .each_call = 10s, .between_tries = 2ms, .between_probes = 5ms};

// A task that is a plugin, in a folder of its own.
class PluginTask {
 public:
  explicit PluginTask(const std::string& type = "monolith", std::chrono::nanoseconds health_timeout = 30s) {
    char name[] = "/tmp/drover-csi-XXXXXX";
    folder = ::mkdtemp(name);
    folders.emplace(folder);
    hook.start({.host = &host,
                .instances = &instances,
                .folders = &*folders,
                .timing = kQuick,
                .connect = [this](const std::string& socket) {
                  connected = socket;
                  return plugin.client();
                }});
    v1::Allocation allocation;
    allocation.set_id(alloc.bytes());
    allocation.set_task_group("g");
    v1::Job job;
    v1::TaskGroup& group = *job.add_task_groups();
    group.set_name("g");
    v1::Task& described = *group.add_tasks();
    described.set_name("storage");
    described.set_driver("some_driver");
    v1::CsiPluginConfig& config = *described.mutable_csi_plugin_config();
    config.set_id("disks/a");
    config.set_type(type);
    config.set_mount_dir("/csi");
    config.set_stage_publish_base_dir("/local/csi");
    config.set_health_timeout(health_timeout.count());
    task.emplace(folder + "/task", "storage",
                 std::make_shared<AllocSpec>(allocation, std::make_shared<const v1::Job>(job)));
    part = hook.attach(*task, state);
  }
  ~PluginTask() {
    part.reset();
    std::filesystem::remove_all(folder);
  }
  Status prestart(driver::DriverCapabilities::FSIsolation isolation, bool recovered = false,
                  driver::DriverCapabilities::MountConfigs mounts = driver::DriverCapabilities::ANY_MOUNTS) {
    driver::DriverCapabilities capabilities;
    capabilities.set_fs_isolation(isolation);
    capabilities.set_mount_configs(mounts);
    adds.Clear();
    TaskPrestart start{.capabilities = capabilities,
                       .environment = environment,
                       .node = node,
                       .recovered = recovered,
                       .stop = {},
                       .adds = adds};
    return part->prestart(start);
  }
  std::string socket() const { return *Folders::socket(folders->socket_folder(alloc, 0)); }
  bool is_registered() { return instances.find(Side::node, "disks/a").ok(); }

  std::string folder, connected;
  const Uuid alloc = Uuid::random();
  FakePlugin plugin;
  testing::NodeHost host;
  Instances instances;
  std::optional<Folders> folders;
  PluginHook hook;
  FakeState state;
  std::optional<FakeTask> task;
  std::unique_ptr<TaskHook::Part> part;
  Variables environment, node;
  driver::TaskConfig adds;
};

constexpr auto kNone = driver::DriverCapabilities::NONE;

TEST(PluginHook, BindsFoldersIntoATaskWithARootOfItsOwn) {
  PluginTask plugin;
  ASSERT_TRUE(plugin.prestart(driver::DriverCapabilities::IMAGE).ok());

  ASSERT_EQ(plugin.adds.mounts_size(), 3);
  EXPECT_EQ(plugin.adds.mounts(0).host_path(), plugin.folders->socket_folder(plugin.alloc, 0));
  EXPECT_EQ(plugin.adds.mounts(0).task_path(), "/csi");
  EXPECT_EQ(plugin.adds.mounts(0).propagation_mode(), "bidirectional");
  EXPECT_EQ(plugin.adds.mounts(1).host_path(), plugin.folder + "/client/csi/monolith/disks%2Fa");
  EXPECT_EQ(plugin.adds.mounts(1).task_path(), "/local/csi");
  EXPECT_EQ(plugin.adds.mounts(1).propagation_mode(), "bidirectional");
  EXPECT_EQ(plugin.adds.mounts(2).host_path(), "/dev");
  EXPECT_EQ(plugin.adds.env().at("CSI_ENDPOINT"), "unix:///csi/csi.sock");
  struct stat found {};
  ASSERT_EQ(::stat(plugin.adds.mounts(1).host_path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
}

TEST(PluginHook, ShowsTheMachinesPathsToATaskThatSeesThem) {
  PluginTask plugin;
  ASSERT_TRUE(plugin.prestart(kNone, false, driver::DriverCapabilities::NO_MOUNTS).ok());
  const SocketFile socket(plugin.socket());

  EXPECT_EQ(plugin.adds.mounts_size(), 0);
  EXPECT_EQ(plugin.adds.env().at("CSI_ENDPOINT"), "unix://" + plugin.socket());
  ASSERT_TRUE(plugin.part->poststart().ok());
  ASSERT_TRUE(eventually([&] { return plugin.is_registered(); }));
  const auto instance = plugin.instances.find(Side::node, "disks/a")->instance;
  EXPECT_EQ(instance->base_seen, instance->base);
  EXPECT_EQ(plugin.connected, plugin.socket());
}

TEST(PluginHook, LeavesAnEndpointOfTheJobAsItIs) {
  PluginTask plugin;
  plugin.environment["CSI_ENDPOINT"] = "unix:///elsewhere.sock";
  ASSERT_TRUE(plugin.prestart(driver::DriverCapabilities::IMAGE).ok());
  EXPECT_FALSE(plugin.adds.env().contains("CSI_ENDPOINT"));
}

TEST(PluginHook, RefusesADriverThatHidesTheMachineAndTakesNoMounts) {
  PluginTask plugin;
  const Status refused =
      plugin.prestart(driver::DriverCapabilities::IMAGE, false, driver::DriverCapabilities::NO_MOUNTS);
  EXPECT_EQ(refused.code(), Code::invalid_argument);
  EXPECT_EQ(refused.message(),
            "task driver \"some_driver\" for \"storage\" does not support mounts, which a storage plugin needs");
}

TEST(PluginHook, RemovesASocketOfAFormerStartButNotOfATaskThatRuns) {
  PluginTask plugin;
  ASSERT_TRUE(plugin.prestart(kNone).ok());
  const SocketFile socket(plugin.socket());
  ASSERT_TRUE(plugin.prestart(kNone, /*recovered=*/true).ok());
  EXPECT_TRUE(is_there(plugin.socket()));
  ASSERT_TRUE(plugin.prestart(kNone).ok());
  EXPECT_FALSE(is_there(plugin.socket()));
}

TEST(PluginHook, RegistersAsLongAsTheTaskRuns) {
  PluginTask plugin;
  plugin.plugin.node_info.set_node_id("their-name");
  ASSERT_TRUE(plugin.prestart(kNone).ok());
  ASSERT_TRUE(plugin.part->poststart().ok());
  EXPECT_FALSE(plugin.is_registered());
  const SocketFile socket(plugin.socket());
  EXPECT_EQ(plugin.task->next(), "Plugin became healthy: plugin: disks/a");
  ASSERT_TRUE(plugin.is_registered());

  v1::Node node;
  plugin.instances.refresh(node);
  const v1::CsiInfo& shown = node.csi_node_plugins().at("disks/a");
  EXPECT_EQ(shown.provider(), "fake.example");
  EXPECT_EQ(shown.provider_version(), "1.2.3");
  EXPECT_TRUE(shown.requires_controller_plugin());
  EXPECT_TRUE(shown.node_info().requires_node_stage_volume());
  EXPECT_EQ(shown.node_info().id(), "their-name");
  EXPECT_TRUE(node.csi_controller_plugins().at("disks/a").controller_info().supports_create_delete());
  EXPECT_TRUE(plugin.part->exited().ok());
  EXPECT_FALSE(plugin.is_registered());

  // The next start asks anew who it is.
  plugin.plugin.node_info.set_node_id("another-name");
  ASSERT_TRUE(plugin.part->poststart().ok());
  ASSERT_TRUE(eventually([&] { return plugin.is_registered(); }));
  plugin.instances.refresh(node);
  EXPECT_EQ(node.csi_node_plugins().at("disks/a").node_info().id(), "another-name");
  EXPECT_TRUE(plugin.part->stop().ok());
  EXPECT_FALSE(is_there(plugin.folders->socket_folder(plugin.alloc, 0)));
}

TEST(PluginHook, RegistersOnlyWhatThePluginIs) {
  PluginTask node_only("node");
  node_only.plugin.has_controller = false;
  ASSERT_TRUE(node_only.prestart(kNone).ok());
  const SocketFile socket(node_only.socket());
  ASSERT_TRUE(node_only.part->poststart().ok());
  ASSERT_TRUE(eventually([&] { return node_only.is_registered(); }));
  EXPECT_FALSE(node_only.instances.find(Side::controller, "disks/a").ok());
}

TEST(Supervision, RestartsATaskThatDoesNotBecomeHealthy) {
  PluginTask plugin("monolith", 20ms);
  ASSERT_TRUE(plugin.prestart(kNone).ok());
  ASSERT_TRUE(plugin.part->poststart().ok());

  const std::string why = "the plugin has made no socket at " + plugin.socket();
  EXPECT_EQ(plugin.task->next(), "Plugin became unhealthy: Error: CSI plugin failed probe: " + why);
  EXPECT_EQ(plugin.task->next(), "restart: CSI plugin did not become healthy before the timeout");
  EXPECT_FALSE(plugin.is_registered());
}

TEST(Supervision, RestartsATaskThatIsNeverReady) {
  PluginTask plugin("monolith", 20ms);
  plugin.plugin.is_ready(false);
  ASSERT_TRUE(plugin.prestart(kNone).ok());
  const SocketFile socket(plugin.socket());
  ASSERT_TRUE(plugin.part->poststart().ok());

  EXPECT_EQ(plugin.task->next(),
            "Plugin became unhealthy: Error: CSI plugin failed probe: the plugin is not ready yet");
  EXPECT_EQ(plugin.task->next(), "restart: CSI plugin did not become healthy before the timeout");
}

TEST(Supervision, RestartsAControllerWithoutTheService) {
  PluginTask plugin("controller", 20ms);
  plugin.plugin.has_controller = false;
  ASSERT_TRUE(plugin.prestart(kNone).ok());
  const SocketFile socket(plugin.socket());
  ASSERT_TRUE(plugin.part->poststart().ok());

  EXPECT_EQ(plugin.task->next(),
            "Plugin became unhealthy: Error: CSI plugin failed probe: the plugin has no controller service");
}

TEST(Supervision, TellsWhenAPluginsHealthChanges) {
  PluginTask plugin;
  ASSERT_TRUE(plugin.prestart(kNone).ok());
  const SocketFile socket(plugin.socket());
  ASSERT_TRUE(plugin.part->poststart().ok());
  EXPECT_EQ(plugin.task->next(), "Plugin became healthy: plugin: disks/a");

  plugin.plugin.is_ready(false);
  EXPECT_EQ(plugin.task->next(), "Plugin became unhealthy: Error: the plugin is not ready yet");
  EXPECT_FALSE(plugin.is_registered());
  v1::Node node;
  plugin.instances.refresh(node);
  EXPECT_EQ(node.csi_node_plugins().at("disks/a").health_description(), "the plugin is not ready yet");
  plugin.plugin.is_ready(true);
  EXPECT_EQ(plugin.task->next(), "Plugin became healthy: plugin: disks/a");
  EXPECT_TRUE(plugin.is_registered());
  EXPECT_TRUE(plugin.task->is_quiet());
}

TEST(Supervision, EndsAtOnceWhileAProbeHangs) {
  PluginTask plugin;
  plugin.plugin.fail("Probe", {.hangs = true});
  ASSERT_TRUE(plugin.prestart(kNone).ok());
  const SocketFile socket(plugin.socket());
  ASSERT_TRUE(plugin.part->poststart().ok());
  ASSERT_TRUE(plugin.plugin.wait_for("Probe"));

  plugin.part->shutdown();

  EXPECT_FALSE(plugin.is_registered());
  EXPECT_TRUE(plugin.task->is_quiet());
}

}  // namespace
}  // namespace drover::mounts

#include "keeper/keeper.h"

#include <sys/mount.h>

#include "drover/stopping.h"
#include "gtest/gtest.h"
#include "sdk/testing/waiting.h"
#include "testing/node_world.h"

namespace drover::mounts {
namespace {

using testing::FakePlugin;
using testing::NodeWorld;
using Calls = std::vector<std::string>;

const Calls kUpAndDown = {"NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume", "NodeUnstageVolume"};

TEST(Keeper, MountsByTheClaimAndUndoesItInReverse) {
  NodeWorld world;
  const Uuid alloc = Uuid::random();

  const auto path = world.mount(alloc);

  ASSERT_TRUE(path.ok()) << path.status().to_string();
  EXPECT_EQ(*path, world.base() + "/per-alloc/" + alloc.to_string() + "/data/rw-file-system-multi-node-multi-writer");
  EXPECT_EQ(*world.keeper->mounted_at(NodeWorld::key(alloc)), *path);
  EXPECT_EQ(world.plugin.published(), std::set<std::string>{*path});
  EXPECT_TRUE(world.waited.empty());
  EXPECT_TRUE(world.keeper->release(alloc).ok());
  EXPECT_EQ(world.plugin.calls(), kUpAndDown);
  EXPECT_EQ(world.servers.calls(), (Calls{"Claim", "Get", "Released"}));
  EXPECT_TRUE(world.is_clean());
  EXPECT_FALSE(is_there(world.base() + "/staging/default"));
  EXPECT_FALSE(is_there(world.base() + "/per-alloc/" + alloc.to_string()));
}

TEST(Keeper, HandsOverContextsAndSecretsAndKeepsNone) {
  NodeWorld world;
  ASSERT_TRUE(world.mount(Uuid::random()).ok());

  csi::v1::NodePublishVolumeRequest request;
  ASSERT_TRUE(request.ParseFromString(world.plugin.last_request("NodePublishVolume")));
  EXPECT_EQ(request.volume_id(), "ext-data");
  EXPECT_EQ(request.secrets().at("password"), "hush");
  EXPECT_EQ(request.volume_context().at("pool"), "fast");
  EXPECT_EQ(request.publish_context().at("device"), "/dev/fake");
  EXPECT_FALSE(request.staging_target_path().empty());
  const auto rows = world.host.store.list("");
  ASSERT_TRUE(rows.ok());
  for (const auto& [key, row] : *rows) EXPECT_EQ(row.find("hush"), std::string::npos);
}

TEST(Keeper, StagesOnceForAllAndUnstagesAfterTheLast) {
  NodeWorld world;
  const Uuid first = Uuid::random(), second = Uuid::random();
  ASSERT_TRUE(world.mount(first).ok());
  ASSERT_TRUE(world.mount(second).ok());

  EXPECT_TRUE(world.keeper->release(first).ok());
  EXPECT_EQ(world.plugin.staged().size(), 1u);
  EXPECT_EQ(world.plugin.published().size(), 1u);
  EXPECT_TRUE(world.keeper->release(second).ok());
  EXPECT_TRUE(world.is_clean());
}

TEST(Keeper, PassesOverTheStageOfAPluginWithoutOne) {
  NodeWorld world;
  world.plugin_goes();
  world.stages = false;
  world.plugin_comes();
  const Uuid alloc = Uuid::random();

  ASSERT_TRUE(world.mount(alloc).ok());
  EXPECT_TRUE(world.keeper->release(alloc).ok());

  EXPECT_EQ(world.plugin.calls(), (Calls{"NodePublishVolume", "NodeUnpublishVolume"}));
  EXPECT_TRUE(world.is_clean());
}

TEST(Keeper, FindsWhatAFormerLifeMountedAndAsksNobody) {
  NodeWorld world;
  const Uuid alloc = Uuid::random();
  ASSERT_TRUE(world.mount(alloc).ok());
  world.start_agent();
  world.plugin_goes();
  const Calls plugin = world.plugin.calls(), servers = world.servers.calls();

  const auto path = world.mount(alloc);

  ASSERT_TRUE(path.ok());
  EXPECT_EQ(world.plugin.calls(), plugin);
  EXPECT_EQ(world.servers.calls(), servers);
}

TEST(Keeper, MountsAnewAfterTheMachineWasStartedAgain) {
  NodeWorld world;
  const Uuid alloc = Uuid::random();
  ASSERT_TRUE(world.mount(alloc).ok());
  world.start_agent();
  world.plugin.forget_mounts();

  ASSERT_TRUE(world.mount(alloc).ok());

  EXPECT_EQ(world.plugin.staged().size(), 1u);
  EXPECT_EQ(world.plugin.published().size(), 1u);
  EXPECT_TRUE(world.keeper->release(alloc).ok());
  EXPECT_TRUE(world.is_clean());
}

TEST(Keeper, WaitsForAFreeClaimAndSaysSoOnce) {
  NodeWorld world;
  world.servers.fail("Claim", failed_precondition("volume max claims reached"), 3);

  ASSERT_TRUE(world.mount(Uuid::random()).ok());

  EXPECT_EQ(world.waited, Calls{"volume max claims reached"});
}

TEST(Keeper, FailsAtOnceWhereNothingWillPass) {
  for (const Code code : {Code::not_found, Code::invalid_argument, Code::permission_denied}) {
    NodeWorld world;
    world.servers.fail("Claim", Status(code, "no"));
    const Uuid alloc = Uuid::random();

    EXPECT_EQ(world.mount(alloc).status().code(), code);
    EXPECT_TRUE(world.keeper->release(alloc).ok());
    EXPECT_TRUE(world.is_clean());
  }
}

TEST(Keeper, WaitsForTheAttachmentAndFailsWithItsLastError) {
  NodeWorld world;
  world.servers.hold_at(v1::CSI_CLAIM_STEP_CLAIMED, "the disk is busy");
  const Uuid alloc = Uuid::random();
  auto mounting = std::async(std::launch::async, [&] { return world.mount(alloc); });
  ASSERT_TRUE(eventually([&] { return world.servers.calls().size() > 3; }));
  world.servers.hold_at(v1::CSI_CLAIM_STEP_CLAIMED, "no such disk", true);

  const auto path = mounting.get();

  EXPECT_EQ(path.status().message(), "no such disk");
  EXPECT_EQ(world.waited, Calls{"attaching it to this node is tried again: the disk is busy"});
  EXPECT_TRUE(world.plugin.calls().empty());
  EXPECT_TRUE(world.keeper->release(alloc).ok());
  EXPECT_TRUE(world.is_clean());
}

TEST(Keeper, WaitsForThePluginToCome) {
  NodeWorld world;
  world.plugin_goes();
  const Uuid alloc = Uuid::random();
  auto mounting = std::async(std::launch::async, [&] { return world.mount(alloc); });
  ASSERT_TRUE(eventually([&] { return world.servers.calls().size() > 3; }));
  world.plugin_comes();

  EXPECT_TRUE(mounting.get().ok());
  EXPECT_EQ(world.waited, Calls{"no healthy node plugin \"disks\" on this node"});
}

TEST(Keeper, EndsTheWaitWithItsAllocation) {
  NodeWorld world;
  world.plugin_goes();
  std::stop_source stop;
  const Uuid alloc = Uuid::random();
  auto mounting = std::async(std::launch::async, [&] { return world.mount(alloc, stop.get_token()); });
  ASSERT_TRUE(eventually([&] { return world.servers.calls().size() > 3; }));
  stop.request_stop();

  EXPECT_EQ(mounting.get().status().code(), Code::cancelled);
  EXPECT_TRUE(world.keeper->release(alloc).ok());
  EXPECT_TRUE(world.is_clean());
}

// Each fault at each call: afterwards nothing is left, and no two calls for one volume were under way at a time.
TEST(Keeper, ComesThroughFaultsOfThePlugin) {
  struct Case {
    const char* name;
    FakePlugin::Fault fault;
    int times;
    bool ends = false;  // the allocation fails by it, where it comes on the way up
  };
  const Case cases[] = {
      {"away once", {.code = Code::unavailable}, 1},
      {"away for longer than a call is repeated", {.code = Code::unavailable}, 7},
      {"done, and the answer is lost", {.code = Code::deadline_exceeded, .happens = true}, 4},
      {"another call is pending", {.code = Code::aborted}, 5},
      {"too much to do", {.code = Code::resource_exhausted}, 2},
      {"a fault of its own", {.code = Code::internal}, 1, true},
      {"a fault after the work", {.code = Code::internal, .happens = true}, 1, true},
  };
  for (const Case& c : cases) {
    for (const std::string& method : kUpAndDown) {
      SCOPED_TRACE(std::string(c.name) + " at " + method);
      NodeWorld world;
      world.plugin.fail(method, c.fault, c.times);
      const Uuid alloc = Uuid::random();

      const auto path = world.mount(alloc);
      const bool is_up = method == "NodeStageVolume" || method == "NodePublishVolume";
      EXPECT_EQ(path.ok(), !(c.ends && is_up)) << path.status().to_string();
      (void)world.keeper->release(alloc);  // what fails is tried again

      EXPECT_TRUE(eventually([&] { return world.is_clean(); }));
      EXPECT_FALSE(world.plugin.has_overlapped());
    }
  }
}

TEST(Keeper, UndoesAStepWhoseCallNeverEnded) {
  NodeWorld world;
  world.plugin.fail("NodePublishVolume", {.happens = true, .hangs = true});
  std::stop_source stop;
  const Uuid alloc = Uuid::random();
  auto mounting = std::async(std::launch::async, [&] { return world.mount(alloc, stop.get_token()); });
  ASSERT_TRUE(world.plugin.wait_for("NodePublishVolume"));
  stop.request_stop();
  EXPECT_EQ(mounting.get().status().code(), Code::cancelled);
  EXPECT_EQ(world.plugin.published().size(), 1u);

  EXPECT_TRUE(world.keeper->release(alloc).ok());

  EXPECT_EQ(world.plugin.calls(), kUpAndDown);
  EXPECT_TRUE(world.is_clean());
}

// The agent is killed while a call is under way, before or after the plugin did its work, and the allocation is gone in
// its next life.
TEST(Keeper, CleansUpAfterADeathAtEachStep) {
  for (const std::string& method : kUpAndDown) {
    for (const bool happens : {false, true}) {
      SCOPED_TRACE(method + (happens ? ", done" : ", not done"));
      NodeWorld world;
      world.plugin.fail(method, {.happens = happens, .hangs = true});
      std::stop_source stop;
      const Uuid alloc = Uuid::random();
      auto life = std::async(std::launch::async, [&] {
        if (world.mount(alloc, stop.get_token())) (void)world.keeper->release(alloc);
      });
      ASSERT_TRUE(world.plugin.wait_for(method));
      stop.request_stop();
      world.keeper->stop();
      life.get();
      ASSERT_FALSE(world.is_clean());

      world.start_agent();
      world.keeper->settled();

      EXPECT_TRUE(eventually([&] { return world.is_clean(); }));
      EXPECT_FALSE(world.plugin.has_overlapped());
    }
  }
}

TEST(Keeper, UndoesWhatIsLeftOnceThePluginIsBack) {
  NodeWorld world;
  const Uuid alloc = Uuid::random();
  ASSERT_TRUE(world.mount(alloc).ok());
  world.plugin_goes();

  EXPECT_EQ(world.keeper->release(alloc).code(), Code::unavailable);
  EXPECT_EQ(world.plugin.published().size(), 1u);
  world.plugin_comes();

  EXPECT_TRUE(eventually([&] { return world.is_clean(); }));
}

TEST(Keeper, TellsTheServersUntilTheyHear) {
  NodeWorld world;
  const Uuid alloc = Uuid::random();
  ASSERT_TRUE(world.mount(alloc).ok());
  world.servers.fail("Released", unavailable("no leader"), 3);

  EXPECT_EQ(world.keeper->release(alloc).code(), Code::unavailable);

  EXPECT_TRUE(eventually([&] { return world.is_clean(); }));
  EXPECT_EQ(world.plugin.calls(), kUpAndDown);
}

TEST(Keeper, TellsTheServersInItsNextLifeWhenTheAgentEnds) {
  NodeWorld world;
  const Uuid alloc = Uuid::random();
  ASSERT_TRUE(world.mount(alloc).ok());
  world.servers.fail("Released", agent_is_stopping());

  EXPECT_TRUE(world.keeper->release(alloc).ok());
  EXPECT_TRUE(world.plugin.mounts().empty());
  EXPECT_EQ(world.servers.claims(), 1u);
  world.start_agent();
  world.keeper->settled();

  EXPECT_TRUE(eventually([&] { return world.is_clean(); }));
  EXPECT_EQ(world.plugin.calls(), kUpAndDown);
}

TEST(Keeper, ReleasesForTheServersButNeverUnderWhatRuns) {
  NodeWorld world;
  const Uuid alloc = Uuid::random();
  ASSERT_TRUE(world.mount(alloc).ok());
  const NodeClaim claim{NodeWorld::key(alloc), "disks", "ext-data", NodeWorld::usage()};
  const Until until{.end = SystemClock().steady() + std::chrono::seconds(10), .stop = {}};

  EXPECT_EQ(world.keeper->release(claim, until).code(), Code::unavailable);
  world.keeper->settled();
  EXPECT_EQ(world.keeper->release(claim, until).code(), Code::failed_precondition);
  EXPECT_EQ(world.plugin.published().size(), 1u);
  world.keeper->ended(alloc);
  EXPECT_TRUE(world.keeper->release(claim, until).ok());
  EXPECT_TRUE(world.plugin.mounts().empty());
  EXPECT_EQ(world.host.store.size(), 0u);
  EXPECT_TRUE(world.keeper->release(claim, until).ok());  // nothing there is no error
  EXPECT_EQ(world.plugin.calls(), kUpAndDown);
}

TEST(Keeper, ReleasesClaimsThatItHasNoRecordOf) {
  NodeWorld world;
  const Uuid alloc = Uuid::random();
  v1::CsiClaim claim;
  claim.set_namespace_("default");
  claim.set_alloc_id(alloc.bytes());
  claim.set_volume_id("data");
  claim.set_plugin_id("disks");
  claim.set_external_volume_id("ext-data");
  claim.set_access_mode("multi-node-multi-writer");
  claim.set_attachment_mode("file-system");
  world.servers.add(claim);
  std::filesystem::create_directories(world.base() + "/per-alloc/" + alloc.to_string() +
                                      "/data/rw-file-system-multi-node-multi-writer");
  std::filesystem::create_directories(world.base() + "/staging/default/data/rw-file-system-multi-node-multi-writer");

  world.keeper->settled();

  EXPECT_TRUE(eventually([&] { return world.is_clean(); }));
  EXPECT_EQ(world.plugin.calls(), (Calls{"NodeUnpublishVolume", "NodeUnstageVolume"}));
}

TEST(Keeper, UnmountsWhatThePluginLeftMounted) {
  NodeWorld world;
  const Uuid alloc = Uuid::random();
  const auto path = world.mount(alloc);
  ASSERT_TRUE(path.ok());
  world.looks_at_machine = true;
  std::filesystem::create_directory(*path);
  if (::mount("none", path->c_str(), "tmpfs", 0, nullptr) != 0) GTEST_SKIP() << "mounting takes root";
  const size_t before = world.plugin.calls().size();
  EXPECT_TRUE(world.mount(alloc).ok());
  EXPECT_EQ(world.plugin.calls().size(), before) << "it is mounted, as the system says";

  EXPECT_TRUE(world.keeper->release(alloc).ok());

  EXPECT_FALSE(is_mounted(mounted_paths, *path));
  EXPECT_FALSE(is_there(*path));
  EXPECT_TRUE(world.is_clean());
}

TEST(Keeper, AsksAPluginAgainThatSaysItHasUnmounted) {
  for (const char* method : {"NodeUnpublishVolume", "NodeUnstageVolume"}) {
    NodeWorld world;
    const Uuid alloc = Uuid::random();
    ASSERT_TRUE(world.mount(alloc).ok());
    world.plugin.fail(method, {.pretends = true});
    EXPECT_TRUE(world.keeper->release(alloc).ok());
    EXPECT_EQ(std::ranges::count(world.plugin.calls(), method), 2) << method;
    EXPECT_TRUE(world.is_clean());
  }
}

TEST(Keeper, BelievesNoPluginThatHasMountedNothing) {
  NodeWorld world;
  world.looks_at_machine = true;
  const Uuid alloc = Uuid::random();
  const Status status = world.mount(alloc).status();
  EXPECT_EQ(status.code(), Code::internal);
  EXPECT_NE(status.message().find("says that it has published the volume, and nothing is mounted at " + world.base()),
            std::string::npos)
      << status.message();
  EXPECT_TRUE(world.keeper->release(alloc).ok());
  EXPECT_EQ(world.plugin.calls(), kUpAndDown);
  EXPECT_TRUE(world.is_clean());
}

TEST(Keeper, NeverCallsTwiceAtATimeForOneVolume) {
  NodeWorld world;
  std::vector<std::future<bool>> lives;
  for (int i = 0; i < 8; ++i) {
    lives.push_back(std::async(std::launch::async, [&world] {
      bool all = true;
      for (int round = 0; round < 5; ++round) {
        const Uuid alloc = Uuid::random();
        world.keeper->attached(alloc);
        all = all && world.keeper->mount(NodeWorld::key(alloc), NodeWorld::usage(), {}, [](const auto&) {}, {}).ok();
        all = world.keeper->release(alloc).ok() && all;
      }
      return all;
    }));
  }

  for (auto& life : lives) EXPECT_TRUE(life.get());
  EXPECT_TRUE(world.is_clean());
  EXPECT_FALSE(world.plugin.has_overlapped());
}

TEST(Keeper, KnowsWhichPluginIsInUse) {
  NodeWorld world;
  const Uuid alloc = Uuid::random();
  EXPECT_FALSE(world.keeper->uses("disks"));
  ASSERT_TRUE(world.mount(alloc).ok());
  EXPECT_TRUE(world.keeper->uses("disks"));
  EXPECT_FALSE(world.keeper->uses("tapes"));
  world.start_agent();
  EXPECT_TRUE(world.keeper->uses("disks"));
  world.servers.fail("Released", unavailable("no leader"), 1000);
  (void)world.keeper->release(alloc);
  EXPECT_FALSE(world.keeper->uses("disks")) << "only the servers do not know yet";
}

TEST(Keeper, ExpandsWhatIsMounted) {
  NodeWorld world;
  const Uuid alloc = Uuid::random();
  v1::CsiNodeExpandRequest request;
  request.set_namespace_("default");
  request.set_volume_id("data");
  request.set_alloc_id(alloc.bytes());
  request.set_capacity_min(1000);
  const Until until{.end = SystemClock().steady() + std::chrono::seconds(10), .stop = {}};
  EXPECT_EQ(world.keeper->expand(request, until).status().code(), Code::not_found);
  const auto path = world.mount(alloc);
  ASSERT_TRUE(path.ok());

  ASSERT_TRUE(world.keeper->expand(request, until).ok());

  csi::v1::NodeExpandVolumeRequest asked;
  ASSERT_TRUE(asked.ParseFromString(world.plugin.last_request("NodeExpandVolume")));
  EXPECT_EQ(asked.volume_path(), *path);
  EXPECT_EQ(asked.volume_id(), "ext-data");
  EXPECT_EQ(asked.capacity_range().required_bytes(), 1000);
}

}  // namespace
}  // namespace drover::mounts

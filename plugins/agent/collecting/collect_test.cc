// A node forgets allocations: the decision, and that it is carried out.
#include <filesystem>

#include "collecting/collect_plan.h"
#include "sdk/testing/waiting.h"
#include "testing/agent_fixture.h"

namespace drover::agent {
namespace {

Uuid id_of(uint8_t number) { return Uuid::from_bytes(std::string(15, '\0') + static_cast<char>(number)); }

TEST(CollectPlan, TakesWhatEndedFirstWhileThereIsAReason) {
  const CollectLimits limits{.disk_percent = 80, .inodes_percent = 70, .allocations = 3, .at_once = 2};
  const Collectable old{.id = id_of(1), .ended = 10}, older{.id = id_of(2), .ended = 5},
      young{.id = id_of(3), .ended = 20}, live{.id = id_of(4)}, also_live{.id = id_of(5)};
  const struct {
    const char* name;
    CollectState state;  // without the count
    std::vector<Collectable> allocations;
    std::vector<Uuid> regular, room;
    bool has_reason = true;
  } cases[] = {
      {"nothing to do", {.disk_percent = 79.9, .inodes_percent = 69.9, .free_mb = 10}, {old, live}, {}, {}, false},
      {"the disk is full", {.disk_percent = 80, .free_mb = 10}, {old, older, young}, {older.id, old.id}, {}},
      {"no inodes are left", {.inodes_percent = 70, .free_mb = 10}, {young, live}, {young.id}, {}},
      {"one too many", {.free_mb = 10}, {old, older, live, also_live}, {older.id}, {older.id}},
      {"too many, and all run", {.free_mb = 10}, {live, also_live, {.id = id_of(6)}, {.id = id_of(7)}}, {}, {}},
      {"a new one needs room", {.free_mb = 99, .needed_mb = 100}, {young, old}, {}, {old.id, young.id}},
      {"a new one fits", {.free_mb = 100, .needed_mb = 100}, {young, old}, {}, {}, false},
      {"its data is yet to be taken over",
       {.disk_percent = 99, .free_mb = 10},
       {older, old, {.id = id_of(6), .inherits = older.id}},
       {old.id},
       {}},
      {"who took it over has ended as well",
       {.disk_percent = 99, .free_mb = 10},
       {older, {.id = id_of(6), .ended = 30, .inherits = older.id}},
       {older.id, id_of(6)},
       {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    CollectState state = c.state;
    state.allocations = c.allocations.size();
    const CollectNeed regular = need_of_look(limits, state), room = need_of_start(limits, state);
    EXPECT_EQ(c.regular, first_to_go(c.allocations, regular.most));
    EXPECT_EQ(c.room, first_to_go(c.allocations, room.most));
    EXPECT_EQ(c.has_reason, !regular.reason.empty() || !room.reason.empty());
  }
}

class Collection : public AgentTest {
 protected:
  std::string ended() {
    const std::string id = place({task("web")}, "batch");
    until_status(id, v1::CLIENT_STATUS_RUNNING);
    driver_.finish("web", 0);
    until_status(id, v1::CLIENT_STATUS_COMPLETE);
    return id;
  }
  bool is_gone(const std::string& id) { return !std::filesystem::exists(alloc_path(id)); }
};

TEST_F(Collection, ForgetsWhatIsOverAtEachLook) {
  configure(
      "gc_interval = \"20ms\"\ngc_max_allocs = 1\ngc_disk_usage_threshold = 100\ngc_inode_usage_threshold = 100\n");
  start();
  const std::string first = ended();
  EXPECT_FALSE(is_gone(first));
  const std::string second = place({task("next")});
  until_status(second, v1::CLIENT_STATUS_RUNNING);
  EXPECT_TRUE(eventually([&] { return is_gone(first); }));
  EXPECT_FALSE(locator().locate(first));
  EXPECT_FALSE(is_gone(second)) << "it runs";
}

TEST_F(Collection, MakesRoomBeforeANewOneStarts) {
  configure("gc_interval = \"1h\"\ngc_max_allocs = 1\n");
  start();
  const std::string first = ended();
  const std::string second = place({task("next")});
  until_status(second, v1::CLIENT_STATUS_RUNNING);
  EXPECT_TRUE(is_gone(first));
}

TEST_F(Collection, WithoutRoomANewOneStartsAllTheSame) {
  configure("gc_interval = \"1h\"\ngc_max_allocs = 0\n");
  start();
  until_status(place({task("web")}), v1::CLIENT_STATUS_RUNNING);
}

TEST_F(Collection, OfAllThatIsOverByOrder) {
  start();
  const std::string first = ended(), running = place({task("next")});
  until_status(running, v1::CLIENT_STATUS_RUNNING);
  EXPECT_TRUE(eventually([&] {
    EXPECT_TRUE(ask<v1::ClientResponse>("GarbageCollectAll", v1::GarbageCollectAllRequest()).ok());
    return is_gone(first);
  }));
  EXPECT_FALSE(is_gone(running));
}

TEST(CollectConfig, SaysItsLimits) {
  const auto block = parse_config(
      "c.hcl", "gc_interval = \"5s\"\ngc_parallel_destroys = 3\ngc_disk_usage_threshold = 55.5\ngc_max_allocs = 7\n");
  const auto checked = apply_schema(*block, client_schema());
  ASSERT_TRUE(checked.ok()) << checked.status().message();
  const auto config = client_config(&*checked, "/data");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(std::chrono::seconds(5), config->collect_interval);
  EXPECT_EQ(3u, config->collect_limits.at_once);
  EXPECT_EQ(55.5, config->collect_limits.disk_percent);
  EXPECT_EQ(70, config->collect_limits.inodes_percent);
  EXPECT_EQ(7u, config->collect_limits.allocations);
  EXPECT_FALSE(apply_schema(*parse_config("c.hcl", "gc_disk_usage_threshold = 101"), client_schema()).ok());
}

}  // namespace
}  // namespace drover::agent

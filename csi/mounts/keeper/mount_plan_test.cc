#include "keeper/mount_plan.h"

#include "gtest/gtest.h"

namespace drover::mounts {
namespace {

const Uuid kFirst = *Uuid::parse("11111111-1111-4111-8111-111111111111");
const Uuid kSecond = *Uuid::parse("22222222-2222-4222-8222-222222222222");

Mount mount_at(Step step, const Uuid& alloc = kFirst, bool stages = true) {
  return {.key = {alloc, "default", "data"},
          .plugin_id = "disks",
          .external_volume_id = "ext",
          .plugin_type = "node",
          .usage = {false, "single-node-writer", "file-system"},
          .stages = stages,
          .step = step};
}

TEST(MountPlan, EveryStepHasANextOneInBothDirections) {
  struct Case {
    Step step;
    Forward forward, forward_unmounted, forward_without_stage;
    Back back, back_shared, back_without_stage;
  };
  using enum Forward;
  const Case cases[] = {
      {Step::claiming, stage, stage, publish, Back::tell, Back::tell, Back::tell},
      {Step::staging, stage, stage, publish, Back::unstage, Back::tell, Back::tell},
      {Step::staged, publish, publish, publish, Back::unstage, Back::tell, Back::tell},
      {Step::publishing, publish, publish, publish, Back::unpublish, Back::unpublish, Back::unpublish},
      {Step::published, nothing, stage, nothing, Back::unpublish, Back::unpublish, Back::unpublish},
      {Step::unpublishing, stage, stage, publish, Back::unpublish, Back::unpublish, Back::unpublish},
      {Step::unpublished, stage, stage, publish, Back::unstage, Back::tell, Back::tell},
      {Step::unstaging, stage, stage, publish, Back::unstage, Back::tell, Back::tell},
      {Step::undone, stage, stage, publish, Back::tell, Back::tell, Back::tell},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(static_cast<int>(c.step));
    const Mount mount = mount_at(c.step), simple = mount_at(c.step, kFirst, false);
    EXPECT_EQ(next_forward(mount, true), c.forward);
    EXPECT_EQ(next_forward(mount, false), c.forward_unmounted);
    EXPECT_EQ(next_forward(simple, true), c.forward_without_stage);
    EXPECT_EQ(next_back(mount, false), c.back);
    EXPECT_EQ(next_back(mount, true), c.back_shared);
    EXPECT_EQ(next_back(simple, false), c.back_without_stage);
  }
}

TEST(MountPlan, AStageIsSharedByThoseWhoMayUseIt) {
  for (int step = static_cast<int>(Step::claiming); step <= static_cast<int>(Step::undone); ++step) {
    SCOPED_TRACE(step);
    const Mount mine = mount_at(Step::unpublished), other = mount_at(static_cast<Step>(step), kSecond);
    const bool uses = other.step >= Step::staging && other.step <= Step::unpublishing;
    EXPECT_EQ(is_stage_shared(mine, std::vector{mine, other}), uses);
  }
}

TEST(MountPlan, OtherUsagesAndNamespacesHaveAStageOfTheirOwn) {
  const Mount mine = mount_at(Step::unpublished);
  Mount other = mount_at(Step::published, kSecond);
  other.usage.is_read_only = true;
  EXPECT_FALSE(is_stage_shared(mine, std::vector{mine, other}));
  other = mount_at(Step::published, kSecond);
  other.key.name_space = "other";
  EXPECT_FALSE(is_stage_shared(mine, std::vector{mine, other}));
  // Nobody shares with himself.
  EXPECT_FALSE(is_stage_shared(mount_at(Step::published), std::vector{mount_at(Step::published)}));
}

TEST(MountPlan, KnowsWhichErrorsMeanUndone) {
  struct Case {
    const char* name;
    Code code;
    const char* text;
    bool is_there, expected;
  };
  const Case cases[] = {{"done", Code::ok, "", true, true},
                        {"unknown volume", Code::not_found, "", true, true},
                        {"no such method", Code::unimplemented, "", true, true},
                        {"nothing mounted there", Code::internal, "no mount point specified", false, true},
                        {"something is there", Code::internal, "no mount point specified", true, false},
                        {"some other fault", Code::internal, "disk on fire", false, false},
                        {"away", Code::unavailable, "no mount point", false, false},
                        {"busy", Code::aborted, "", false, false}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(counts_as_undone(c.code, c.text, c.is_there), c.expected);
  }
}

TEST(Reconcile, UndoesWhatBelongsToNobodyWhoRuns) {
  Knowledge knowledge;
  knowledge.records = {mount_at(Step::published, kFirst), mount_at(Step::staging, kSecond)};
  knowledge.claims = {{.key = knowledge.records[0].key}, {.key = knowledge.records[1].key}};
  knowledge.running = {kFirst};

  const Reconciled found = reconcile(knowledge);

  ASSERT_EQ(found.undo.size(), 1u);
  EXPECT_EQ(found.undo[0].alloc, kSecond);
  EXPECT_TRUE(found.release.empty());
  EXPECT_TRUE(found.unclaimed.empty());
}

TEST(Reconcile, ReleasesClaimsThatNobodyRecorded) {
  Knowledge knowledge;
  knowledge.claims = {{.key = {kFirst, "default", "data"}}, {.key = {kSecond, "default", "data"}}};
  knowledge.running = {kFirst};  // it will ask by itself

  const Reconciled found = reconcile(knowledge);

  ASSERT_EQ(found.release.size(), 1u);
  EXPECT_EQ(found.release[0].key.alloc, kSecond);
}

TEST(Reconcile, LeavesWhatRunsAloneAndTellsWhatNobodyKnows) {
  Knowledge knowledge;
  knowledge.records = {mount_at(Step::published, kFirst)};
  knowledge.running = {kFirst};
  knowledge.mounted = {"/mine", "/stray", "/stray"};
  knowledge.known = {"/mine"};

  const Reconciled found = reconcile(knowledge);

  EXPECT_TRUE(found.undo.empty());
  EXPECT_EQ(found.unclaimed.size(), 1u);
  EXPECT_EQ(found.strays, std::vector<std::string>{"/stray"});
}

}  // namespace
}  // namespace drover::mounts

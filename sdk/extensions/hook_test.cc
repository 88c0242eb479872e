#include "drover/hook.h"

#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "gtest/gtest.h"

namespace drover {
namespace {

std::string order_of(const std::vector<HookInfo>& hooks) {
  const auto order = order_hooks(hooks);
  if (!order) return order.status().to_string();
  std::string names;
  for (const size_t at : *order) names += (names.empty() ? "" : " ") + hooks[at].name;
  return names;
}

TEST(OrderOfHooks, KeepsWhatEachAsksFor) {
  EXPECT_EQ(order_of({}), "");
  EXPECT_EQ(order_of({{.name = "a"}, {.name = "b"}}), "a b");
  EXPECT_EQ(order_of({{.name = "a", .after = {"b"}}, {.name = "b"}}), "b a");
  EXPECT_EQ(order_of({{.name = "a"}, {.name = "b", .before = {"a"}}}), "b a");
  EXPECT_EQ(order_of({{.name = "a", .after = {"c"}}, {.name = "b", .after = {"a"}}, {.name = "c"}}), "c a b");
  EXPECT_EQ(order_of({{.name = "a", .after = {"of another plugin"}}, {.name = "b"}}), "a b");
}

TEST(OrderOfHooks, RefusesACircleAndTwins) {
  EXPECT_EQ(order_of({{.name = "x"}, {.name = "a", .after = {"b"}}, {.name = "b", .after = {"a"}}}),
            "invalid_argument: these hooks wait for each other: \"a\", \"b\"");
  EXPECT_EQ(order_of({{.name = "a", .after = {"a"}}}), "invalid_argument: these hooks wait for each other: \"a\"");
  EXPECT_EQ(order_of({{.name = "a"}, {.name = "a"}}), "invalid_argument: two hooks have the name \"a\"");
}

TEST(UsedBlocks, AreThoseThatSomebodyMustCarryOut) {
  v1::TaskGroup group;
  v1::Task task;
  group.add_networks()->set_mode("host");
  EXPECT_TRUE(used_blocks(group, task).empty());
  task.add_artifacts();
  task.mutable_identity()->set_file(true);
  (*group.mutable_volumes())["data"].set_type("csi");
  (*group.mutable_volumes())["more"].set_type("csi");
  group.add_networks()->set_mode("cni/blue");
  group.add_services()->set_provider("nomad");
  task.add_services()->set_provider("nomad");

  std::string names;
  for (const Block& block : used_blocks(group, task)) names += block.name + " = " + block.text + "\n";

  EXPECT_EQ(names,
            "artifact = the block artifact\nidentity = the block identity\n"
            "volume.csi = the block volume with the type \"csi\"\nnetwork.cni = the network mode \"cni/blue\"\n"
            "service = the block service\n");
}

TEST(UsedBlocks, AreSupportedWhenAHookSaysSo) {
  v1::TaskGroup group;
  v1::Task task;
  task.add_artifacts();
  task.add_templates();
  const auto used = used_blocks(group, task);
  EXPECT_EQ(check_supported(used, std::vector<HookInfo>{{.name = "a", .supports = {"artifact"}}}),
            invalid_argument("this client does not support the block template"));
  EXPECT_TRUE(check_supported(used, std::vector<HookInfo>{{.name = "a", .supports = {"artifact"}},
                                                          {.name = "b", .supports = {"volume", "template"}}})
                  .ok());
}

TEST(AllocSpec, FindsItsGroupAndTasks) {
  v1::Job job;
  job.add_task_groups()->set_name("other");
  v1::TaskGroup& group = *job.add_task_groups();
  group.set_name("front");
  group.add_tasks()->set_name("web");
  v1::Allocation allocation;
  allocation.set_task_group("front");
  (*allocation.mutable_allocated_resources()->mutable_tasks())["web"].mutable_cpu()->set_cpu_shares(500);

  const auto shared = std::make_shared<const v1::Job>(job);
  const AllocSpec spec(allocation, shared);
  ASSERT_NE(spec.group, nullptr);
  EXPECT_EQ(spec.group->name(), "front");
  ASSERT_NE(spec.task("web"), nullptr);
  EXPECT_EQ(spec.task("db"), nullptr);
  EXPECT_EQ(spec.given("web").cpu().cpu_shares(), 500);
  EXPECT_EQ(spec.given("db").cpu().cpu_shares(), 0);
  allocation.set_task_group("gone");
  EXPECT_EQ(AllocSpec(allocation, shared).group, nullptr);
  EXPECT_EQ(AllocSpec(allocation, shared).task("web"), nullptr);
}

}  // namespace
}  // namespace drover

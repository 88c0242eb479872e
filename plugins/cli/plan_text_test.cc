#include "plan_text.h"

#include <gtest/gtest.h>

#include "drover/api/plan.pb.h"
#include "drover/json.h"

namespace drover::cli {
namespace {

template <typename Message>
Message read(const std::string& json) {
  Message message;
  const Status status = json_to_message(json, message);
  EXPECT_TRUE(status.ok()) << status.message();
  return message;
}

constexpr const char* kDiff = R"({"Type":"Edited","ID":"web","Fields":null,
  "Objects":[{"Type":"Added","Name":"Datacenters","Objects":null,"Fields":[
      {"Type":"Added","Name":"Datacenters","Old":"","New":"dc2"},
      {"Type":"None","Name":"Datacenters","Old":"dc1","New":"dc1"}]}],
  "TaskGroups":[
   {"Type":"Edited","Name":"g","Updates":{"in-place update":2,"create":1},
    "Fields":[{"Type":"Edited","Name":"Count","Old":"2","New":"3","Annotations":["forces create"]}],"Objects":null,
    "Tasks":[{"Type":"Edited","Name":"t","Annotations":["forces create/destroy update"],"Objects":[
                {"Type":"Edited","Name":"Config","Objects":null,"Fields":[
                  {"Type":"Deleted","Name":"args[1]","Old":"y","New":""},
                  {"Type":"None","Name":"command","Old":"/bin/a","New":"/bin/a"},
                  {"Type":"Edited","Name":"i","Old":"a\nb","New":"c"}]}],
              "Fields":[{"Type":"Added","Name":"Env[A]","Old":"","New":"1"}]},
             {"Type":"None","Name":"u","Annotations":null,"Fields":null,"Objects":null}]},
   {"Type":"Added","Name":"h","Updates":{"create":2},"Fields":[{"Type":"Added","Name":"Count","Old":"","New":"2"}],
    "Objects":null,"Tasks":[{"Type":"Added","Name":"n","Annotations":["forces create"],"Fields":null,"Objects":null}]},
   {"Type":"None","Name":"k","Updates":{"ignore":1},"Fields":null,"Objects":null,
    "Tasks":[{"Type":"None","Name":"t","Annotations":null,"Fields":null,"Objects":null}]}]})";

TEST(PlanText, MarksWhatCameWentAndChanged) {
  EXPECT_EQ(
      "+/- Job: \"web\"\n"
      "+   Datacenters {\n"
      "    + Datacenters: \"dc2\"\n"
      "      Datacenters: \"dc1\"\n"
      "    }\n"
      "+/- Task Group: \"g\" (1 create, 2 in-place update)\n"
      "  +/- Count: \"2\" => \"3\" (forces create)\n"
      "  +/- Task: \"t\" (forces create/destroy update)\n"
      "    +   Env[A]: \"1\"\n"
      "    +/- Config {\n"
      "      -   args[1]: \"y\"\n"
      "          command: \"/bin/a\"\n"
      "      +/- i:       \"a\\nb\" => \"c\"\n"
      "        }\n"
      "      Task: \"u\"\n"
      "\n"
      "+   Task Group: \"h\" (2 create)\n"
      "    + Task: \"n\" (forces create)\n"
      "\n"
      "    Task Group: \"k\" (1 ignore)\n"
      "      Task: \"t\"\n",
      diff_text(read<v1::JobDiff>(kDiff), false));
  EXPECT_NE(std::string::npos, diff_text(read<v1::JobDiff>(kDiff), true).find("    + Count: \"2\"\n    + Task: \"n\""));
}

constexpr int64_t kNow = 1'700'000'000'000'000'000;  // 2023-11-14T22:13:20Z

TEST(PlanText, TheDryRunSaysWhatFindsNoRoomAndWhatComesLater) {
  const auto plan_of = read<v1::PlanJobResponse>;
  auto plan = plan_of(R"({"Annotations":{"DesiredTGUpdates":{"g":{"Place":2}}},"FailedTGAllocs":null,
      "CreatedEvals":null,"NextPeriodicLaunch":"0001-01-01T00:00:00Z"})");
  EXPECT_EQ("- All tasks successfully allocated.\n", dry_run_text(plan, "service", kNow));

  plan =
      plan_of(R"({"Annotations":{},"CreatedEvals":[{"TriggeredBy":"rolling-update","WaitUntil":"2023-11-14T22:14:50Z"}],
      "NextPeriodicLaunch":"2023-11-15T00:13:20Z"})");
  EXPECT_EQ(
      "- All tasks successfully allocated.\n"
      "- Rolling update, next evaluation will be in 1m30s.\n"
      "- If submitted now, next periodic launch would be at 2023-11-15T00:13:20Z (2h0m from now).\n",
      dry_run_text(plan, "service", kNow));

  plan = plan_of(R"({"Annotations":{},"FailedTGAllocs":{
      "a":{"NodesEvaluated":1,"NodesExhausted":1,"DimensionExhausted":{"memory":1},"CoalescedFailures":1},
      "b":{"NodesEvaluated":0}}})");
  EXPECT_EQ(
      "- WARNING: Failed to place all allocations.\n"
      "  Task Group \"a\" (failed to place 2 allocations):\n"
      "    * Resources exhausted on 1 nodes\n"
      "    * Dimension \"memory\" exhausted on 1 nodes\n"
      "  Task Group \"b\" (failed to place 1 allocation):\n"
      "    * No nodes were eligible for evaluation\n",
      dry_run_text(plan, "service", kNow));
  EXPECT_TRUE(dry_run_text(plan, "system", kNow).starts_with("- WARNING: Failed to place allocations on all"));

  plan.clear_annotations();
  EXPECT_EQ("- WARNING: Nothing was placed; the warnings say why.\n", dry_run_text(plan, "service", kNow));
}

TEST(PlanText, WhatMakesRoomIsNamedOrCountedByJob) {
  const auto plan = [](int count, const std::string& more) {
    std::string allocs;
    for (int i = 0; i < count; ++i) {
      allocs += std::string(i == 0 ? "" : ",") + R"({"ID":"00000000-0000-4000-8000-00000000000)" +
                std::to_string(i % 10) + R"(","JobID":")" + (i % 3 == 0 ? "low" : "other") +
                R"(","Namespace":"default","JobType":"batch","TaskGroup":"g"})";
    }
    return read<v1::PlanJobResponse>(R"({"Annotations":{"PreemptedAllocs":[)" + allocs + "]" + more + "}}");
  };
  EXPECT_EQ("", preemptions_text(plan(0, "")));
  EXPECT_EQ(
      "Alloc ID                              Job ID  Task Group\n"
      "00000000-0000-4000-8000-000000000000  low     g\n"
      "00000000-0000-4000-8000-000000000001  other   g\n",
      preemptions_text(plan(2, "")));
  EXPECT_NE(std::string::npos, preemptions_text(plan(10, "")).find("Alloc ID"));
  EXPECT_EQ(
      "Job ID  Namespace  Job Type  Preemptions\n"
      "low     default    batch     4\n"
      "other   default    batch     7\n"
      "2 more allocations of jobs that you may not read\n",
      preemptions_text(plan(11, R"(,"UnnamedPreemptions":2)")));
  EXPECT_EQ("1 allocation of jobs that you may not read\n", preemptions_text(plan(0, R"(,"UnnamedPreemptions":1)")));
}

TEST(PlanText, OnlyCreatingAndDestroyingCountsAsAChange) {
  const auto plan = [](const std::string& name) {
    return read<v1::PlanJobResponse>(R"({"Annotations":{"DesiredTGUpdates":{"g":{")" + name + R"(":1}}}})");
  };
  for (const char* name : {"Place", "Stop", "DestructiveUpdate", "Migrate", "Canary"}) {
    EXPECT_TRUE(changes_allocations(plan(name))) << name;
  }
  for (const char* name : {"Ignore", "InPlaceUpdate"}) EXPECT_FALSE(changes_allocations(plan(name))) << name;
  EXPECT_FALSE(changes_allocations(v1::PlanJobResponse()));
}

}  // namespace
}  // namespace drover::cli

#include "plan_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace drover::cli {
namespace {

using nlohmann::json;

const json kDiff = json::parse(R"({"Type":"Edited","ID":"web","Fields":null,
  "Objects":[{"Type":"Edited","Name":"Datacenters","Fields":[{"Type":"Added","Name":"Datacenters","Old":"","New":"dc2"}],
              "Objects":null}],
  "TaskGroups":[
   {"Type":"Edited","Name":"g","Updates":{"create":1,"in-place update":2},
    "Fields":[{"Type":"Edited","Name":"Count","Old":"2","New":"3","Annotations":["forces create"]}],"Objects":null,
    "Tasks":[{"Type":"Edited","Name":"t","Annotations":["forces create/destroy update"],"Fields":null,
              "Objects":[{"Type":"Edited","Name":"Config","Objects":null,
                "Fields":[{"Type":"Deleted","Name":"args[1]","Old":"y","New":""}]}]}]},
   {"Type":"Added","Name":"h","Updates":{"create":2},"Fields":[{"Type":"Added","Name":"Count","Old":"","New":"2"}],
    "Objects":null,"Tasks":[{"Type":"Added","Name":"n","Annotations":["forces create"],"Fields":null,"Objects":null}]}]})");

TEST(PlanText, MarksWhatCameWentAndChanged) {
  EXPECT_EQ(
      "+/- Job: \"web\"\n"
      "+/- Datacenters {\n"
      "  +   Datacenters: \"dc2\"\n"
      "    }\n"
      "+/- Task Group: \"g\" (1 create, 2 in-place update)\n"
      "  +/- Count: \"2\" => \"3\" (forces create)\n"
      "  +/- Task: \"t\" (forces create/destroy update)\n"
      "    +/- Config {\n"
      "      -   args[1]: \"y\"\n"
      "        }\n"
      "+   Task Group: \"h\" (2 create)\n"
      "  +   Task: \"n\" (forces create)\n",
      diff_text(kDiff, false));
  EXPECT_NE(std::string::npos, diff_text(kDiff, true).find("  +   Count: \"2\"\n"));
}

TEST(PlanText, OnlyCreatingAndDestroyingCountsAsAChange) {
  const auto plan = [](const char* name) {
    return json{{"Annotations", {{"DesiredTGUpdates", {{"g", {{name, 1}}}}}}}};
  };
  for (const char* name : {"Place", "Stop", "DestructiveUpdate", "Migrate", "Canary"}) {
    EXPECT_TRUE(changes_allocations(plan(name))) << name;
  }
  for (const char* name : {"Ignore", "InPlaceUpdate"}) EXPECT_FALSE(changes_allocations(plan(name))) << name;
  EXPECT_FALSE(changes_allocations(json{{"Annotations", nullptr}}));
}

}  // namespace
}  // namespace drover::cli

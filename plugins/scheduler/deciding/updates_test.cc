#include "updates.h"

#include <gtest/gtest.h>

#include "testing/fixtures.h"

namespace drover::scheduler {
namespace {

using testing::make_job;

TEST(Updates, KnowWhatNeedsAReplacement) {
  struct Case {
    const char* name;
    void (*change)(v1::Job&);
    bool replaced;
  };
  const Case cases[] = {
      {"count", [](v1::Job& j) { j.mutable_task_groups(0)->set_count(9); }, false},
      {"constraint", [](v1::Job& j) { j.mutable_task_groups(0)->add_constraints()->set_operand("is_set"); }, false},
      {"job meta", [](v1::Job& j) { (*j.mutable_meta())["k"] = "v"; }, true},
      {"environment", [](v1::Job& j) { (*j.mutable_task_groups(0)->mutable_tasks(0)->mutable_env())["k"] = "v"; },
       true},
      {"memory", [](v1::Job& j) { j.mutable_task_groups(0)->mutable_tasks(0)->mutable_resources()->set_memory_mb(1); },
       true},
      {"network", [](v1::Job& j) { j.mutable_task_groups(0)->add_networks(); }, true},
      {"disk", [](v1::Job& j) { j.mutable_task_groups(0)->mutable_ephemeral_disk()->set_size_mb(1); }, true},
      {"leader", [](v1::Job& j) { j.mutable_task_groups(0)->mutable_tasks(0)->set_leader(true); }, false},
      {"lifecycle", [](v1::Job& j) { j.mutable_task_groups(0)->mutable_tasks(0)->mutable_lifecycle()->set_hook("x"); },
       false},
      {"kill signal", [](v1::Job& j) { j.mutable_task_groups(0)->mutable_tasks(0)->set_kill_signal("SIGHUP"); }, false},
      {"disconnect time", [](v1::Job& j) { j.mutable_task_groups(0)->set_max_client_disconnect(1); }, false},
      {"update block", [](v1::Job& j) { j.mutable_task_groups(0)->mutable_update()->set_canary(1); }, false},
      {"a service", [](v1::Job& j) { j.mutable_task_groups(0)->add_services()->set_name("s"); }, false},
      {"a service in the mesh", [](v1::Job& j) { j.mutable_task_groups(0)->add_services()->mutable_connect(); }, true},
      {"affinity of the job", [](v1::Job& j) { j.add_affinities()->set_l_target("a"); }, true},
      {"spread of the group", [](v1::Job& j) { j.mutable_task_groups(0)->add_spreads()->set_attribute("a"); }, true},
      {"another task", [](v1::Job& j) { j.mutable_task_groups(0)->add_tasks()->set_name("b"); }, true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const v1::Job from = make_job();
    v1::Job to = from;
    c.change(to);
    EXPECT_EQ(needs_replacement(from, from.task_groups(0), to, to.task_groups(0)), c.replaced);
  }
}

TEST(Updates, DoNotMindWhereAnAffinityStands) {
  v1::Job from = make_job(), to = from;
  from.add_affinities()->set_l_target("a");
  to.mutable_task_groups(0)->mutable_tasks(0)->add_affinities()->set_l_target("a");
  EXPECT_FALSE(needs_replacement(from, from.task_groups(0), to, to.task_groups(0)));
}

}  // namespace
}  // namespace drover::scheduler

#include "deployment_step.h"

#include <gtest/gtest.h>

#include <functional>

namespace drover::deployments {
namespace {

constexpr int64_t kMinute = 60'000'000'000;
constexpr int64_t kNow = 100 * kMinute;

v1::Job version(uint64_t number, bool stable, const std::string& image) {
  v1::Job job;
  job.set_namespace_("default");
  job.set_id("web");
  job.set_create_index(5);
  job.set_version(number);
  job.set_stable(stable);
  job.add_task_groups()->set_name(image);
  return job;
}

// A deployment of version 2, whose one group "web" wants two healthy allocations within ten minutes; version 1 is
// stable and another one.
Situation situation() {
  Situation now;
  now.deployment.set_id("dddddddddddddddd");
  now.deployment.set_namespace_("default");
  now.deployment.set_job_id("web");
  now.deployment.set_job_version(2);
  now.deployment.set_job_create_index(5);
  now.deployment.set_status(v1::DEPLOYMENT_STATUS_RUNNING);
  v1::DeploymentState& group = (*now.deployment.mutable_task_groups())["web"];
  group.set_desired_total(2);
  group.set_progress_deadline(10 * kMinute);
  group.set_require_progress_by(kNow + 10 * kMinute);
  now.versions = {version(2, false, "new"), version(1, true, "old"), version(0, true, "older")};
  now.evaluated_index = 50;
  return now;
}
v1::DeploymentState& group(Situation& now, const std::string& name = "web") {
  return (*now.deployment.mutable_task_groups())[name];
}
v1::Allocation& add(Situation& now, char id, std::optional<bool> healthy, uint64_t index = 40) {
  v1::Allocation& alloc = now.allocs.emplace_back();
  alloc.set_id(std::string(16, id));
  alloc.set_task_group("web");
  alloc.set_deployment_id(now.deployment.id());
  alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
  alloc.set_client_status(v1::CLIENT_STATUS_RUNNING);
  if (healthy) {
    alloc.mutable_deployment_status()->set_healthy(*healthy);
    alloc.mutable_deployment_status()->set_modify_index(index);
    if (*healthy) group(now).set_healthy_allocs(group(now).healthy_allocs() + 1);
  }
  return alloc;
}
void make_canary(Situation& now, const v1::Allocation& alloc) {
  group(now).add_placed_canaries(alloc.id());
  group(now).set_desired_canaries(group(now).desired_canaries() + 1);
}

// "fail: DESCRIPTION (to N)", "promote", "replace xy", "evaluate", joined.
std::string text_of(const Step& step) {
  std::string text;
  const auto add_word = [&](const std::string& word) { text += (text.empty() ? "" : ", ") + word; };
  if (step.fail) {
    add_word("fail: " + step.fail->description);
    if (step.fail->to) text += " (to " + std::to_string(step.fail->to->version()) + ")";
  }
  if (step.promote) add_word("promote");
  if (!step.replace.empty()) {
    std::string ids;
    for (const std::string& id : step.replace) ids += id[0];
    add_word("replace " + ids);
  }
  if (step.evaluate) add_word("evaluate");
  return text;
}

struct Case {
  const char* name;
  std::function<void(Situation&)> change;
  const char* expected;
  int64_t next = kNow + 10 * kMinute;
};

class Steps : public ::testing::TestWithParam<Case> {};

TEST_P(Steps, AreAsTheCaseSays) {
  Situation now = situation();
  GetParam().change(now);
  const Step step = deployment_step(now, kNow);
  EXPECT_EQ(text_of(step), GetParam().expected);
  EXPECT_EQ(step.next, GetParam().next);
}

const Case kCases[] = {
    {"nothing_has_happened", [](Situation& now) { add(now, 'a', {}); }, ""},
    {"is_over",
     [](Situation& now) {
       now.deployment.set_status(v1::DEPLOYMENT_STATUS_SUCCESSFUL);
       add(now, 'a', false);
     },
     "", 0},
    {"an_unhealthy_one_without_a_deadline_fails_it",
     [](Situation& now) {
       add(now, 'a', false);
       group(now).set_progress_deadline(0);
       group(now).set_require_progress_by(0);
     },
     "fail: Failed due to unhealthy allocations", 0},
    {"w1_and_goes_back_to_the_newest_stable_version",
     [](Situation& now) {
       add(now, 'a', false);
       group(now).set_progress_deadline(0);
       group(now).set_require_progress_by(0);
       group(now).set_auto_revert(true);
     },
     "fail: Failed due to unhealthy allocations - rolling back to job version 1 (to 1)", 0},
    {"w2_but_not_to_the_same_specification",
     [](Situation& now) {
       add(now, 'a', false);
       group(now).set_progress_deadline(0);
       group(now).set_require_progress_by(0);
       group(now).set_auto_revert(true);
       now.versions[1] = version(1, true, "new");
     },
     "fail: Failed due to unhealthy allocations - not rolling back to stable job version 1 as current job has same "
     "specification",
     0},
    {"and_not_where_none_is_stable",
     [](Situation& now) {
       add(now, 'a', false);
       group(now).set_progress_deadline(0);
       group(now).set_require_progress_by(0);
       group(now).set_auto_revert(true);
       now.versions[1].set_stable(false);
       now.versions[2].set_create_index(4);  // of an earlier job of that name
     },
     "fail: Failed due to unhealthy allocations - no stable job version to auto revert to", 0},
    {"and_not_to_a_version_that_was_stopped",
     [](Situation& now) {
       add(now, 'a', false);
       group(now).set_progress_deadline(0);
       group(now).set_require_progress_by(0);
       group(now).set_auto_revert(true);
       now.versions[1].set_stop(true);
     },
     "fail: Failed due to unhealthy allocations - rolling back to job version 0 (to 0)", 0},
    {"w3_an_unhealthy_one_is_replaced", [](Situation& now) { add(now, 'a', false); }, "replace a, evaluate"},
    {"once", [](Situation& now) { add(now, 'a', false).mutable_desired_transition()->set_reschedule(true); }, ""},
    {"and_not_where_nobody_wants_it",
     [](Situation& now) { add(now, 'a', false).set_desired_status(v1::DESIRED_STATUS_STOP); }, ""},
    {"w3_the_deadline_passes",
     [](Situation& now) {
       add(now, 'a', true);
       group(now).set_require_progress_by(kNow);
     },
     "fail: Failed due to progress deadline", 0},
    {"those_that_were_healthy_and_ended_do_not_meet_it",
     [](Situation& now) {
       add(now, 'a', true);
       add(now, 'b', true).set_client_status(v1::CLIENT_STATUS_FAILED);
       group(now).set_healthy_allocs(2);
       group(now).set_require_progress_by(kNow);
     },
     "fail: Failed due to progress deadline", 0},
    {"the_deadline_of_a_group_that_goes_back",
     [](Situation& now) {
       group(now).set_require_progress_by(kNow);
       group(now).set_auto_revert(true);
     },
     "fail: Failed due to progress deadline - rolling back to job version 1 (to 1)", 0},
    {"the_deadline_of_a_group_that_is_done",
     [](Situation& now) {
       add(now, 'a', true);
       add(now, 'b', true);
       group(now).set_require_progress_by(kNow);
     },
     "", 0},
    {"w4_canaries_that_nobody_promoted_do_not_fail",
     [](Situation& now) {
       make_canary(now, add(now, 'a', true));
       group(now).set_require_progress_by(kNow);
     },
     "", 0},
    {"canaries_that_did_not_become_healthy_do",
     [](Situation& now) {
       make_canary(now, add(now, 'a', {}));
       group(now).set_require_progress_by(kNow);
     },
     "fail: Failed due to progress deadline", 0},
    {"promoted_canaries_are_not_enough",
     [](Situation& now) {
       make_canary(now, add(now, 'a', true));
       group(now).set_promoted(true);
       group(now).set_require_progress_by(kNow);
     },
     "fail: Failed due to progress deadline", 0},
    {"healthy_canaries_promote_themselves",
     [](Situation& now) {
       make_canary(now, add(now, 'a', true));
       group(now).set_auto_promote(true);
     },
     "promote"},
    {"only_when_all_are",
     [](Situation& now) {
       make_canary(now, add(now, 'a', true));
       make_canary(now, add(now, 'b', {}));
       group(now).set_auto_promote(true);
     },
     ""},
    {"only_when_all_are_placed",
     [](Situation& now) {
       make_canary(now, add(now, 'a', true));
       group(now).set_desired_canaries(2);
       group(now).set_auto_promote(true);
     },
     ""},
    {"w6_not_while_another_group_waits_for_a_person",
     [](Situation& now) {
       make_canary(now, add(now, 'a', true));
       group(now).set_auto_promote(true);
       group(now, "db").set_desired_canaries(1);
     },
     ""},
    {"once_promoted_is_promoted",
     [](Situation& now) {
       make_canary(now, add(now, 'a', true));
       group(now).set_auto_promote(true);
       group(now).set_promoted(true);
     },
     ""},
    {"w7_new_health_is_looked_at", [](Situation& now) { add(now, 'a', true, 51); }, "evaluate"},
    {"health_that_was_seen_is_not", [](Situation& now) { add(now, 'a', true, 50); }, ""},
    {"the_nearest_deadline_is_next",
     [](Situation& now) {
       group(now, "db").set_desired_total(1);
       group(now, "db").set_require_progress_by(kNow + kMinute);
     },
     "", kNow + kMinute},
};

INSTANTIATE_TEST_SUITE_P(Cases, Steps, ::testing::ValuesIn(kCases),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace drover::deployments

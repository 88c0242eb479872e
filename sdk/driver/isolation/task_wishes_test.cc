#include "task_wishes.h"

#include <gtest/gtest.h>

#include "nomad/plugins/driver.pb.h"

namespace drover {
namespace {

Result<IsolationOptions> options_from(const char* json) {
  DROVER_TRY(TaskOptions raw, TaskOptions::from_json(json));
  DROVER_TRY(IsolationOptions options, read_isolation_options(raw));
  DROVER_RETURN_IF_ERROR(raw.finish());
  return options;
}
Result<TaskWishes> wishes_from(const char* json) {
  DROVER_TRY(TaskOptions raw, TaskOptions::from_json(json));
  DROVER_TRY(TaskWishes wishes, read_wishes(raw));
  DROVER_RETURN_IF_ERROR(raw.finish());
  return wishes;
}

TEST(IsolationOptions, RefusesWhatItDoesNotKnow) {
  const struct {
    const char* json;
    const char* error;
  } cases[] = {
      {R"({"default_pid_mode": "shared"})", "default_pid_mode must be \"private\" or \"host\", got \"shared\""},
      {R"({"default_ipc_mode": ""})", "default_ipc_mode must be \"private\" or \"host\", got \"\""},
      {R"({"allow_caps": ["chown", "Fly", "cap_dig"]})",
       "allow_caps configured with capabilities not supported by system: dig, fly"},
      {R"({"launcher_dir": "here"})", "config option \"launcher_dir\" must be an absolute path"},
      {R"({"pids_limit": -1})", "config option \"pids_limit\" must not be negative"},
      {R"({"seccom": true})", "unknown config option \"seccom\"; did you mean \"seccomp\"?"},
  };
  for (const auto& c : cases) EXPECT_EQ(c.error, options_from(c.json).status().message()) << c.json;
}

TEST(TaskWishes, RefusesWhatATaskCannotHave) {
  const struct {
    const char* json;
    const char* error;
  } cases[] = {
      {R"({"pid_mode": "shared"})", "pid_mode must be \"private\" or \"host\", got \"shared\""},
      {R"({"ipc_mode": "shared"})", "ipc_mode must be \"private\" or \"host\", got \"shared\""},
  };
  for (const auto& c : cases) EXPECT_EQ(c.error, wishes_from(c.json).status().message()) << c.json;
}

TEST(TaskWishes, LetsTheJobSayWhatItShares) {
  constexpr uint32_t kBoth = Confinement::processes | Confinement::ipc;
  const struct {
    const char* name;
    const char* options;
    const char* task;
    uint32_t own;
  } cases[] = {
      {"by default", "{}", R"({})", kBoth},
      {"the operator", R"({"default_pid_mode": "host", "default_ipc_mode": "host"})", R"({})", 0},
      {"the job", "{}", R"({"pid_mode": "host"})", Confinement::ipc},
      {"the job over the operator", R"({"default_ipc_mode": "host"})", R"({"ipc_mode": "private"})", kBoth},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto own = own_namespaces_of(*options_from(c.options), *wishes_from(c.task));
    ASSERT_TRUE(own.ok());
    EXPECT_EQ(c.own | Confinement::hostname | Confinement::cgroups, *own);
  }
}

TEST(TaskWishes, GivesRightsByUserAndWishes) {
  const struct {
    const char* name;
    const char* options;
    const char* task;
    const char* user;
    uint64_t capabilities;
  } cases[] = {
      {"nobody", "{}", R"({})", "", 0xa8040531},
      {"root", "{}", R"({})", "root", 0xa80405fb},
      {"root by number", "{}", R"({})", "0", 0xa80405fb},
      {"an operator who allows one", R"({"allow_caps": ["chown"]})", R"({})", "root", 1},
      {"an operator who allows none", R"({"allow_caps": []})", R"({})", "root", 0},
      {"nobody who asks for more", "{}", R"({"cap_add": ["dac_override"]})", "", 0xa8040533},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto rights = rights_of(*options_from(c.options), *wishes_from(c.task), c.user);
    ASSERT_TRUE(rights.ok()) << rights.status().to_string();
    EXPECT_EQ(c.capabilities, rights->capabilities);
    EXPECT_TRUE(rights->no_new_privileges);
    EXPECT_TRUE(rights->are_calls_filtered);
  }
}

TEST(TaskWishes, LimitsByTheShareOfTheMachine) {
  driver::TaskConfig task;
  task.mutable_resources()->mutable_linux_resources()->set_percentticks(0.25);
  const auto limits = task_limits(*options_from("{}"), *wishes_from(R"({"cpu_hard_limit": true})"), task, 8);
  ASSERT_TRUE(limits.ok());
  EXPECT_EQ(CgroupLimits::Quota({.time_us = 200'000, .period_us = 100'000}), *limits->cpu_quota);
  task.mutable_resources()->mutable_linux_resources()->set_percentticks(0);
  EXPECT_EQ("cpu_hard_limit needs the speed of this machine's processors, which is not known",
            task_limits(*options_from("{}"), *wishes_from(R"({"cpu_hard_limit": true})"), task, 8).status().message());
}

TEST(TaskWishes, LetsAJobHaveFewerProcessesNotMore) {
  const driver::TaskConfig task;
  const IsolationOptions options = *options_from(R"({"pids_limit": 100})");
  EXPECT_EQ(100, task_limits(options, *wishes_from(R"({})"), task, 1)->pids);
  EXPECT_EQ(7, task_limits(options, *wishes_from(R"({"pids_limit": 7})"), task, 1)->pids);
  EXPECT_EQ("pids_limit cannot be greater than nomad plugin config pids_limit: 100",
            task_limits(options, *wishes_from(R"({"pids_limit": 101})"), task, 1).status().message());
  EXPECT_FALSE(task_limits(*options_from("{}"), *wishes_from(R"({})"), task, 1)->pids);
}

}  // namespace
}  // namespace drover

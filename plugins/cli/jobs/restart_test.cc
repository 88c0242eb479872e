// job restart: its rules, and the command against recorded answers.
#include <gtest/gtest.h>

#include "drover/api/allocations.pb.h"
#include "drover/json.h"
#include "drover/v1/job.pb.h"
#include "jobs/restart_rules.h"
#include "testing/recorded_agent.h"

namespace drover::cli {
namespace {

using testing::RecordedAgent;
using testing::run_command;
using testing::Said;

template <typename Message>
Message read(const std::string& json) {
  Message message;
  const Status status = json_to_message(json, message);
  EXPECT_TRUE(status.ok()) << status.message();
  return message;
}

// --- rules -----------------------------------------------------------------------------------------------------------

TEST(JobRestart, ABatchIsANumberOrAShare) {
  struct Case {
    const char* text;
    size_t count;
    size_t size;  // 0: refused
  };
  const Case cases[] = {{"1", 10, 1},   {"3", 2, 3},   {"20%", 10, 2}, {"25%", 10, 3}, {"1%", 10, 1}, {"100%", 7, 7},
                        {"0", 10, 0},   {"-1", 10, 0}, {"0%", 10, 0},  {"101%", 10, 0}, {"", 10, 0},  {"%", 10, 0},
                        {"two", 10, 0}, {"2 ", 10, 0}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    const auto size = batch_size(c.text, c.count);
    EXPECT_EQ(size.ok() ? *size : 0, c.size);
  }
}

constexpr const char* kJob = R"({"ID":"web","TaskGroups":[
  {"Name":"a","Tasks":[{"Name":"t"},{"Name":"side"}]},{"Name":"b","Tasks":[{"Name":"t"}]}]})";

TEST(JobRestart, OnlyWhatRunsAndIsMeantIsRestarted) {
  const auto job = read<v1::Job>(kJob);
  const auto allocs = read<v1::AllocationStubsResponse>(R"({"Allocations":[
    {"Name":"a0","TaskGroup":"a","ClientStatus":"running","DesiredStatus":"run"},
    {"Name":"a1","TaskGroup":"a","ClientStatus":"failed","DesiredStatus":"run"},
    {"Name":"a2","TaskGroup":"a","ClientStatus":"running","DesiredStatus":"stop"},
    {"Name":"b0","TaskGroup":"b","ClientStatus":"running","DesiredStatus":"run"},
    {"Name":"old","TaskGroup":"gone","ClientStatus":"running","DesiredStatus":"run"}]})");
  struct Case {
    RestartParts parts;
    const char* names;
  };
  const Case cases[] = {{{}, "a0 b0 old "},
                        {{.groups = {"b"}, .tasks = {}}, "b0 "},
                        {{.groups = {"a", "b"}, .tasks = {"side"}}, "a0 "},
                        {{.groups = {}, .tasks = {"t"}}, "a0 b0 "}};
  for (const Case& c : cases) {
    std::string names;
    for (const auto& alloc : allocs_to_restart(job, allocs, c.parts)) names += alloc.name() + " ";
    EXPECT_EQ(names, c.names);
  }
  EXPECT_EQ(check_parts(job, {.groups = {"a"}, .tasks = {"side"}}).message(), "");
  EXPECT_EQ(check_parts(job, {.groups = {"c"}, .tasks = {}}).message(), "job \"web\" has no group \"c\"");
  EXPECT_EQ(check_parts(job, {.groups = {"b"}, .tasks = {"side"}}).message(),
            "job \"web\" has no task \"side\" in these groups");
}

v1::Allocation alloc_of(const std::string& status, const std::string& states) {
  return read<v1::Allocation>(R"({"ClientStatus":")" + status + R"(","TaskStates":{)" + states + "}}");
}
std::string state(const char* name, const char* state, int started, bool failed = false, int finished = 0) {
  const auto time = [](int second) {
    return second == 0 ? std::string("null") : "\"2026-01-01T00:00:0" + std::to_string(second) + "Z\"";
  };
  return "\"" + std::string(name) + R"(":{"State":")" + state + R"(","StartedAt":)" + time(started) +
         R"(,"FinishedAt":)" + time(finished) + R"(,"Failed":)" + (failed ? "true" : "false") + "}";
}

TEST(JobRestart, TasksThatRunOrHaveRunAreWaitedFor) {
  const auto alloc = alloc_of("running", state("main", "running", 1) + "," + state("init", "dead", 1, false, 2) + "," +
                                             state("last", "pending", 0));
  using Names = std::vector<std::string>;
  EXPECT_EQ(tasks_to_restart(alloc, {}), Names{"main"});
  EXPECT_EQ(tasks_to_restart(alloc, {.groups = {}, .tasks = {}, .all_tasks = true}), (Names{"init", "main"}));
  EXPECT_EQ(tasks_to_restart(alloc, {.groups = {}, .tasks = {"init"}}), Names());
}

TEST(JobRestart, AnAllocationRunsAgainWhenItsTasksHaveStartedAnew) {
  const auto before = alloc_of("running", state("t", "running", 1) + "," + state("u", "dead", 1, true, 2));
  struct Case {
    const char* name;
    v1::Allocation now;
    std::vector<std::string> tasks;
    RestartProgress progress;
  };
  const Case cases[] = {
      {"nothing yet", before, {"t"}, RestartProgress::waiting},
      {"between", alloc_of("running", state("t", "pending", 1, false, 2)), {"t"}, RestartProgress::waiting},
      {"again", alloc_of("running", state("t", "running", 3)), {"t"}, RestartProgress::running},
      {"and done", alloc_of("complete", state("t", "dead", 3, false, 4)), {"t"}, RestartProgress::running},
      {"failed", alloc_of("failed", state("t", "dead", 3, true, 4)), {"t"}, RestartProgress::ended},
      {"lost", alloc_of("lost", state("t", "running", 1)), {"t"}, RestartProgress::ended},
      {"an old failure", before, {"t", "u"}, RestartProgress::waiting},
      {"one of two",
       alloc_of("running", state("t", "running", 3) + "," + state("u", "dead", 1, true, 2)),
       {"t", "u"},
       RestartProgress::waiting},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(progress_of(before, c.now, c.tasks), c.progress);
  }
}

// --- the command -----------------------------------------------------------------------------------------------------

const std::string kOne = "00000000-0000-4000-8000-000000000001", kTwo = "00000000-0000-4000-8000-000000000002",
                  kNext = "00000000-0000-4000-8000-000000000003", kEval = "00000000-0000-4000-8000-000000000009";

class JobRestartCommand : public ::testing::Test {
 protected:
  JobRestartCommand() {
    agent_.says("GET /v1/jobs?prefix=web", R"([{"ID":"web","Namespace":"default"}])");
    agent_.says("GET /v1/job/web", kJob);
    agent_.says("GET /v1/job/web/allocations", "[" + stub(kOne) + "," + stub(kTwo) + "]");
    for (const std::string& id : {kOne, kTwo}) {
      says(id, "", alloc(id, "running", 7, state("t", "running", 1)));
      says(id, "?index=7&wait=1s", alloc(id, "running", 8, state("t", "running", 3)));
      agent_.says("PUT /v1/client/allocation/" + id + "/restart", "{}");
    }
  }
  static std::string stub(const std::string& id) {
    return R"({"ID":")" + id + R"(","TaskGroup":"b","ClientStatus":"running","DesiredStatus":"run"})";
  }
  static std::string alloc(const std::string& id, const std::string& status, int index, const std::string& states,
                           const std::string& more = {}) {
    return R"({"ID":")" + id + R"(","TaskGroup":"b","DesiredStatus":"run","ClientStatus":")" + status +
           R"(","ModifyIndex":)" + std::to_string(index) + R"(,"TaskStates":{)" + states + "}" + more + "}";
  }
  void says(const std::string& id, const std::string& query, const std::string& body) {
    agent_.says("GET /v1/allocation/" + id + query, body);
  }
  Said restart(std::vector<std::string> words, const std::string& input = {}) {
    words.insert(words.begin(), "web");
    return run_command(job_restart_commands(), "job restart", std::move(words), agent_, input);
  }
  std::string changes() const {
    std::string text;
    for (const RecordedAgent::Asked& asked : agent_.asked()) {
      if (!asked.line.starts_with("GET")) text += asked.line + "\n";
    }
    return text;
  }

  RecordedAgent agent_;
};

TEST_F(JobRestartCommand, OneBatchAfterTheOther) {
  const Said said = restart({});
  EXPECT_EQ(said.code, 0) << said.err;
  for (const char* line : {"Restarting 2 allocations", "Restarting batch 1 of 2: 1 allocation",
                           "Restarting allocation \"00000000\" of group \"b\"", "Restarting batch 2 of 2: 1 allocation",
                           "Finished job restart"}) {
    EXPECT_NE(said.out.find(line), std::string::npos) << line << " in " << said.out;
  }
  std::string order;
  for (const RecordedAgent::Asked& asked : agent_.asked()) {
    if (asked.line == "PUT /v1/client/allocation/" + kTwo + "/restart") order += "two";
    if (asked.line == "GET /v1/allocation/" + kOne + "?index=7&wait=1s") order += "waits ";
  }
  EXPECT_EQ(order, "waits two") << "the second is restarted when the first runs";
}

TEST_F(JobRestartCommand, AFailureAsksBeforeTheNextBatch) {
  says(kOne, "?index=7&wait=1s", alloc(kOne, "failed", 8, state("t", "dead", 3, true, 4)));
  struct Case {
    std::vector<std::string> words;
    const char* input;
    bool goes_on;
  };
  const Case cases[] = {{{}, "y\n", true},        {{}, "n\n", false},
                        {{}, "", false},          {{"-yes"}, "", true},
                        {{"-on-error=fail"}, "y\n", false}, {{"-yes", "-on-error=fail"}, "", false}};
  for (const Case& c : cases) {
    const Said said = restart(c.words, c.input);
    EXPECT_EQ(said.code, 1);
    EXPECT_NE(said.err.find("it ended (failed) in place of running again"), std::string::npos) << said.err;
    EXPECT_EQ(said.out.find("1 allocation was not restarted") == std::string::npos, c.goes_on) << said.out;
  }
}

TEST_F(JobRestartCommand, ABatchMayWaitForAWord) {
  EXPECT_EQ(restart({"-batch-wait=ask"}, "y\n").code, 0);
  const Said stopped = restart({"-batch-wait=ask"}, "n\n");
  EXPECT_EQ(stopped.code, 1);
  EXPECT_NE(stopped.out.find("Job restart was ended before it was done"), std::string::npos) << stopped.out;
  const Said at_once = restart({"-batch-size=100%", "-batch-wait=ask"});
  EXPECT_EQ(at_once.code, 0) << at_once.err;
}

TEST_F(JobRestartCommand, ReschedulingWaitsForTheOtherAllocation) {
  agent_.says("GET /v1/job/web/allocations", "[" + stub(kOne) + "]");
  agent_.says("PUT /v1/allocation/" + kOne + "/stop", R"({"EvalID":")" + kEval + R"("})");
  agent_.says("GET /v1/evaluation/" + kEval + "?index=0&wait=1s",
              R"({"ID":")" + kEval + R"(","Status":"pending","ModifyIndex":5})");
  agent_.says("GET /v1/evaluation/" + kEval + "?index=5&wait=1s",
              R"({"ID":")" + kEval + R"(","Status":"complete","ModifyIndex":6})");
  says(kOne, "", alloc(kOne, "running", 7, "", R"(,"NextAllocation":")" + kNext + "\""));
  says(kNext, "", alloc(kNext, "pending", 9, ""));
  says(kNext, "?index=9&wait=1s", alloc(kNext, "running", 10, ""));
  const Said said = restart({"-reschedule", "-verbose"});
  EXPECT_EQ(said.code, 0) << said.err;
  const std::string replaced = "Allocation \"" + kOne + "\" is replaced by \"" + kNext + "\"";
  EXPECT_NE(said.out.find(replaced), std::string::npos) << said.out;

  says(kOne, "", alloc(kOne, "running", 7, ""));
  EXPECT_NE(restart({"-reschedule"}).out.find("was stopped; the job wants no other one"), std::string::npos);
  agent_.says("GET /v1/evaluation/" + kEval + "?index=5&wait=1s",
              R"({"ID":")" + kEval + R"(","Status":"complete","ModifyIndex":6,"FailedTGAllocs":{"b":{}}})");
  const Said full = restart({"-reschedule", "-on-error=fail"});
  EXPECT_EQ(full.code, 1);
  EXPECT_NE(full.err.find("no node has room for another one"), std::string::npos) << full.err;
}

TEST_F(JobRestartCommand, WhatCannotBeMeantIsRefusedAtOnce) {
  struct Case {
    std::vector<std::string> words;
    const char* text;
  };
  const Case cases[] = {{{"-all-tasks", "-task=t"}, "-all-tasks and -task exclude each other"},
                        {{"-reschedule", "-task=t"}, "-reschedule is for whole allocations"},
                        {{"-no-shutdown-delay"}, "-no-shutdown-delay goes with -reschedule"},
                        {{"-on-error=maybe"}, "-on-error: ask or fail"},
                        {{"-yes", "-on-error=ask"}, "exclude each other"},
                        {{"-yes", "-batch-wait=ask"}, "exclude each other"},
                        {{"-batch-wait=soon"}, "\"soon\" is no duration, nor ask"},
                        {{"-batch-size=0"}, "-batch-size: \"0\""},
                        {{"-group=c"}, "has no group \"c\""}};
  for (const Case& c : cases) {
    const Said said = restart(c.words);
    EXPECT_EQ(said.code, 1) << c.text;
    EXPECT_NE(said.err.find(c.text), std::string::npos) << said.err;
  }
  EXPECT_EQ(changes(), "");
  agent_.says("GET /v1/job/web/allocations", "[]");
  EXPECT_EQ(restart({}).out, "No allocations to restart\n");
}

}  // namespace
}  // namespace drover::cli

#include "drover/model/filter.h"

#include <gtest/gtest.h>

#include <random>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

void fuzz_filter(std::string_view text);

namespace drover {
namespace {

v1::Job web() {
  v1::Job job;
  job.set_id("web-01");
  job.set_name("web");
  job.set_namespace_("default");
  job.set_type("service");
  job.set_status(v1::JOB_STATUS_RUNNING);
  job.set_priority(50);
  job.set_create_index(10);
  job.set_stop(false);
  job.add_datacenters("dc1");
  job.add_datacenters("dc2");
  auto& meta = *job.mutable_meta();
  meta["owner"] = "team-a";
  meta["a.b"] = "dot";
  meta["co:lon"] = "x";
  meta["empty"] = "";
  meta["slash"] = "/a/b";
  meta["ab"] = "a.b";
  v1::TaskGroup& group = *job.add_task_groups();
  group.set_name("api");
  group.set_count(3);
  v1::Task& task = *group.add_tasks();
  task.set_name("srv");
  task.set_driver("docker");
  task.set_config(R"({"image": "redis:7", "port": 80, "tags": ["a", "b"]})");
  task.set_kill_timeout(5'000'000'000);
  return job;
}

// T, F; E: an error when it is evaluated; P: it cannot be read.
char outcome(const std::string& expression, const google::protobuf::Message& row) {
  const auto filter = Filter::parse(expression);
  if (!filter) return 'P';
  const auto answer = filter->matches(row);
  if (!answer) return 'E';
  return *answer ? 'T' : 'F';
}

TEST(Filter, AnswersAsItsPublicSuite) {
  struct Case {
    char answer;
    const char* expression;
  };
  const Case cases[] = {
      {'T', R"(Status == "running")"},
      {'T', "Status == running"},
      {'T', "Status == `running`"},
      {'F', R"(Status == "Running")"},
      {'P', R"("running" == Status)"},
      {'P', R"(Status = "running")"},
      {'P', "Status == 'running'"},
      {'P', "ID == web-01"},
      {'T', R"(ID == "web-01")"},
      {'P', R"(Name == "a\"b")"},
      {'F', "Status == Status"},
      {'T', "Priority == 50"},
      {'T', R"(Priority == "50")"},
      {'T', R"(Priority == "0x32")"},
      {'T', R"(Priority == "5_0")"},
      {'T', R"(CreateIndex == "0b1010")"},
      {'E', R"(CreateIndex == "-1")"},
      {'P', "Priority == 0x32"},
      {'P', "Priority == 007"},
      {'P', "Priority > 10"},
      {'E', "Priority == 50.0"},
      {'E', "Priority == abc"},
      {'T', R"(Stop == "0")"},
      {'T', "Stop == f"},
      {'F', R"(Stop == "TRUE")"},
      {'E', "Stop == no"},
      {'T', "TaskGroups.0.Tasks.0.KillTimeout == 5000000000"},
      {'E', R"(TaskGroups.0.Tasks.0.KillTimeout == "5s")"},
      {'T', R"("dc1" in Datacenters)"},
      {'F', R"("dc3" in Datacenters)"},
      {'T', R"("dc3" not in Datacenters)"},
      {'T', "Datacenters contains dc2"},
      {'E', R"(Datacenters == "dc1")"},
      {'T', "Datacenters.0 == dc1"},
      {'P', "Datacenters[0] == dc1"},
      {'E', "Datacenters.2 == dc1"},
      {'P', R"(Status in ["a","b"])"},
      {'T', R"("we" in Name)"},
      {'F', R"(Name contains "EB")"},
      {'T', R"(Name contains "")"},
      {'T', R"(Name matches "(?i)^WE")"},
      {'F', R"(Name not matches "(?i)^WE")"},
      {'E', R"(Name matches "[")"},
      {'T', "Constraints is empty"},
      {'F', "Datacenters is empty"},
      {'T', "Datacenters is not empty"},
      {'T', "owner in Meta"},
      {'F', R"("team-a" in Meta)"},
      {'T', R"(Meta["a.b"] == "dot")"},
      {'T', "Meta[`a.b`] == dot"},
      {'E', "Meta.a.b == dot"},
      {'T', R"("/Meta/a.b" == "dot")"},
      {'T', R"("/Meta/co:lon" == "x")"},
      {'P', "Meta[owner] == x"},
      {'P', R"(Meta["owner" == x)"},
      {'F', R"(Meta.missing == "x")"},
      {'T', R"(Meta.missing != "x")"},
      {'T', "Meta.missing is empty"},
      {'F', "Meta.missing is not empty"},
      {'F', R"("x" in Meta.missing)"},
      {'T', R"("x" not in Meta.missing)"},
      {'F', R"(Meta.missing matches ".*")"},
      {'T', R"(Meta.missing not matches ".*")"},
      {'T', R"(Meta.empty == "")"},
      {'F', R"(Meta["slash"] == "/a/b")"},
      {'T', R"(Meta["slash"] == `/a/b`)"},
      {'T', R"(Meta["slash"] matches "^/a")"},
      {'T', R"(Meta["ab"] == a.b)"},
      {'E', R"(Meta == "x")"},
      {'T', R"(TaskGroups.0.Name == "api")"},
      {'T', "TaskGroups.0.Tasks.0.Config.image contains redis"},
      {'T', "TaskGroups.0.Tasks.0.Config.port == 80"},
      {'T', "a in TaskGroups.0.Tasks.0.Config.tags"},
      {'T', "TaskGroups.0.Tasks.0.Config.tags.1 == b"},
      {'E', "TaskGroups.1.Name == api"},
      {'E', R"("api" in TaskGroups)"},
      {'E', "Periodic.Enabled == true"},
      {'E', "Periodic == nil"},
      {'E', "Priority is empty"},
      {'E', "Nope == 1"},
      {'E', R"(status == "running")"},
      {'F', R"(Status == "dead" and Nope == 1)"},
      {'T', R"(Status == "running" or Nope == 1)"},
      {'E', R"(Nope == 1 or Status == "running")"},
      {'E', "not Nope == 1"},
      {'T', R"(not Status == "dead")"},
      {'F', R"(not not Status == "dead")"},
      {'P', R"(not(Status == "dead"))"},
      {'T', R"(not (Status == "dead"))"},
      {'P', R"((Status == "dead") or(Name == web))"},
      {'T', R"(Status == "running" or Name == "x" and Stop == true)"},
      {'F', R"((Status == "running" or Name == "x") and Stop == true)"},
      {'P', R"((Status == "running")"},
      {'P', "()"},
      {'P', ""},
      {'P', R"(Status == "running" and)"},
      {'P', R"(Status == "running" && Name == web)"},
      {'P', R"(Status == "running" AND Name == web)"},
      {'P', "Status is null"},
      {'P', "_x == 1"},
      {'P', R"("running" in "Status")"},
      {'T', R"("running" in "/Status")"},
      {'T', "  (  Status==running\n\tand Name != x  )  "},
  };
  const v1::Job job = web();
  for (const Case& c : cases) EXPECT_EQ(outcome(c.expression, job), c.answer) << c.expression;
}

TEST(Filter, ReadsIdentifiersStatesAndOptionalTruths) {
  v1::Allocation alloc;
  alloc.set_id("0123456789abcdef");
  alloc.set_client_status(v1::CLIENT_STATUS_FAILED);
  alloc.mutable_deployment_status()->set_healthy(true);
  (*alloc.mutable_task_states())["web"].set_state("dead");
  for (const char* expression :
       {R"(ID matches "^30313233-")", "ClientStatus == failed", "DeploymentStatus.Healthy == true",
        "TaskStates.web.State == dead", "web in TaskStates", R"(NodeID == "")"}) {
    EXPECT_EQ(outcome(expression, alloc), 'T') << expression;
  }
}

TEST(Filter, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char* expression;
    const char* error;
  };
  const Case cases[] = {
      {"Status = running", "1:8 (7): no match found"},
      {"Status == running and\nName ~ x", "2:6 (27): no match found"},
      {"(Status == running", "1:19 (18): rule \"grouping\": Unmatched parentheses"},
      {R"(Name == "web)", "1:9 (8): rule \"string\": Unterminated string literal"},
      {R"(Name == "\q")", "1:9 (8): rule \"string\": invalid syntax"},
      {"Meta[owner] == x", "1:5 (4): rule \"index\": Invalid index"},
      {"Priority == 007", "1:13 (12): rule \"number\": Invalid number literal"},
      {"Nope == 1",
       "error finding value in datum: /Nope at part 0: couldn't find key: struct field with name \"Nope\""},
      {"Meta.a.b == 1", "error finding value in datum: /Meta/a/b at part 1: couldn't find key \"a\""},
      {"Datacenters.2 == x",
       "error finding value in datum: /Datacenters/2 at part 1: index 2 is out of range (length = 2)"},
      {"Periodic.Enabled == true",
       "error finding value in datum: /Periodic/Enabled: at part 1, invalid value kind: invalid"},
      {"Priority == abc", "error getting match value in expression: strconv.ParseInt: parsing \"abc\": invalid syntax"},
      {"5 in Priority", "Cannot perform in/contains operations on type int for selector: \"Priority\""},
      {"Priority is empty", "cannot perform is-empty operations on type int for selector: \"Priority\""},
  };
  const v1::Job job = web();
  for (const Case& c : cases) {
    const auto filter = Filter::parse(c.expression);
    const Status status = filter ? filter->matches(job).status() : filter.status();
    EXPECT_EQ(status.message(), c.error) << c.expression;
    EXPECT_EQ(status.code(), Code::invalid_argument);
  }
}

TEST(Filter, ASecretHasNoName) {
  v1::Node node;
  node.set_secret_id("0123456789abcdef");
  EXPECT_EQ(outcome(R"(SecretID matches "^3")", node), 'E');
}

TEST(Filter, RefusesWhatWouldCostTooMuch) {
  EXPECT_FALSE(Filter::parse(std::string(Filter::kMaxLength + 1, ' ')).ok());
  const std::string deep = std::string(200, '(') + "Name == web" + std::string(200, ')');
  EXPECT_EQ(Filter::parse(deep).status().message(), "1:101 (100): parentheses are nested too deeply");
  std::string wide = "Name == web";
  while (wide.size() + 20 < Filter::kMaxLength) wide += " and Name == web";
  EXPECT_EQ(outcome(wide, web()), 'T');
}

TEST(Filter, MutatedExpressionsNeverCrash) {
  const std::string corpus[] = {
      R"(Status == "running" and "dc1" in Datacenters or not (Priority != 50 and Meta.owner is not empty))",
      R"(any TaskGroups as g { g.Name contains "ap" and all g.Tasks as t { t.Driver matches "^do.*r$" } })",
      R"(Meta["a.b"] == `raw` and ID matches "/web-[0-9]+/" and Stop == false and CreateIndex == 0x1f)",
      R"(TaskStates.main.State == running and Drivers["exec"].Healthy is empty and "/TaskGroups/0/Name" == api)",
  };
  const std::string_view pieces[] = {"(", ")", "{", "}", "\"", "`", ".", "[", "]", " and ", " or ", "not ", " in ", "==",
                                     "!=", " is empty", " matches ", "any ", " as ", "-1", "1e9", "\\", "\xff", "/"};
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = corpus[random() % std::size(corpus)];
    for (size_t edits = 1 + random() % 5; edits > 0; --edits) {
      const size_t at = random() % (text.size() + 1);
      if (random() % 2 == 0) {
        text.insert(at, pieces[random() % std::size(pieces)]);
      } else {
        text.erase(at, 1 + random() % 6);
      }
    }
    fuzz_filter(text);
  }
}

TEST(Filter, KnowsWhatItMentions) {
  const auto filter = Filter::parse("Name == x and (Job.Priority == 5 or not ID is empty)");
  ASSERT_TRUE(filter.ok());
  EXPECT_TRUE(filter->mentions("Job"));
  EXPECT_FALSE(filter->mentions("Priority"));
}

}  // namespace
}  // namespace drover

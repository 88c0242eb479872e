#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "parse.h"

namespace drover::jobspec {
namespace {

using nlohmann::json;

json parse(std::string_view source, JobParser::Options options = {}) {
  auto text = Parser().parse(source, options);
  EXPECT_TRUE(text.ok()) << text.status().message();
  return text ? json::parse(text->json) : json();
}

std::string error_of(std::string_view source, JobParser::Options options = {}) {
  auto text = Parser().parse(source, options);
  EXPECT_FALSE(text.ok());
  return text ? "" : text.status().message();
}

constexpr std::string_view kWeb = R"(
variable "count" {
  type    = number
  default = 2
}
locals {
  greeting = "hello ${local.who}"
  who      = "world"
}
job "web" {
  datacenters = ["dc1"]
  meta { owner = "ops" }
  constraint {
    attribute = "${attr.kernel.name}"
    value     = "linux"
  }
  constraint { distinct_hosts = true }
  group "app" {
    count = var.count
    network {
      port "http" {}
      port "admin" { static = 9000 }
    }
    restart {
      attempts = 3
      delay    = "1s"
    }
    task "server" {
      driver = "raw_exec"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo ${NOMAD_PORT_http} ${local.greeting}"]
      }
      env { A = 1 }
      resources {
        cpu    = 50
        memory = 64
      }
      kill_timeout = "3s"
    }
  }
}
)";

TEST(Jobspec, ReadsTheNativeSyntax) {
  json job = parse(kWeb);
  EXPECT_EQ("web", job["ID"]);
  EXPECT_EQ(json({"dc1"}), job["Datacenters"]);
  EXPECT_EQ("ops", job["Meta"]["owner"]);
  EXPECT_EQ("${attr.kernel.name}", job["Constraints"][0]["LTarget"]);
  EXPECT_EQ("distinct_hosts", job["Constraints"][1]["Operand"]);
  const json& group = job["TaskGroups"][0];
  EXPECT_EQ(2, group["Count"]);
  EXPECT_EQ("http", group["Networks"][0]["DynamicPorts"][0]["Label"]);
  EXPECT_EQ(9000, group["Networks"][0]["ReservedPorts"][0]["Value"]);
  EXPECT_EQ(1'000'000'000, group["RestartPolicy"]["Delay"]);
  const json& task = group["Tasks"][0];
  EXPECT_EQ("echo ${NOMAD_PORT_http} hello world", task["Config"]["args"][1]);
  EXPECT_EQ("1", task["Env"]["A"]);
  EXPECT_EQ(3'000'000'000, task["KillTimeout"]);
}

TEST(Jobspec, EveryFieldOfTheApiIsThere) {
  const json job = parse("job \"a\" {\n group \"g\" {\n task \"t\" {\n driver = \"d\"\n }\n }\n}");
  for (const char* name : {"Region", "Priority", "AllAtOnce", "Meta", "Update", "Reschedule", "VaultToken", "Version"})
    EXPECT_EQ(json(nullptr), job.at(name)) << name;
  EXPECT_EQ(json(false), job.at("Dispatched"));
  EXPECT_EQ(json(nullptr), job["TaskGroups"][0].at("Count"));
  const json& task = job["TaskGroups"][0]["Tasks"][0];
  EXPECT_EQ(json(""), task.at("User"));
  EXPECT_EQ(json(nullptr), task.at("KillTimeout"));
  EXPECT_EQ(json(nullptr), task.at("Config"));
  EXPECT_EQ(7, parse(R"({"Job":{"ID":"x","priority":7}})")["Priority"]);
}

TEST(Jobspec, VariablesFromOutsideWin) {
  EXPECT_EQ(
      5, parse(kWeb,
               {.variables = {{JobParser::Assignment::Source::command_line, "count", "5"}}})["TaskGroups"][0]["Count"]);
}

TEST(Jobspec, ReadsTheJsonSyntaxAndTheApisForm) {
  json job = parse(
      R"({"job":{"web":{"group":{"a":{"count":3,"task":{"t":{"driver":"raw_exec","config":{"command":"/bin/true"}}}}}}}})");
  EXPECT_EQ(3, job["TaskGroups"][0]["Count"]);
  EXPECT_EQ("/bin/true", job["TaskGroups"][0]["Tasks"][0]["Config"]["command"]);
  EXPECT_EQ("x", parse(R"({"Job":{"ID":"x"}})")["ID"]);
  EXPECT_EQ("x", parse(R"({"ID":"x"})")["ID"]);
}

TEST(Jobspec, DeepJsonIsRefusedInEveryForm) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const std::string& source :
       {"{\"ID\":\"x\",\"Config\":" + deep + "}", "{\"Job\":{\"ID\":\"x\",\"Config\":" + deep + "}}",
        "{\"job\":{\"x\":{\"meta\":" + deep + "}}}"}) {
    const std::string error = error_of(source);
    EXPECT_NE(std::string::npos, error.find("nested more than 200 levels deep")) << error.substr(0, 200);
  }
  const std::string fits = std::string(190, '[') + std::string(190, ']');
  EXPECT_EQ("x", parse("{\"ID\":\"x\",\"Config\":" + fits + "}")["ID"]);
}

TEST(Jobspec, AStaticPortOfZeroIsADynamicOne) {
  const json network = parse(R"(job "a" {
  group "g" {
    network {
      port "any" { static = 0 }
      port "one" { static = 80 }
    }
  }
}
)")["TaskGroups"][0]["Networks"][0];
  EXPECT_EQ("any", network["DynamicPorts"][0]["Label"]);
  EXPECT_EQ("one", network["ReservedPorts"][0]["Label"]);
}

TEST(Jobspec, AnIdStandsBeforeTheLabelWhichStaysTheName) {
  const json job = parse("job \"shown\" {\n  id = \"known\"\n}");
  EXPECT_EQ("known", job["ID"]);
  EXPECT_EQ("shown", job["Name"]);
  EXPECT_EQ("named", parse("job \"shown\" {\n  id = \"known\"\n  name = \"named\"\n}")["Name"]);
}

TEST(Jobspec, ATaskAtJobLevelIsAGroup) {
  json job = parse("job \"a\" {\n  task \"t\" { driver = \"raw_exec\" }\n}");
  EXPECT_EQ("t", job["TaskGroups"][0]["Name"]);
  EXPECT_EQ("t", job["TaskGroups"][0]["Tasks"][0]["Name"]);
  job = parse("job \"a\" {\n  group \"g\" {}\n  task \"t\" { driver = \"raw_exec\" }\n}");
  EXPECT_EQ("t", job["TaskGroups"][0]["Name"]);
  EXPECT_EQ("g", job["TaskGroups"][1]["Name"]);
}

struct Case {
  const char* source;
  const char* place;
  const char* text;
};

TEST(Jobspec, ErrorsNameThePlaceAndTheRemedy) {
  const Case cases[] = {
      {"job \"a\" {\n  datacentres = [\"dc1\"]\n}", "job.hcl:2:3", "did you mean \"datacenters\"?"},
      {"job \"a\" {\n  group \"g\" {\n    tsk \"t\" {}\n  }\n}", "job.hcl:3:5", "did you mean \"task\"?"},
      {"job \"a\" {\n  priority = \"high\"\n}", "job.hcl:2:14", "must be a whole number"},
      {"job \"a\" {\n  group \"g\" {\n    shutdown_delay = \"soon\"\n  }\n}", "job.hcl:3:22", "is not a duration"},
      {"job \"a\" {\n  update {\n    stagger = \"5\"\n  }\n}", "job.hcl:3:15", "is not a duration"},
      {"job \"a\" {\n  meta { a = 1 }\n  meta { b = 1 }\n}", "job.hcl:3:3", "stands here twice"},
      {"job {}", "job.hcl:1:1", "takes one label"},
      {"jbo \"a\" {}", "job.hcl:1:1", "did you mean \"job\"?"},
      {"", "job.hcl", "holds no job block"},
      {"job \"a\" {\n", "job.hcl", ""},
      {"variable \"v\" {}\njob \"a\" {}", "job.hcl:1:1", "has no value"},
      {"locals {\n a = local.b\n b = local.a\n}\njob \"a\" {}", "job.hcl:2:2", "refers to itself"},
      {"job \"a\" {}\njob \"b\" {}", "job.hcl:2:1", "this is the second"},
      {"job \"a\" {\n  meta = { a = \"b\" }\n  meta { c = \"d\" }\n}", "job.hcl:3:3", "as an argument as well"},
  };
  for (const Case& c : cases) {
    const std::string error = error_of(c.source);
    EXPECT_NE(std::string::npos, error.find(c.place)) << error;
    EXPECT_NE(std::string::npos, error.find(c.text)) << error;
  }
}

std::string in_check(const std::string& text) {
  return "job \"a\" {\n group \"g\" {\n service {\n check {\n" + text + "\n}\n}\n}\n}\n";
}
std::string in_task(const std::string& text) {
  return "job \"a\" {\n group \"g\" {\n task \"t\" {\n" + text + "\n}\n}\n}\n";
}

TEST(Jobspec, ABlockWrittenAsAnArgumentHasTheBlocksForm) {
  const struct {
    std::string source, problem;
  } cases[] = {
      {in_check("header = \"x\""), "\"header\" must be a map of lists of texts, not a string"},
      {in_check("header = { a = 1 }"), "\"header\" must be a map of lists of texts"},
      {in_check("header = \"x\"\nheader { A = [\"b\"] }"), "\"header\" stands here as an argument as well"},
      {in_task("config = { a = 1 }"), "\"config\" is a block, not an argument"},
      {in_task("scaling \"cpu\" {\n policy = {}\n }"), "\"policy\" is a block, not an argument"},
      {in_task("config {\n a = \"x\"\n a { b = 1 }\n }"), "\"a\" stands here as an argument as well"},
  };
  for (const auto& c : cases) {
    const std::string error = error_of(c.source);
    EXPECT_NE(std::string::npos, error.find(c.problem)) << error;
  }
  const json check = parse(in_check("header = { A = [\"b\", 1] }"))["TaskGroups"][0]["Services"][0]["Checks"][0];
  EXPECT_EQ(json({{"A", {"b", "1"}}}), check["Header"]);
  const json task = parse(
      R"({"job": {"a": {"group": {"g": {"task": {"t": {"config": [{"a": 1}], "env": [{"B": "c"}]}}}}}}})")["TaskGroups"]
                                                                                                          [0]["Tasks"]
                                                                                                          [0];
  EXPECT_EQ(json({{"a", 1}}), task["Config"]);
  EXPECT_EQ(json({{"B", "c"}}), task["Env"]);
}

json config_of(const json& job) { return job["TaskGroups"][0]["Tasks"][0]["Config"]; }

TEST(Jobspec, AnObjectWrittenInConfigIsAListOfOne) {
  const struct {
    std::string config, expected;
  } cases[] = {
      {R"(labels = { a = "b" })", R"({"labels": [{"a": "b"}]})"},
      {R"(labels { a = "b" })", R"({"labels": [{"a": "b"}]})"},
      {R"(logging { config = { a = 1 } })", R"({"logging": [{"config": [{"a": 1}]}]})"},
      {R"(a = { b = { c = 1 } })", R"({"a": [{"b": {"c": 1}}]})"},
      {R"(a = [{ b = 1 }])", R"({"a": [{"b": 1}]})"},
      {R"(a = var.object)", R"({"a": {"k": "v"}})"},
      {R"(a = local.object)", R"({"a": {"k": "w"}})"},
      {R"(a = {for k, v in var.object : k => v})", R"({"a": {"k": "v"}})"},
      {"dynamic \"mount\" {\n for_each = { x = 1 }\n content {\n o = { n = mount.key }\n }\n }",
       R"({"mount": [{"o": [{"n": "x"}]}]})"},
  };
  const std::string head = "variable \"object\" {\n default = { k = \"v\" }\n}\nlocals {\n object = { k = \"w\" }\n}\n";
  for (const auto& c : cases) {
    SCOPED_TRACE(c.config);
    EXPECT_EQ(json::parse(c.expected), config_of(parse(head + in_task("config {\n" + c.config + "\n}"))));
  }
  // Neither what is not free-form, nor the JSON syntax.
  EXPECT_EQ("b", parse(in_task("env = { A = \"b\" }"))["TaskGroups"][0]["Tasks"][0]["Env"]["A"]);
  EXPECT_EQ(json({{"a", {{"b", 1}}}}),
            config_of(parse(R"({"job": {"j": {"group": {"g": {"task": {"t": {"config": {"a": {"b": 1}}}}}}}}})")));
}

TEST(Jobspec, WhatIsNullInConfigIsNotSet) {
  EXPECT_EQ(json({{"b", {nullptr}}, {"c", json::array({{{"d", nullptr}}})}}),
            config_of(parse(in_task("config {\n a = null\n b = [null]\n c { d = null }\n }"))));
  EXPECT_EQ(json({{"b", 1}}), config_of(parse(R"({"job": {"j": {"group": {"g": {"task": {"t": {
      "config": {"a": null, "b": 1}}}}}}}})")));
}

TEST(Jobspec, OfSeveralComparisonsInAConstraintTheLastOfAnOrderWins) {
  const struct {
    std::string text, operand, left, right;
  } cases[] = {
      {"distinct_hosts = true", "distinct_hosts", "", "true"},
      {"distinct_hosts = false", "distinct_hosts", "", "false"},
      {"version = \"1\"\n regexp = \"a\"", "regexp", "", "a"},
      {"regexp = \"a\"\n semver = \"1\"", "regexp", "", "a"},
      {"regexp = \"a\"\n set_contains = \"\"", "regexp", "", "a"},
      {"set_contains = \"s\"\n regexp = \"a\"", "set_contains", "", "s"},
      {"attribute = \"l\"\n value = 2\n distinct_property = \"p\"", "distinct_property", "p", "2"},
      {"distinct_property = \"p\"\n distinct_hosts = true", "distinct_property", "p", "true"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const json constraint = parse("job \"a\" {\n constraint {\n" + c.text + "\n}\n}")["Constraints"][0];
    EXPECT_EQ(c.operand, constraint["Operand"]);
    EXPECT_EQ(c.left, constraint.value("LTarget", ""));
    EXPECT_EQ(c.right, constraint.value("RTarget", ""));
  }
}

TEST(Jobspec, ScalingPoliciesAreOfTheTypeOfTheirPlace) {
  const auto in_group = [](const std::string& policy) {
    return parse("job \"a\" {\n group \"g\" {\n" + policy + "\n}\n}")["TaskGroups"][0]["Scaling"]["Type"];
  };
  EXPECT_EQ("horizontal", in_group("scaling { max = 3 }"));
  EXPECT_EQ("horizontal", in_group("scaling {\n type = \"horizontal\"\n max = 3\n}"));
  const json policies = parse(in_task(
      "scaling \"cpu\" { max = 900 }\nscaling \"Mem\" { max = 512 }"))["TaskGroups"][0]["Tasks"][0]["ScalingPolicies"];
  EXPECT_EQ("vertical_cpu", policies[0]["Type"]);
  EXPECT_EQ("vertical_mem", policies[1]["Type"]);
}

TEST(Jobspec, ScalingPoliciesThatCannotBeAreRefusedWithTheirPlace) {
  const struct {
    std::string policy, error;
  } of_group[] = {{"scaling { min = 1 }", "job.hcl:3:1: error: block \"scaling\" needs a \"max\""},
                  {"scaling {\n max = 1\n type = \"vertical_cpu\"\n}",
                   "job.hcl:5:9: error: a scaling policy that stands here is of the type \"horizontal\""}},
    of_task[] = {
        {"scaling \"disk\" { max = 1 }", "a task's scaling policy is for \"cpu\" or \"mem\""},
        {"scaling \"cpu\" {\n max = 1\n type = \"vertical_mem\"\n}",
         "a scaling policy that stands here is of the type \"vertical_cpu\""},
        {"scaling \"cpu\" { max = 1 }\nscaling \"cpu\" { max = 2 }", "a task has one scaling policy for \"cpu\""},
        {"scaling \"mem\" { min = 1 }", "block \"scaling\" needs a \"max\""}};
  for (const auto& c : of_group) {
    SCOPED_TRACE(c.policy);
    const std::string error = error_of("job \"a\" {\n group \"g\" {\n" + c.policy + "\n}\n}");
    EXPECT_NE(std::string::npos, error.find(c.error)) << error;
  }
  for (const auto& c : of_task) {
    SCOPED_TRACE(c.policy);
    const std::string error = error_of(in_task(c.policy));
    EXPECT_NE(std::string::npos, error.find(c.error)) << error;
  }
}

// The form that `job run -output` shows and other programs read.
TEST(Jobspec, WhatIsNotSaidIsNullAndWhatTheLanguageMeansIsSaid) {
  const json job = parse(in_task(R"(
    constraint { value = "linux" }
    restart { attempts = 1 }
    artifact { source = "https://example.com/a" }
    template { data = "x" }
    vault { policies = ["p"] }
    resources { cpu = 100 })"));
  for (const char* name : {"Region", "Priority", "Type", "AllAtOnce", "Datacenters", "Stop", "Status", "Version"}) {
    EXPECT_TRUE(job[name].is_null()) << name;
  }
  EXPECT_EQ(false, job["Dispatched"]);
  const json& task = job["TaskGroups"][0]["Tasks"][0];
  EXPECT_TRUE(job["TaskGroups"][0]["Count"].is_null());
  EXPECT_EQ("=", task["Constraints"][0]["Operand"]);
  EXPECT_TRUE(task["RestartPolicy"]["Mode"].is_null());
  EXPECT_TRUE(task["Resources"]["Cores"].is_null());
  EXPECT_TRUE(task["Resources"]["MemoryMB"].is_null());
  EXPECT_TRUE(task["Artifacts"][0]["GetterMode"].is_null());
  EXPECT_TRUE(task["Artifacts"][0]["RelativeDest"].is_null());
  const json& written = task["Templates"][0];
  EXPECT_EQ("restart", written["ChangeMode"]);
  EXPECT_EQ("0644", written["Perms"]);
  EXPECT_EQ(5'000'000'000, written["Splay"]);
  EXPECT_TRUE(written["LeftDelim"].is_null());
  EXPECT_EQ("restart", task["Vault"]["ChangeMode"]);
  EXPECT_EQ(true, task["Vault"]["Env"]);
}

TEST(Jobspec, SeveralErrorsComeAtOnce) {
  const std::string error = error_of("job \"a\" {\n  foo = 1\n  bar = 2\n}");
  EXPECT_NE(std::string::npos, error.find("foo"));
  EXPECT_NE(std::string::npos, error.find("bar"));
}

}  // namespace
}  // namespace drover::jobspec

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

TEST(Jobspec, ATaskAtJobLevelIsAGroup) {
  json job = parse("job \"a\" {\n  task \"t\" { driver = \"raw_exec\" }\n}");
  EXPECT_EQ("t", job["TaskGroups"][0]["Name"]);
  EXPECT_EQ("t", job["TaskGroups"][0]["Tasks"][0]["Name"]);
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
      {"job {}", "job.hcl:1:1", "takes one label"},
      {"jbo \"a\" {}", "job.hcl:1:1", "did you mean \"job\"?"},
      {"", "job.hcl", "holds no job block"},
      {"job \"a\" {\n", "job.hcl", ""},
      {"variable \"v\" {}\njob \"a\" {}", "job.hcl:1:1", "has no value"},
      {"locals {\n a = local.b\n b = local.a\n}\njob \"a\" {}", "job.hcl:2:2", "refers to itself"},
      {"job \"a\" {}\njob \"b\" {}", "job.hcl:2:1", "this is the second"},
  };
  for (const Case& c : cases) {
    const std::string error = error_of(c.source);
    EXPECT_NE(std::string::npos, error.find(c.place)) << error;
    EXPECT_NE(std::string::npos, error.find(c.text)) << error;
  }
}

TEST(Jobspec, SeveralErrorsComeAtOnce) {
  const std::string error = error_of("job \"a\" {\n  foo = 1\n  bar = 2\n}");
  EXPECT_NE(std::string::npos, error.find("foo"));
  EXPECT_NE(std::string::npos, error.find("bar"));
}

}  // namespace
}  // namespace drover::jobspec

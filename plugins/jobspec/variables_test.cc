#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "parse.h"

namespace drover::jobspec {
namespace {

using nlohmann::json;
using Source = JobParser::Assignment::Source;

constexpr std::string_view kFile = R"(
variable "count" {
  type    = number
  default = 1
  validation {
    condition     = var.count < 10
    error_message = "At most nine."
  }
}
variable "names" {
  type    = list(string)
  default = []
}
job "j" {
  meta {
    count = var.count
    names = join("-", var.names)
  }
}
)";

Result<JobParser::Parsed> parse(std::vector<JobParser::Assignment> variables, bool strict = true) {
  return Parser().parse(kFile, {.variables = std::move(variables), .strict = strict});
}

json meta(std::vector<JobParser::Assignment> variables) {
  auto parsed = parse(std::move(variables));
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed ? json::parse(parsed->json)["Meta"] : json();
}

TEST(Variables, ALaterAssignmentWins) {
  EXPECT_EQ("1", meta({})["count"]);
  EXPECT_EQ("2", meta({{Source::environment, "count", "2"}})["count"]);
  EXPECT_EQ("3", meta({{Source::environment, "count", "2"}, {Source::file, "a.hcl", "count = 3"}})["count"]);
  EXPECT_EQ("5", meta({{Source::environment, "count", "2"},
                       {Source::file, "a.hcl", "count = 3"},
                       {Source::file, "b.json", R"({"count": "4"})"},
                       {Source::command_line, "count", "5"}})["count"]);
}

TEST(Variables, AListComesAsAnExpression) {
  EXPECT_EQ("a-1", meta({{Source::command_line, "names", R"(["a", 1])"}})["names"]);
  EXPECT_EQ("x", meta({{Source::environment, "names", R"(["x"])"}})["names"]);
}

// Evaluates `variable "v" { DECLARATION }`, given `text` from outside.
std::string value_of(const std::string& declaration, const std::string& text) {
  const std::string file = "variable \"v\" {\n" + declaration + "\n}\njob \"j\" {\n name = jsonencode(var.v)\n}\n";
  auto parsed = Parser().parse(file, {.variables = {{Source::command_line, "v", text}}});
  return parsed ? json::parse(parsed->json)["Name"].get<std::string>() : parsed.status().message();
}

TEST(Variables, OnlyStringsNumbersAndWhatDeclaresNothingAreTakenAsTheyStand) {
  const struct {
    const char *declaration, *text, *expected;
  } cases[] = {
      {"", "{a=2}", "\"{a=2}\""},
      {"type = string", "{a=2}", "\"{a=2}\""},
      {"default = \"x\"", "1", "\"1\""},
      {"type = number", "1", "1"},
      {"default = 3", "1", "1"},
      {"type = bool", "true", "true"},
      {"default = false", "true", "true"},
      {"default = { a = 1 }", "{a=2}", "{\"a\":2}"},
      {"default = [1]", "[2, 3]", "[2,3]"},
      {"default = null", "[2]", "[2]"},
      {"type = any", "{a=2}", "{\"a\":2}"},
      {"type = any", "5", "5"},
      {"type = any\n default = \"x\"", "\"y\"", "\"y\""},
      {"type = map(string)", "{a=2}", "{\"a\":\"2\"}"},
  };
  for (const auto& c : cases) EXPECT_EQ(c.expected, value_of(c.declaration, c.text)) << c.declaration;
  EXPECT_NE(std::string::npos, value_of("type = any", "y").find("-var v:1:1: error"));
  EXPECT_NE(std::string::npos, value_of("", "\xff").find("not UTF-8"));
}

TEST(Variables, ProblemsNameTheirPlace) {
  struct Case {
    JobParser::Assignment assignment;
    const char* problem;
  } cases[] = {
      {{Source::command_line, "cuont", "1"},
       "-var cuont: the file declares no variable \"cuont\"; did you mean \"count\"?"},
      {{Source::command_line, "count", "x"}, "-var count: number required, not string"},
      {{Source::environment, "count", "x"}, "NOMAD_VAR_count: number required, not string"},
      {{Source::command_line, "names", "["}, "-var names:1:2: error"},
      {{Source::command_line, "names", "{}"}, "-var names: list(string) required, not object"},
      {{Source::file, "v.hcl", "cuont = 1"}, "v.hcl:1:1: error: the file declares no variable \"cuont\""},
      {{Source::file, "v.hcl", "count = [1]"}, "v.hcl: count: number required, not list"},
      {{Source::file, "v.hcl", "x {\n}"}, "v.hcl:1:1: error: a variable file holds only arguments"},
      {{Source::file, "v.hcl", "count = "}, "v.hcl:1:9: error"},
      {{Source::command_line, "count", "12"}, "invalid value for variable \"count\": At most nine."},
  };
  for (const Case& c : cases) {
    auto parsed = parse({c.assignment});
    ASSERT_FALSE(parsed.ok()) << c.problem;
    EXPECT_NE(std::string::npos, parsed.status().message().find(c.problem)) << parsed.status().message();
  }
}

TEST(Variables, AnUndeclaredOneIsIgnoredInTheEnvironmentAndAWarningInALaxFile) {
  EXPECT_TRUE(parse({{Source::environment, "other", "1"}}).ok());
  auto parsed = parse({{Source::file, "v.hcl", "other = 1"}}, false);
  ASSERT_TRUE(parsed.ok()) << parsed.status().message();
  ASSERT_EQ(1u, parsed->warnings.size());
  EXPECT_EQ("v.hcl: the file declares no variable \"other\"", parsed->warnings[0]);
}

TEST(Variables, DeclarationsAreChecked) {
  struct Case {
    const char *file, *problem;
  } cases[] = {
      {"variable \"v\" {\n  type = strng\n}", "there is no type named \"strng\""},
      {"variable \"v\" {\n  type = number\n  default = \"x\"\n}", "the default is not of the variable's type"},
      {"variable \"v\" {\n  defualt = 1\n}", "did you mean \"default\"?"},
      {"variable \"v\" {\n  validation {\n  }\n}", "needs the argument \"condition\""},
      {"variable \"v\" {\n  default = 1\n}\nvariables {\n  v = 2\n}", "declared twice"},
      {"variable {\n}", "takes one label"},
      {"locals {\n  b {\n  }\n}", "only arguments may stand in block \"locals\""},
  };
  for (const Case& c : cases) {
    auto parsed = Parser().parse(std::string(c.file) + "\njob \"j\" {\n}\n", {});
    ASSERT_FALSE(parsed.ok()) << c.file;
    EXPECT_NE(std::string::npos, parsed.status().message().find(c.problem)) << parsed.status().message();
  }
}

TEST(Variables, WithoutAFolderFileFunctionsAreOff) {
  auto parsed = Parser().parse("job \"j\" {\n  name = file(\"/etc/passwd\")\n}\n", {});
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(std::string::npos, parsed.status().message().find("filesystem function disabled"));
}

}  // namespace
}  // namespace drover::jobspec

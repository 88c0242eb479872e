// Our templates beside Go's text/template: the same text, or an error in both. The reference is built from
// reference.go; without Go the test skips and says so.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "drover/text_template.h"

namespace drover::text_template {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr size_t kGenerated = 4000;

const json& object() {
  static const json kObject = json::parse(R"({
    "ID": "web", "Name": "a <b> & 'c' \"d\" = é\n", "Empty": "", "Priority": 50, "Zero": 0, "Minus": -7, "Big": 1234567890123,
    "Ratio": 0.5, "Half": -2.5, "Large": 1.5e25, "Tiny": 1e-7, "Yes": true, "No": false, "Null": null,
    "List": ["a", "b", "c"], "Numbers": [3, 1, 2], "Mixed": [1, "x", null, 2.5, true, ["y"], {"k": "v"}], "None": [],
    "Map": {"b": "2", "a": "1", "c d": "3"}, "NoMap": {},
    "Groups": [{"Name": "app", "Count": 3, "Tasks": [{"Name": "one", "Env": {"A": "1"}}, {"Name": "two", "Env": null}]},
               {"Name": "db", "Count": 1, "Tasks": []}]})");
  return kObject;
}

// The known differences, and why. The test fails when one of them stops differing.
const std::map<std::string, std::string>& known_differences() {
  static const std::map<std::string, std::string> kKnown = {
      {"{{.ID | }}", "a pipe that leads nowhere is an error here"},
  };
  return kKnown;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

json ours(const std::string& text) {
  auto form = Template::parse(text);
  if (!form) return {{"error", form.status().message()}};
  auto out = form->run(object());
  if (!out) return {{"error", out.status().message()}};
  return {{"text", *out}};
}

std::vector<json> theirs(const std::vector<std::string>& templates) {
  fs::path folder = REFERENCE_FOLDER;
  std::ofstream input(folder / "questions");
  input << object().dump() << '\n';
  for (const std::string& text : templates)
    input << json(text).dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
  input.close();
  EXPECT_EQ(0, std::system(("cd '" + folder.string() + "' && ./reference < questions > answers").c_str()));
  std::ifstream output(folder / "answers");
  std::vector<json> answers;
  for (std::string line; std::getline(output, line);) answers.push_back(json::parse(line, nullptr, false));
  EXPECT_EQ(templates.size(), answers.size());
  answers.resize(templates.size());
  return answers;
}

class TemplateDifferential : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("go version > /dev/null 2>&1") != 0) {
      GTEST_SKIP() << "the reference cannot be built: install the Debian package golang-go";
    }
    std::string build = "cd '" REFERENCE_FOLDER
                        "' && GO111MODULE=off GOFLAGS=-p=1 GOCACHE=\"$PWD/go-cache\" "
                        "go build -o reference '" TABLES "/reference.go' > go-build.log 2>&1";
    ASSERT_EQ(0, std::system(build.c_str())) << read_file(fs::path(REFERENCE_FOLDER) / "go-build.log");
  }

  static void compare(const std::vector<std::string>& templates) {
    std::vector<json> answers = theirs(templates);
    for (size_t i = 0; i < templates.size(); ++i) {
      json own = ours(templates[i]);
      bool agree = own.contains("text") && answers[i].contains("text")
                       ? own == answers[i]
                       : own.contains("text") == answers[i].contains("text");
      bool is_known = known_differences().contains(templates[i]);
      EXPECT_NE(agree, is_known) << templates[i] << "\n  here:      " << own << "\n  reference: " << answers[i]
                                 << (is_known ? "\n  listed as a difference, and no longer one" : "");
    }
  }
};

TEST_F(TemplateDifferential, TemplatesOfTheTable) {
  std::vector<std::string> templates;
  std::string table = read_file(TABLES "/templates.txt");
  for (size_t begin = 0; begin < table.size();) {
    size_t end = std::min(table.find('\n', begin), table.size());
    std::string line = table.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty() || line.starts_with("# ")) continue;
    for (size_t at = 0; (at = line.find("¶", at)) != std::string::npos; ++at) line.replace(at, 2, "\n");
    templates.push_back(line);
  }
  ASSERT_GE(templates.size(), 200u);

  compare(templates);
}

// Formats of printf at random: every verb with every flag over every kind of value.
TEST_F(TemplateDifferential, FormatsAtRandom) {
  std::mt19937_64 random(20261122);
  auto one_of = [&](auto&... choices) {
    std::string_view all[] = {choices...};
    return std::string(all[random() % std::size(all)]);
  };
  std::vector<std::string> templates;
  for (size_t i = 0; i < kGenerated; ++i) {
    std::string flags, width = random() % 2 ? std::to_string(random() % 12) : "";
    if (width == "0") width.clear();
    for (char flag : std::string_view("+-# 0")) {
      if (random() % 5 == 0) flags += flag;
    }
    std::string precision = random() % 3 ? "" : "." + std::to_string(random() % 8);
    std::string verb =
        one_of("v", "d", "s", "q", "x", "X", "o", "O", "b", "c", "U", "t", "e", "E", "f", "F", "g", "G", "T", "z");
    std::string value = one_of(".ID", ".Priority", ".Zero", ".Minus", ".Big", ".Ratio", ".Half", ".Large", ".Tiny",
                               ".Yes", ".Null", ".List", ".Numbers", ".Map", ".Name", ".Empty", "65", "1e6", "'x'");
    bool is_real = value == ".Ratio" || value == ".Half" || value == ".Large" || value == ".Tiny" || value == "1e6";
    // Left out here: the binary and hexadecimal forms of fractions, # for fractions, and Go's own syntax.
    if (is_real &&
        (std::string_view("bxX").find(verb[0]) != std::string_view::npos || flags.find('#') != std::string::npos))
      continue;
    if (verb == "v" && flags.find('#') != std::string::npos) continue;
    templates.push_back("{{printf \"[%" + flags + width + precision + verb + "]\" " + value + "}}");
  }

  compare(templates);
}

}  // namespace
}  // namespace drover::text_template

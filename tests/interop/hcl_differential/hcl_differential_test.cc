// Our evaluation of HCL beside the Go implementation's: the same value, or an error in both. The reference is built
// from reference.go with Debian's packages; without them the test skips and says so.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "drover/hcl.h"
#include "generator.h"
#include "gtest/gtest.h"

namespace drover::hcl::differential {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHclPackage = "/usr/share/gocode/src/github.com/hashicorp/hcl/v2";
constexpr const char* kYamlPackage = "/usr/share/gocode/src/github.com/zclconf/go-cty-yaml";
constexpr uint64_t kSeed = 20261121;
constexpr size_t kGenerated = 3000;

struct Question {
  std::string kind;
  std::string text;
};

struct Answer {
  std::optional<Value> value;
  std::string error;
};

// The known differences, by the text of the question, and why. The test fails when one of them stops differing.
const std::map<std::string, std::string>& known_differences() {
  static const std::map<std::string, std::string> kKnown = {
      {"1 % 0", "the remainder of a division by zero is the dividend there and an error here"},
      {"true || \"x\"", "&& and || look at the right side only when it matters, as later versions do"},
      {"length({a = 1})", "an object has a length as a map has"},
      {"[1] == tolist([1])", "equality looks at the elements, not at whether they stand in a tuple or a list"},
      {"element([\"a\", \"b\"], -1)", "a negative index counts from the end, as in later versions"},
      {"a = [for x in y : x if -x]\n", "the reference takes a sign behind a word for a subtraction"},
  };
  return kKnown;
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// ---- our side

EvalContext context() {
  EvalContext context;
  context.functions = standard_functions();
  auto& v = context.variables;
  v["n"] = 5;
  v["f"] = *Number::real(2.5);
  v["s"] = "text";
  v["t"] = true;
  v["e"] = "";
  v["l"] = List{"a", "b", "c"};
  v["o"] = Object{{"x", 1}, {"y", "two"}};
  v["d"] = List{Object{{"id", "i1"}, {"v", 10}}, Object{{"id", "i2"}, {"v", 20}}};
  return context;
}

Value value_of(const Node& node) {
  Object attributes;
  for (const auto& [name, attribute] : node.attributes) attributes.emplace(name, attribute.value);
  List blocks;
  for (const NodeBlock& block : node.blocks) {
    List labels(block.labels.begin(), block.labels.end());
    blocks.push_back(Object{{"type", block.type}, {"labels", std::move(labels)}, {"body", value_of(block.body)}});
  }
  return Object{{"attributes", std::move(attributes)}, {"blocks", std::move(blocks)}};
}

Answer ours(const Question& question) {
  static const EvalContext kContext = context();
  Diagnostics diagnostics;
  Answer answer;
  if (question.kind == "format") {
    Result<std::string> formatted = format("t", question.text);
    return formatted ? Answer{Value(*formatted), ""} : Answer{std::nullopt, formatted.status().message()};
  }
  if (question.kind == "body") {
    File file = parse("t", question.text, diagnostics);
    answer.value = value_of(evaluate(file.body, kContext, diagnostics));
  } else {
    answer.value = evaluate(parse_expression("t", question.text, diagnostics), kContext, diagnostics);
  }
  if (!diagnostics.has_errors()) return answer;
  return {std::nullopt, diagnostics[0].message};
}

// ---- the reference

std::vector<Answer> theirs(const std::vector<Question>& questions) {
  fs::path folder = REFERENCE_FOLDER;
  std::ofstream input(folder / "questions");
  for (const Question& question : questions) {
    input << to_json(Object{{"kind", question.kind}, {"text", question.text}}) << '\n';
  }
  input.close();
  std::string run = "cd '" + folder.string() + "' && ./reference < questions > answers";
  EXPECT_EQ(0, std::system(run.c_str()));
  std::ifstream output(folder / "answers");
  std::vector<Answer> answers;
  for (std::string line; std::getline(output, line);) {
    Result<Value> answer = from_json(line);
    if (!answer) {
      answers.push_back({std::nullopt, "not JSON: " + line});
    } else if (const Value* value = answer->find("value")) {
      answers.push_back({*value, ""});
    } else {
      const Value* error = answer->find("error");
      answers.push_back({std::nullopt, error ? error->string() : "null"});
      if (!error) answers.back().value = Value();  // a null is left out by the encoder
    }
  }
  EXPECT_EQ(questions.size(), answers.size());
  answers.resize(questions.size());
  return answers;
}

// The reference's numbers were read from its text, with 512 bits; so are ours.
bool is_same(const Value& own, const Value& theirs) { return to_json(*from_json(to_json(own))) == to_json(theirs); }

std::string describe(const Answer& answer) {
  return answer.value ? to_json(*answer.value) : "error: " + answer.error.substr(0, 300);
}

class HclDifferential : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!missing().empty()) return;
    std::string build = "cd '" + std::string(REFERENCE_FOLDER) +
                        "' && GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS=-p=1 GOCACHE=\"$PWD/go-cache\" "
                        "go build -o reference '" TABLES "/reference.go' > go-build.log 2>&1";
    is_built_ = std::system(build.c_str()) == 0;
    if (!is_built_) problem_ = read_file(fs::path(REFERENCE_FOLDER) / "go-build.log");
  }
  void SetUp() override {
    if (!missing().empty())
      GTEST_SKIP() << "the reference cannot be built: install the Debian package " << missing();
    ASSERT_TRUE(is_built_) << problem_;
  }
  static std::string missing() {
    if (std::system("go version > /dev/null 2>&1") != 0) return "golang-go";
    if (!fs::exists(kHclPackage)) return "golang-github-hashicorp-hcl-v2-dev";
    if (!fs::exists(kYamlPackage)) return "golang-github-zclconf-go-cty-yaml-dev";
    return {};
  }

  void compare(const std::vector<Question>& questions) {
    std::vector<Answer> answers = theirs(questions);
    for (size_t i = 0; i < questions.size(); ++i) {
      Answer own = ours(questions[i]);
      bool agree = own.value && answers[i].value ? is_same(*own.value, *answers[i].value)
                                                 : own.value.has_value() == answers[i].value.has_value();
      bool is_known = known_differences().contains(questions[i].text);
      EXPECT_NE(agree, is_known) << questions[i].text << "\n  here:      " << describe(own)
                                 << "\n  reference: " << describe(answers[i])
                                 << (is_known ? "\n  listed as a difference, and no longer one" : "");
    }
  }

 private:
  static inline bool is_built_ = false;
  static inline std::string problem_;
};

TEST_F(HclDifferential, ExpressionsOfTheTable) {
  std::vector<Question> questions;
  std::ifstream table(TABLES "/expressions.txt");
  for (std::string line; std::getline(table, line);) {
    if (!line.empty() && !line.starts_with("# ")) questions.push_back({"expression", line});
  }
  ASSERT_GE(questions.size(), 300u);

  compare(questions);
}

std::vector<Question> from_table(const char* path, const std::string& kind) {
  std::string table = read_file(path);
  std::vector<Question> questions;
  for (size_t begin = 0; begin < table.size();) {
    size_t end = std::min(table.find("===\n", begin), table.size());
    questions.push_back({kind, table.substr(begin, end - begin)});
    begin = end + 4;
  }
  return questions;
}

TEST_F(HclDifferential, LayoutOfTheTable) {
  std::vector<Question> questions = from_table(TABLES "/layouts.txt", "format");
  ASSERT_GE(questions.size(), 25u);

  compare(questions);
}

TEST_F(HclDifferential, BodiesOfTheTable) {
  std::vector<Question> questions = from_table(TABLES "/bodies.txt", "body");
  ASSERT_GE(questions.size(), 30u);

  compare(questions);
}

TEST_F(HclDifferential, GeneratedExpressions) {
  Generator generator(kSeed);
  std::vector<Question> questions;
  for (size_t i = 0; i < kGenerated; ++i) questions.push_back({"expression", generator.expression(3)});

  compare(questions);
}

TEST_F(HclDifferential, GeneratedArithmetic) {
  Generator generator(kSeed);
  std::vector<Question> questions;
  for (size_t i = 0; i < kGenerated; ++i) questions.push_back({"expression", generator.arithmetic(3)});

  compare(questions);
}

}  // namespace
}  // namespace drover::hcl::differential

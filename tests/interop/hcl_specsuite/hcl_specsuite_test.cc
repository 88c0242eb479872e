// HCL's own test suite, read in place from Debian's golang-github-hashicorp-hcl-v2-dev: every case there is a file, a
// specification that decodes it, and what must come out: a value, or the places of the errors.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "decoder.h"
#include "drover/hcl_type.h"
#include "gtest/gtest.h"

namespace drover::hcl::specsuite {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSuite = "/usr/share/gocode/src/github.com/hashicorp/hcl/v2/specsuite/tests";

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Numbers here are doubles where the suite's own have 512 bits, so they are compared to fifteen digits.
bool is_same(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    double x = a.number().as_double(), y = b.number().as_double();
    return std::abs(x - y) <= 1e-15 * std::max(std::abs(x), std::abs(y));
  }
  if (a.kind() != b.kind()) return false;
  if (a.is_list()) {
    return std::equal(a.list().begin(), a.list().end(), b.list().begin(), b.list().end(), is_same);
  }
  if (a.is_object()) {
    return std::equal(a.object().begin(), a.object().end(), b.object().begin(), b.object().end(),
                      [](const auto& x, const auto& y) { return x.first == y.first && is_same(x.second, y.second); });
  }
  return a == b;
}

std::string place(const Position& p) {
  return std::to_string(p.line) + ":" + std::to_string(p.column) + "/" + std::to_string(p.byte);
}

Position position_of(const Body& body) {
  auto number = [&](std::string_view name) {
    const Attribute* attribute = body.find(name);
    Diagnostics ignored;
    return attribute ? as_integer(evaluate(attribute->expression, {}, ignored)).value_or(-1) : -1;
  };
  return {static_cast<int>(number("line")), static_cast<int>(number("column")), static_cast<size_t>(number("byte"))};
}

struct Expectation {
  std::optional<Value> result;
  std::vector<std::string> errors;  // "from-to" of each
};

Expectation read_expectation(const fs::path& path) {
  Diagnostics diagnostics;
  File file = parse(path.string(), read_file(path), diagnostics);
  Expectation expected;
  if (const Attribute* result = file.body.find("result")) {
    expected.result = evaluate(result->expression, {}, diagnostics);
    if (const Attribute* type_text = file.body.find("result_type")) {
      std::optional<Type> type = parse_type(type_text->expression, diagnostics);
      if (type) expected.result = convert(*expected.result, *type).value_or(Value("not of its own type"));
    }
  }
  for (const Block& block : file.body.blocks) {
    if (block.type != "diagnostics") continue;
    for (const Block& error : block.body.blocks) {
      Position from, to;
      for (const Block& end : error.body.blocks) (end.type == "from" ? from : to) = position_of(end.body);
      expected.errors.push_back(place(from) + "-" + place(to));
    }
  }
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.status().message();
  return expected;
}

void run_case(const fs::path& input, const fs::path& specification_path, const Expectation& expected) {
  SCOPED_TRACE(input.string());
  Diagnostics specification_problems, diagnostics;
  File specification = parse(specification_path.string(), read_file(specification_path), specification_problems);
  ASSERT_FALSE(specification_problems.has_errors()) << specification_problems.status().message();
  std::string text = read_file(input);
  File file = looks_like_json(text) ? from_json_body(
                                          "input", text, [](auto, auto) { return std::nullopt; }, diagnostics)
                                    : parse("input", text, diagnostics);
  std::optional<Value> value;
  if (!diagnostics.has_errors()) value = decode(specification.body, file.body, diagnostics);
  std::vector<std::string> errors;
  for (const Diagnostic& problem : diagnostics) {
    errors.push_back(place(problem.range.start) + "-" + place(problem.range.end));
  }
  EXPECT_EQ(expected.errors, errors) << diagnostics.render(*file.source);
  if (expected.result && value) {
    EXPECT_TRUE(is_same(*expected.result, *value)) << to_json(*expected.result) << "\n" << to_json(*value);
  } else if (expected.result) {
    ADD_FAILURE() << "no value; expected " << to_json(*expected.result);
  }
}

TEST(HclSpecSuite, EveryCasePasses) {
  if (!fs::exists(kSuite)) {
    GTEST_SKIP() << "HCL's test suite is not here: install the Debian package golang-github-hashicorp-hcl-v2-dev";
  }
  int cases = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kSuite)) {
    if (entry.path().extension() != ".t") continue;
    Expectation expected = read_expectation(entry.path());
    for (const char* ending : {".hcl", ".hcl.json"}) {
      fs::path input = entry.path().parent_path() / (entry.path().stem().string() + ending);
      if (!fs::exists(input)) continue;
      fs::path specification = entry.path().parent_path() / (entry.path().stem().string() + ".hcldec");
      run_case(input, specification, expected);
      ++cases;
    }
  }
  EXPECT_GE(cases, 14) << "the suite has shrunk, or was not found in full";
}

}  // namespace
}  // namespace drover::hcl::specsuite

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "drover/hcl.h"

namespace drover::hcl {
namespace {

Value random_value(std::mt19937_64& random, int depth) {
  switch (random() % (depth > 0 ? 7 : 5)) {
    case 0:
      return {};
    case 1:
      return random() % 2 == 0;
    case 2:
      return static_cast<int64_t>(random()) >> (random() % 64);
    case 3:
      return *Number::real(
          std::ldexp(static_cast<double>(static_cast<int64_t>(random())), static_cast<int>(random() % 600) - 300));
    case 4: {
      std::string text(random() % 6, ' ');
      for (char& c : text) c = static_cast<char>(random() % 128);
      return text + (random() % 2 ? "é\"\\" : "");
    }
    case 5: {
      List list;
      for (size_t i = random() % 4; i > 0; --i) list.push_back(random_value(random, depth - 1));
      return list;
    }
    default: {
      Object object;
      for (size_t i = random() % 4; i > 0; --i) object[std::to_string(random() % 9)] = random_value(random, depth - 1);
      return object;
    }
  }
}

TEST(Json, ValueSurvivesText) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 3000; ++i) {
    Value value = random_value(random, 4);
    for (JsonEscapes escapes : {JsonEscapes::minimal, JsonEscapes::html_safe}) {
      std::string text = to_json(value, escapes);
      Result<Value> back = from_json(text);
      ASSERT_TRUE(back.ok()) << text << back.status().message();
      ASSERT_EQ(value, *back) << text;
    }
  }
}

TEST(Json, Numbers) {
  EXPECT_EQ("1", Number::parse("1.0")->to_string());
  EXPECT_EQ("-0.25", Number::parse("-2.5e-1")->to_string());
  EXPECT_EQ("1000000000000000000000", Number::parse("1e21")->to_string());
  EXPECT_EQ("9223372036854775807", Number::parse("9223372036854775807")->to_string());
  EXPECT_EQ("9223372036854775808", Number::parse("9223372036854775808")->to_string());
  for (const char* text : {"1e9999", "1e-9999", "", "-", "1.", ".5", "1e", "0x1", " 1", "1 ", "inf", "nan"}) {
    EXPECT_FALSE(Number::parse(text).has_value()) << text;
  }
  EXPECT_LT(Number::integer(9007199254740993), *Number::parse("9007199254740993.5e3"));
}

TEST(Json, Errors) {
  struct Case {
    const char* text;
    const char* problem;
  } cases[] = {
      {"", "JSON:1:1: error: the JSON text ends too early"},
      {"{\"a\": 1,\n \"b\" 2}", "JSON:2:6: error: expected : behind the name of a property"},
      {"[1 2]", "JSON:1:4: error: expected , or ] in this array"},
      {"{} x", "JSON:1:4: error: expected the end of the JSON text"},
      {"\"a", "JSON:1:3: error: this string has no closing quote"},
      {"\"\\x\"", "JSON:1:2: error: this escape is not known in JSON"},
      {"1.2.3", "JSON:1:1: error: \"1.2.3\" is not a JSON number"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(c.problem, from_json(c.text).status().message());
  }
  EXPECT_EQ(Value("\xf0\x9f\x98\x80"), *from_json("\"\\ud83d\\ude00\""));
}

std::optional<size_t> labels(std::span<const std::string> path, std::string_view name) {
  if (path.empty() && name == "job") return 1;
  if (path.size() == 1 && name == "group") return 1;
  if (name == "meta") return 0;
  return std::nullopt;
}

TEST(Json, BodyIsTheSameTreeAsNativeSyntax) {
  const char* json =
      "{\n \"//\": \"a comment\",\n \"job\": {\"web\": {\n  \"n\": \"x${1 + 1}\",\n"
      "  \"group\": [{\"a\": {\"k\": {\"l\": [true]}}}, {\"b\": {}}],\n  \"meta\": [{}, {\"m\": null}]}}}";
  Diagnostics diagnostics;
  File file = from_json_body("t.json", json, labels, diagnostics);
  Node node = evaluate(file.body, {}, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render(*file.source);
  const NodeBlock& job = node.blocks.at(0);
  EXPECT_EQ(std::vector<std::string>{"web"}, job.labels);
  EXPECT_EQ(Value("x2"), *job.body.find("n"));
  EXPECT_EQ(4, job.body.attributes.at("n").range.start.line);
  ASSERT_EQ(4u, job.body.blocks.size());
  EXPECT_EQ(std::vector<std::string>{"b"}, job.body.blocks[1].labels);
  EXPECT_EQ("{\"l\":[true]}", to_json(*job.body.blocks[0].body.find("k")));
}

TEST(Json, BodyErrorsHaveTheirPlaceInTheFile) {
  Diagnostics diagnostics;
  File file =
      from_json_body("t.json", "{\"a\": 1,\n \"b\": \"é ${nope}\",\n \"job\": 3,\n \"a\": 2}", labels, diagnostics);
  evaluate(file.body, {}, diagnostics);
  ASSERT_EQ(3u, diagnostics.size());
  EXPECT_EQ("t.json:3:9: error: the block job is an object with its labels as names", diagnostics[0].to_string());
  EXPECT_EQ("t.json:4:2: error: the attribute a is set twice (it is set first on line 1)", diagnostics[1].to_string());
  EXPECT_EQ("t.json:2:12: error: there is no variable named \"nope\"", diagnostics[2].to_string());
}

}  // namespace
}  // namespace drover::hcl

// Hostile input ends in a clear error: depth, size and work are bounded.
#include <gtest/gtest.h>

#include <random>

#include "drover/hcl.h"

void fuzz_hcl_lexer(std::string_view text);  // of tests/fuzz
void fuzz_hcl_parser(std::string_view input);
void fuzz_hcl_evaluator(std::string_view input);
void fuzz_hcl_json(std::string_view input);
void fuzz_agent_config(std::string_view input);

namespace drover::hcl {
namespace {

std::string repeat(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::string first_problem(const std::string& text) {
  Diagnostics diagnostics;
  EvalContext context;
  context.functions = standard_functions();
  context.variables["a"] = 1;
  File file = parse("t", text, diagnostics);
  evaluate(file.body, context, diagnostics);
  return diagnostics.has_errors() ? diagnostics[0].message : "";
}

TEST(Limits, DeepNesting) {
  const size_t n = 100'000;
  const std::string too_deep = "this is nested more than 200 levels deep";
  EXPECT_EQ(too_deep, first_problem("x = " + repeat("[", n)));
  EXPECT_EQ(too_deep, first_problem("x = " + repeat("(", n)));
  EXPECT_EQ(too_deep, first_problem("x = " + repeat("{a=", n)));
  EXPECT_EQ(too_deep, first_problem("x = " + repeat("-", n) + "1"));
  EXPECT_EQ(too_deep, first_problem("x = " + repeat("!", n) + "true"));
  EXPECT_EQ(too_deep, first_problem("x = " + repeat("true ? 1 : ", n) + "1"));
  EXPECT_EQ(too_deep, first_problem("x = " + repeat("f(", n)));
  EXPECT_EQ(too_deep, first_problem("x = a" + repeat("[*]", n)));
  EXPECT_EQ(too_deep, first_problem("x = a" + repeat("[a", n)));
  EXPECT_EQ(too_deep, first_problem(repeat("b {\n", n)));
  EXPECT_EQ(too_deep, first_problem("x = \"" + repeat("%{if true}", n) + "\""));
  EXPECT_EQ("templates are nested more than 200 levels deep", first_problem("x = " + repeat("\"${", n)));
}

TEST(Limits, LongChains) {
  const size_t n = 100'000;
  const std::string too_long = "this expression has more than 1000 operations inside one another";
  EXPECT_EQ(too_long, first_problem("x = 1" + repeat(" + 1", n)));
  EXPECT_EQ(too_long, first_problem("x = [1]" + repeat("[0]", n)));
  EXPECT_EQ(too_long, first_problem("x = {}" + repeat(".a", n)));
  EXPECT_EQ("", first_problem("x = 1" + repeat(" + 1", 900)));
  EXPECT_EQ("", first_problem("x = " + repeat("[", 150) + repeat("]", 150)));
}

TEST(Limits, WorkAndSize) {
  std::string loops = "x = [for a in range(1000) : [for b in range(1000) : [for c in range(1000) : 1]]]";
  EXPECT_EQ("evaluating this takes more than 2000000 steps", first_problem(loops));
  EXPECT_EQ("the text is larger than 16 MiB", first_problem(std::string(kMaxSourceBytes + 1, '\n')));
  EXPECT_FALSE(from_json(repeat("[", 100'000)).ok());
  std::string doubling =
      "x = join(\"\", [for a in range(1000) : join(\"\", [for b in range(1000) : \"" + repeat("y", 1000) + "\"])])";
  EXPECT_NE("", first_problem(doubling));
}

// The size of what has been built so far counts, not the final result.
TEST(Limits, FunctionsStopWhileTheyBuild) {
  const std::string column(900'000, 'c');
  EXPECT_EQ("csvdecode: the result is too large",
            first_problem("x = csvdecode(\"" + column + "\\n" + repeat("1\\n", 5000) + "\")"));
  EXPECT_EQ("split: the result is too large", first_problem("x = split(\"\", \"" + repeat("y", 8 << 20) + "\")"));
  EXPECT_EQ("split: the result is too large", first_problem("x = split(\",\", \"" + repeat(",", 8 << 20) + "\")"));
  EXPECT_EQ("setproduct: the result is too large",
            first_problem("x = setproduct(" + repeat("[1], ", 1000) + "range(1000), range(10))"));
  EXPECT_EQ("setproduct: the result is too large",
            first_problem("x = setproduct([\"" + std::string(1 << 20, 'y') + "\"], range(1000))"));
}

TEST(Limits, SearchingAgainAndAgain) {
  const std::string text = repeat("yx", 10'000);
  EXPECT_EQ("regex_replace: the text is too long for so many matches",
            first_problem("x = regex_replace(\"" + text + "\", \"x\", \"z\")"));
  EXPECT_EQ("", first_problem("x = regex_replace(\"" + repeat(text, 50) + "\", \"q\", \"z\")"));
}

// Each of these looks at a large value a million times.
TEST(Limits, WhatIsWalkedIsCharged) {
  const std::string too_long = "evaluating this takes more than 2000000 steps";
  const std::string big = "[for n in range(1000) : [for i in range(1000) : ";
  const auto problem_with_list = [&](const std::string& expression) {
    Diagnostics diagnostics;
    EvalContext context;
    context.functions = standard_functions();
    List list;
    Object object;
    for (int i = 0; i < 300'000; ++i) list.push_back(i);
    for (int i = 0; i < 30'000; ++i) object["key" + std::to_string(i)] = i;
    context.variables["list"] = Value(std::move(list));
    context.variables["object"] = Value(std::move(object));
    evaluate(parse_expression("t", big + expression + "]]", diagnostics), context, diagnostics);
    return diagnostics.has_errors() ? diagnostics[0].message : "";
  };
  EXPECT_EQ(too_long, problem_with_list("(true ? list : list) == null"));
  EXPECT_EQ(too_long, problem_with_list("(true ? object : {a = \"x\"}) == null"));
  EXPECT_EQ(too_long, problem_with_list("can(list[*].x)"));
  EXPECT_EQ(too_long, problem_with_list("try(list) == null"));
  EXPECT_EQ(too_long, problem_with_list("null == list"));
  EXPECT_EQ(too_long, problem_with_list("[can(object.kye1), can(object[\"kye1\"]), can(obejct)]"));
  EXPECT_EQ(too_long, problem_with_list("can(yamldecode(\"a: &a [1,1,1,1,1,1,1,1]\\nb: &b [" + repeat("*a,", 60) +
                                        "]\\nc: [" + repeat("*b,", 60) + "]\"))"));
}

// The results of a condition whose types take the longest to be brought together.
TEST(Limits, TypesInsideTypes) {
  const std::string tuples = repeat("[", 90) + "1" + repeat("]", 90);
  const std::string mixed = repeat("[", 90) + "1, \"x\"" + repeat("]", 90);
  const std::string lists = repeat("tolist([", 90) + "1" + repeat("])", 90);
  const std::string objects = repeat("{a = ", 90) + "1" + repeat("}", 90);
  const std::string maps = repeat("tomap({b = ", 90) + "\"x\"" + repeat("})", 90);
  const std::string wide = "{for i in range(900) : i => {for j in range(100) : \"${i}.${j}\" => j}}";
  for (const std::string& text :
       {"true ? " + mixed + " : " + lists, "true ? " + lists + " : " + mixed, "true ? " + objects + " : " + maps,
        "true ? [" + tuples + ", " + lists + ", []] : [" + mixed + "]", "true ? " + wide + " : {a = {b = \"x\"}}"}) {
    EXPECT_EQ("", first_problem("x = " + text)) << text;
  }
  EXPECT_NE("", first_problem("x = true ? {for i in range(1000) : i => {for j in range(100) : j => i}} : {}"));
}

TEST(Limits, FractionsCostWhatTheyTake) {
  std::string prints = "x = [for a in range(1000) : [for b in range(1000) : \"${1 / 3}\"]]";
  std::string joins = "x = [for a in range(1000) : join(\",\", [for b in range(1000) : 1e-1000])]";
  std::string grows = "x = format(\"%1000d\", " + repeat("pow(2, 300) * ", 20) + "1)";
  for (const std::string& text : {prints, joins, grows}) EXPECT_NE("", first_problem(text)) << text;
}

TEST(Limits, ManyProblemsAreCutOff) {
  Diagnostics diagnostics;
  parse("t", repeat("= 1\n", 1000), diagnostics);
  EXPECT_EQ(kMaxDiagnostics + 1, diagnostics.size());
  EXPECT_EQ("more problems were found and are not listed", diagnostics[kMaxDiagnostics].message);
}

TEST(Limits, MutatedInputsNeverCrash) {
  const std::string corpus[] = {
      "job \"web\" {\n  count = 1 + 2 * (3 - a)\n  meta = { a = \"b\", \"c d\" : [1, 2.5e3, null] }\n}\n",
      "x = \"a${upper(\"b\")}c $${d} %{if true}y%{else}z%{endif} %{for k, v in {a = 1}}${k}%{endfor}\"\n",
      "t = <<-EOF\n    a ${1}\n      b\n  EOF\ny = a[*].b.c[0].*.d\nz = a.b[\"c\"]...\n",
      "dynamic \"g\" {\n for_each = [for i, x in range(3) : i if x > 0]\n labels = [\"l\"]\n content { v = g.value "
      "}\n}\n",
      "o = {for k, v in {a = 1} : k => v... if v != 2}\np = !true || false && 1 <= 2 ? -1 : min([1, 2]...)\n",
      "{\"job\": {\"a\": {\"n\": \"x${1 + 1}\", \"l\": [true, null, 1.5e-3, \"\\u00e9\\ud83d\\ude00\"]}}}",
      "{\"plugin\": [{\"raw_exec\": [{\"config\": [{\"enabled\": true}]}]}], \"client\": {\"meta\": {\"a\": 1}}}",
      "plugin \"raw_exec\" { config { enabled = true } }\nports { http = 1, rpc = 2 }\n\"a.b\" = format(\"%5.2f\", "
      "1)\n",
  };
  const std::string_view pieces[] = {"\"",  "${",   "%{", "}", "{", "[",   "]",    "(",  ")", "<<A\n",
                                     "\n",  "\\",   "~",  "*", ".", "for", "in",   ":",  "?", "=>",
                                     "...", "\xff", "é",  "-", "0", "e9",  "null", "$${"};
  std::mt19937_64 random(20);
  for (int i = 0; i < 6000; ++i) {
    std::string text = corpus[random() % std::size(corpus)];
    for (size_t edits = 1 + random() % 6; edits > 0; --edits) {
      size_t at = random() % (text.size() + 1);
      switch (random() % 4) {
        case 0:
          text.insert(at, pieces[random() % std::size(pieces)]);
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        case 2:
          text.insert(at, text.substr(random() % (text.size() + 1), random() % 30));
          break;
        default:
          if (at < text.size()) text[at] = static_cast<char>(random());
      }
    }
    fuzz_hcl_lexer(text);
    fuzz_hcl_parser(text);
    fuzz_hcl_evaluator(text);
    fuzz_hcl_json(text);
    fuzz_agent_config(text);
  }
}

}  // namespace
}  // namespace drover::hcl

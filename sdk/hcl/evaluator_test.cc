#include <gtest/gtest.h>

#include "drover/hcl.h"

namespace drover::hcl {
namespace {

EvalContext test_context() {
  EvalContext context;
  context.functions = standard_functions();
  context.variables["n"] = 5;
  context.variables["s"] = "text";
  context.variables["list"] = List{1, 2, 3};
  context.variables["map"] = Object{{"a", 1}, {"b", 2}};
  context.variables["people"] =
      List{Object{{"name", "ann"}, {"tags", List{"x", "y"}}}, Object{{"name", "bob"}, {"tags", List{"z"}}}};
  context.variables["later"] = Value::unknown();
  return context;
}

// The value as JSON, or the first problem without its file.
std::string run(const std::string& text, const EvalContext& context = test_context()) {
  Diagnostics diagnostics;
  Expression expression = parse_expression("t", text, diagnostics);
  Value value = diagnostics.has_errors() ? Value() : evaluate(expression, context, diagnostics);
  if (diagnostics.has_errors()) return diagnostics[0].to_string();
  return value.is_unknown() ? "unknown" : to_json(value);
}

struct Case {
  const char* text;
  const char* result;
};

void check(std::span<const Case> cases) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(c.result, run(c.text));
  }
}

TEST(Evaluator, Operators) {
  constexpr Case kCases[] = {
      {"1 + 2 * 3", "7"},
      {"(1 + 2) * 3", "9"},
      {"10 - 3 - 2", "5"},
      {"7 / 2", "3.5"},
      {"8 / 2", "4"},
      {"7 % 4", "3"},
      {"-7 % 4", "-3"},
      {"--1", "1"},
      {"-n", "-5"},
      {"!true", "false"},
      {"1 < 2 && 2 <= 2", "true"},
      {"1 > 2 || 2 >= 3", "false"},
      {"true || false && false", "true"},
      {"1 == 1.0", "true"},
      {"\"1\" == 1", "false"},
      {"[1, 2] == [1, 2]", "true"},
      {"{a = 1} != {a = 2}", "true"},
      {"\"5\" + 1", "6"},
      {"n == 5 ? \"yes\" : \"no\"", "\"yes\""},
      {"true ? 1 : \"a\"", "\"1\""},
      {"false ? 1 : null", "null"},
      {"true ? 1 : nothing", "1"},
      {"9223372036854775807", "9223372036854775807"},
      {"9223372036854775807 + 1", "9223372036854775808"},
      {"0.1 + 0.2", "0.3"},
      {"1e3", "1000"},
      {"later + 1", "unknown"},
      {"null == null", "true"},
      {"false && nothing", "false"},
  };
  check(kCases);
}

TEST(Evaluator, ResultsOfAConditionHaveOneType) {
  constexpr Case kCases[] = {
      {"true ? {a = 1} : {a = \"x\"}", R"({"a":"1"})"},
      {"true ? {a = 1, b = true} : {b = \"x\"}", R"({"a":"1","b":"true"})"},
      {"true ? {a = 1} : {}", R"({"a":1})"},
      {"false ? {a = 1} : {}", "{}"},
      {"true ? {a = {x = 1}} : {b = {y = \"z\"}}", R"({"a":{"x":"1"}})"},
      {"true ? [1, true] : [\"a\", \"b\", \"c\"]", R"(["1","true"])"},
      {"true ? [1, true] : [\"a\", false]", R"(["1",true])"},
      {"true ? [[1], [\"a\"]] : [[true]]", R"([["1"],["a"]])"},
      {"true ? [null, 1] : [\"a\"]", R"([null,"1"])"},
      {"true ? tolist([2, 1]) : [\"a\", true]", R"(["2","1"])"},
      {"true ? [\"b\", \"a\", \"b\"] : toset([\"c\"])", R"(["a","b"])"},
      {"true ? {b = 1} : tomap({a = \"x\"})", R"({"b":"1"})"},
      {"true ? {a = [1]} : null", R"({"a":[1]})"},
      {"true ? null : [1]", "null"},
      {"true ? {a = later} : {a = 1}", R"({"a":null})"},
      {"true ? {a = 1} : {a = true}",
       "t:1:1: error: the two results of this condition have different types: object({a = number}) and "
       "object({a = bool})"},
      {"true ? {a = 1} : {b = [1]}",
       "t:1:1: error: the two results of this condition have different types: object({a = number}) and "
       "object({b = tuple([number])})"},
      {"true ? [1, true] : [2]",
       "t:1:1: error: the two results of this condition have different types: tuple([number, bool]) and "
       "tuple([number])"},
      {"true ? {a = 1} : [1]",
       "t:1:1: error: the two results of this condition have different types: an object and a list"},
      {"true ? tolist([\"x\"]) : tolist([1])", R"(["x"])"},
  };
  check(kCases);
}

TEST(Evaluator, TheKeyInASetIsTheElement) {
  constexpr Case kCases[] = {
      {"{for k, v in toset([\"a\", \"b\"]) : k => v}", R"({"a":"a","b":"b"})"},
      {"{for k, v in tolist([\"a\"]) : k => v}", R"({"0":"a"})"},
      {"[for k, v in setunion([3], [1]) : k]", "[1,3]"},
      {"[for k, v in convert([\"b\", \"a\"], set(string)) : k]", R"(["a","b"])"},
      {"[for k, v in tolist(toset([\"a\"])) : k]", "[0]"},
      {"[for k, v in toset([\"a\"])[*] : k]", "[0]"},
      {"[for k, v in (true ? toset([\"a\"]) : toset([])) : k]", R"(["a"])"},
      {"\"%{ for k, v in toset([\"a\"]) }${k}${v}%{ endfor }\"", R"("aa")"},
  };
  check(kCases);
}

TEST(Evaluator, Templates) {
  constexpr Case kCases[] = {
      {R"("a${n}b")", R"("a5b")"},
      {R"("${list}")", "[1,2,3]"},
      {R"("${n}")", "5"},
      {R"("x${true}")", R"("xtrue")"},
      {R"("$${n} %%{n} $ % $$ 100%")", R"("${n} %{n} $ % $$ 100%")"},
      {R"("\u00e9\n\t\"\\")", R"("é\n\t\"\\")"},
      {R"("%{if n > 3}big%{else}small%{endif}!")", R"("big!")"},
      {R"("%{if n > 9}big%{endif}")", R"("")"},
      {R"("%{for i, x in list}${i}=${x},%{endfor}")", R"("0=1,1=2,2=3,")"},
      {R"("a ${~ n ~} b")", R"("a5b")"},
      {"<<EOF\n%{ for x in list ~}\n<${x}>\n%{ endfor ~}\nEOF\n", R"("<1>\n<2>\n<3>\n")"},
      {"<<-EOF\n  a\n    b\n  EOF\n", R"("a\n  b\n")"},
      // A line end that ~ takes begins no line, and what ~ takes is no indentation.
      {"<<-EOF\n  %{ for x in list ~}\n    <${x}>\n  %{ endfor ~}\n  z\n  EOF\n",
       R"("    <1>\n    <2>\n    <3>\n  z\n")"},
      {"<<-EOF\n  %{ for x in list }\n    <${x}>\n  %{ endfor }\n  EOF\n", R"("\n  <1>\n\n  <2>\n\n  <3>\n\n")"},
      {"<<-EOF\n  a\n  ${~ n}\n  EOF\n", R"("  a\n5\n")"},
      {"<<-EOF\n    a ${n ~}\n  b\n      c\n  EOF\n", R"("a 5  b\n  c\n")"},
      {R"("${"${"x"}"}")", R"("x")"},
      {R"("a${later}")", "unknown"},
  };
  check(kCases);
}

TEST(Evaluator, ReferencesAndParts) {
  constexpr Case kCases[] = {
      {"map.a", "1"},
      {"map[\"b\"]", "2"},
      {"list[0] + list.1", "3"},
      {"people[1].name", "\"bob\""},
      {"people[*].name", R"(["ann","bob"])"},
      {"people.*.name", R"(["ann","bob"])"},
      {"people[*].tags[0]", R"(["x","z"])"},
      {"people.*.tags[0]", R"(["x","y"])"},
      {"people[*].tags[*]", R"([["x","y"],["z"]])"},
      {"n[*]", "[5]"},
      {"null[*]", "[]"},
      {"[[1, 2], [3]].0.1", "2"},
      {"{a = {b = 1}}.a.b", "1"},
      {"list[n - 4]", "2"},
      {"(map).a", "1"},
  };
  check(kCases);
}

TEST(Evaluator, Loops) {
  constexpr Case kCases[] = {
      {"[for x in list : x * 2]", "[2,4,6]"},
      {"[for i, x in list : i if x != 2]", "[0,2]"},
      {"[for k, v in map : \"${k}${v}\"]", R"(["a1","b2"])"},
      {"{for k, v in map : v => k}", R"({"1":"a","2":"b"})"},
      {"{for x in [\"aa\", \"ab\", \"b\"] : substr(x, 0, 1) => x...}", R"({"a":["aa","ab"],"b":["b"]})"},
      {"[for p in people : [for t in p.tags : \"${p.name}${t}\"]]", R"([["annx","anny"],["bobz"]])"},
      {"{\n for k, v in map :\n k => v\n if v > 1\n}", R"({"b":2})"},
      {"{ for = 1 }", R"({"for":1})"},
      {"min([3, 1, 2]...)", "1"},
      {"try(map.c, \"none\")", "\"none\""},
      {"can(map.c)", "false"},
  };
  check(kCases);
}

TEST(Evaluator, Errors) {
  constexpr Case kCases[] = {
      {"nn", "t:1:1: error: there is no variable named \"nn\" (did you mean \"n\"?)"},
      {"map.c", "t:1:4: error: this object has no attribute named \"c\" (did you mean \"a\"?)"},
      {"uper(\"x\")", "t:1:1: error: there is no function named \"uper\" (did you mean \"upper\"?)"},
      {"1 / 0", "t:1:1: error: division by zero"},
      {"\"a\" + 1",
       "t:1:1: error: this operator works on numbers, this is a string (join texts with a template: "
       "\"${a}${b}\")"},
      {"list[3]", "t:1:5: error: the index 3 is outside of this list of 3 elements"},
      {"list.name",
       "t:1:5: error: a list has no attributes, so \"name\" means nothing here (use [*].name to take it "
       "from every element)"},
      {"\"a${list}\"", "t:1:5: error: a template needs text here, this is a list (use join or jsonencode)"},
      {"n ? 1 : 2", "t:1:1: error: a condition is true or false, this is a number"},
      {"true ? [1] : \"x\"",
       "t:1:1: error: the two results of this condition have different types: a list and a "
       "string"},
      {"[for x in n : x]", "t:1:11: error: a loop needs a list or an object, this is a number"},
      {"{for x in list : \"k\" => x}",
       "t:1:18: error: two elements give the key \"k\" (add ... behind the value to "
       "group them)"},
      {"upper()", "t:1:1: error: upper: expected 1 argument, got 0"},
      {"1 +", "t:1:4: error: expected an expression, found the end of the text"},
  };
  check(kCases);
}

TEST(Evaluator, KeepsReferencesThatAreForLater) {
  EvalContext context;
  context.keep_unknown_interpolation = true;
  context.functions = standard_functions();
  context.variables["var"] = Object{{"dc", "dc1"}};
  const Case kCases[] = {
      {R"("${NOMAD_ALLOC_DIR}/x")", R"("${NOMAD_ALLOC_DIR}/x")"},
      {R"("${node.class}")", R"("${node.class}")"},
      {R"("${attr.kernel.name}-${var.dc}")", R"("${attr.kernel.name}-dc1")"},
      {R"("${env["X"]}")", R"("${env[\"X\"]}")"},
      {R"("${attr.unique.network.ip-address}")", R"("${attr.unique.network.ip-address}")"},
      {"node.class", R"("${node.class}")"},
      {R"(upper("${meta.a}"))", R"("${META.A}")"},
      {R"("$${literal}")", R"("${literal}")"},
      {"var.nope", "t:1:4: error: this object has no attribute named \"nope\""},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(c.result, run(c.text, context));
  }
}

TEST(Evaluator, DynamicBlocks) {
  Diagnostics diagnostics;
  File file =
      parse("t.hcl",
            "dynamic \"group\" {\n  for_each = [\"a\", \"b\"]\n  iterator = it\n  labels = [\"g-${it.value}\"]\n"
            "  content {\n    n = it.key\n    dynamic \"task\" {\n      for_each = {x = 1}\n"
            "      content { name = \"${it.value}${task.key}\" }\n    }\n  }\n}\n",
            diagnostics);
  Node node = evaluate(file.body, {}, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render(*file.source);
  ASSERT_EQ(2u, node.blocks.size());
  EXPECT_EQ("group", node.blocks[1].type);
  EXPECT_EQ(std::vector<std::string>{"g-b"}, node.blocks[1].labels);
  EXPECT_EQ(Value(1), *node.blocks[1].body.find("n"));
  EXPECT_EQ(Value("bx"), *node.blocks[1].body.blocks.at(0).body.find("name"));
}

TEST(Evaluator, DynamicBlocksOfASet) {
  Diagnostics diagnostics;
  File file = parse("t.hcl",
                    "dynamic \"group\" {\n  for_each = toset([\"b\", \"a\"])\n  labels = [group.key]\n"
                    "  content { name = \"${group.key}=${group.value}\" }\n}\n",
                    diagnostics);
  EvalContext context;
  context.functions = standard_functions();
  Node node = evaluate(file.body, context, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.render(*file.source);
  ASSERT_EQ(2u, node.blocks.size());
  EXPECT_EQ(std::vector<std::string>{"a"}, node.blocks[0].labels);
  EXPECT_EQ(Value("b=b"), *node.blocks[1].body.find("name"));
}

TEST(Evaluator, DynamicBlockErrors) {
  const Case kCases[] = {
      {"dynamic \"g\" {\n content {}\n}", "t:1:1: error: a dynamic block needs for_each"},
      {"dynamic \"g\" {\n for_each = []\n}", "t:1:1: error: a dynamic block needs a content block"},
      {"dynamic \"g\" {\n for_each = 1\n content {}\n}",
       "t:2:13: error: for_each of a dynamic block is a list or an object, not number"},
      {"dynamic {\n}", "t:1:1: error: a dynamic block has one label, the type of the blocks to make"},
  };
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.text);
    Diagnostics diagnostics;
    File file = parse("t", c.text, diagnostics);
    evaluate(file.body, {}, diagnostics);
    ASSERT_EQ(1u, diagnostics.size());
    EXPECT_EQ(c.result, diagnostics[0].to_string());
  }
}

TEST(Evaluator, BareTemplates) {
  Diagnostics diagnostics;
  Expression expression = parse_template("t", "a \"quoted\" ${n}\nline", diagnostics);
  EXPECT_EQ("\"a \\\"quoted\\\" 5\\nline\"", to_json(evaluate(expression, test_context(), diagnostics)));
  EXPECT_FALSE(diagnostics.has_errors());
}

}  // namespace
}  // namespace drover::hcl

#include <gtest/gtest.h>

#include "drover/hcl.h"

namespace drover::hcl {
namespace {

TEST(Functions, Results) {
  struct Case {
    const char* text;
    const char* result;
  } cases[] = {
      {"upper(\"aB\")", "\"AB\""},
      {"lower(\"aB\")", "\"ab\""},
      {"title(\"a bc\")", "\"A Bc\""},
      {"join(\",\", [1, \"b\"])", "\"1,b\""},
      {"split(\",\", \"a,,b\")", R"(["a","","b"])"},
      {"format(\"%s is %d, %05.1f%%\", \"x\", 42, 3.14159)", "\"x is 42, 003.1%\""},
      {"format(\"%-4s|%4s|%q|%t|%v|%x\", \"a\", \"b\", \"c\", true, [1], 255)", R"("a   |   b|\"c\"|true|[1]|ff")"},
      {"format(\"%[2]s %[1]s\", \"a\", \"b\")", "\"b a\""},
      {"length([1, 2])", "2"},
      {"length({a = 1})", "1"},
      {"length(\"\\u00e9e\")", "2"},
      {"concat([1], [2, 3])", "[1,2,3]"},
      {"merge({a = 1, b = 1}, {b = 2})", R"({"a":1,"b":2})"},
      {"lookup({a = 1}, \"a\")", "1"},
      {"lookup({a = 1}, \"b\", 7)", "7"},
      {"contains([1, 2], 2)", "true"},
      {"index([1, 2], 2)", "1"},
      {"keys({b = 1, a = 2})", R"(["a","b"])"},
      {"values({b = 1, a = 2})", "[2,1]"},
      {"zipmap([\"a\"], [1])", R"({"a":1})"},
      {"min(2, 1)", "1"},
      {"max(2, 1.5)", "2"},
      {"abs(-3)", "3"},
      {"ceil(1.2)", "2"},
      {"floor(-1.2)", "-2"},
      {"signum(-5)", "-1"},
      {"pow(2, 10)", "1024"},
      {"range(3)", "[0,1,2]"},
      {"range(3, 0)", "[3,2,1]"},
      {"range(1, 8, 3)", "[1,4,7]"},
      {"trim(\"xxaxx\", \"x\")", "\"a\""},
      {"trimspace(\" a \\n\")", "\"a\""},
      {"trimprefix(\"abc\", \"ab\")", "\"c\""},
      {"trimsuffix(\"abc\", \"bc\")", "\"a\""},
      {"chomp(\"a\\n\\n\")", "\"a\""},
      {"replace(\"aXbX\", \"X\", \"--\")", "\"a--b--\""},
      {"substr(\"hello\", 1, 3)", "\"ell\""},
      {"substr(\"hello\", -2, -1)", "\"lo\""},
      {"strrev(\"ab\")", "\"ba\""},
      {"jsonencode({a = [1, null, \"<\"]})", R"("{\"a\":[1,null,\"\\u003c\"]}")"},
      {"jsondecode(\"{\\\"a\\\": [1.5]}\")", R"({"a":[1.5]})"},
      {"base64encode(\"hello\")", "\"aGVsbG8=\""},
      {"base64decode(\"aGVsbG8=\")", "\"hello\""},
      {"urlencode(\"a b/\")", "\"a+b%2F\""},
      {"coalesce(null, \"\", \"x\")", "\"x\""},
      {"coalescelist([], [1])", "[1]"},
      {"element([1, 2, 3], 4)", "2"},
      {"flatten([1, [2, [3]]])", "[1,2,3]"},
      {"compact([\"a\", \"\", null])", R"(["a"])"},
      {"distinct([1, 2, 1])", "[1,2]"},
      {"slice([1, 2, 3], 1, 2)", "[2]"},
      {"sort([\"b\", \"a\"])", R"(["a","b"])"},
      {"toset([\"b\", \"a\", \"b\"])", R"(["a","b"])"},
      {"tostring(1.50)", "\"1.5\""},
      {"tonumber(\"2\")", "2"},
      {"tobool(\"true\")", "true"},
      {"parseint(\"ff\", 16)", "255"},
      {"indent(2, \"a\\nb\")", R"("a\n  b")"},
      // errors
      {"range(5000)", "range: more than 1024 values were generated"},
      {"join(\",\", [[1]])", "join: the list holds list, not a string"},
      {"element([], 0)", "element: the list is empty"},
      {"format(\"%d\", \"x\")", "format: %d cannot print a value of type string"},
      {"format(\"%s\")", "format: there is no argument for %s"},
      {"format(\"x\", 1)", "format: there are more arguments than verbs"},
      {"base64decode(\"a\")", "base64decode: this is not base64: its length is not a multiple of 4"},
      {"jsondecode(\"{\")", "jsondecode: JSON:1:2: error: expected the name of a property in double quotes"},
      {"tonumber(\"x\")", "tonumber: argument 1 must be a number, not string"},
      {"length(1)", "length: argument 1 must be a list, an object or a string, not number"},
  };
  EvalContext context;
  context.functions = standard_functions();
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    Diagnostics diagnostics;
    Value value = evaluate(parse_expression("t", c.text, diagnostics), context, diagnostics);
    EXPECT_EQ(c.result, diagnostics.has_errors() ? diagnostics[0].message : to_json(value));
  }
}

}  // namespace
}  // namespace drover::hcl

#include "drover/hcl_type.h"

#include "functions_testing.h"

namespace drover::hcl {
namespace {

TEST(Types, AreReadAsFilesWriteThem) {
  for (const char* text : {"any", "bool", "number", "string", "list(string)", "set(number)", "map(list(any))",
                           "object({a = string, b = list(bool)})", "tuple([string, number])", "tuple([])"}) {
    Diagnostics diagnostics;
    std::optional<Type> type = parse_type(parse_expression("t", text, diagnostics), diagnostics);
    ASSERT_TRUE(type) << text << ": " << (diagnostics.size() ? diagnostics[0].message : "");
    EXPECT_EQ(text, to_string(*type));
  }
}

TEST(Types, ErrorsSayWhatWouldBeOne) {
  struct Case {
    const char *text, *message, *hint;
  } cases[] = {
      {"strng", "there is no type named \"strng\"", "did you mean \"string\"?"},
      {"list", "the type list needs to know what it holds", "list(string)"},
      {"object", "the type object needs to know what it holds", "object({name = string})"},
      {"lst(string)", "there is no type named \"lst\"", "did you mean \"list\"?"},
      {"list(string, string)", "the type list takes one argument", ""},
      {"object(string)", "an object type is object({name = type})", ""},
      {"tuple(string)", "a tuple type is tuple([type, type])", ""},
      {"\"string\"", "a type is written without quotes", "write string"},
      {"string.x", "this is not a type", ""},
      {"1 + 1", "this is not a type", ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    Diagnostics diagnostics;
    EXPECT_FALSE(parse_type(parse_expression("t", c.text, diagnostics), diagnostics));
    ASSERT_EQ(1u, diagnostics.size());
    EXPECT_EQ(c.message, diagnostics[0].message);
    EXPECT_EQ(c.hint, diagnostics[0].hint);
  }
}

TEST(Types, Convert) {
  const FunctionCase cases[] = {
      {R"(convert("5", number))", "5"},
      {R"(convert(5, string))", R"("5")"},
      {R"(convert("true", bool))", "true"},
      {R"(convert(null, number))", "null"},
      {R"(convert([1, "a"], list(string)))", R"(["1","a"])"},
      {R"(convert([1, "a", true], list(any)))", R"(["1","a","true"])"},
      {R"(convert(["b", "a", "b"], set(string)))", R"(["a","b"])"},
      {R"(convert({a = 1, b = "x"}, map(string)))", R"({"a":"1","b":"x"})"},
      {R"(convert({a = 1, b = 2}, object({a = string})))", R"({"a":"1"})"},
      {R"(convert([1, 2], tuple([string, bool])))", "convert: element 1: bool required, not number"},
      {R"(convert([1, 2], tuple([string])))", "convert: a tuple of 1 elements required, not of 2"},
      {R"(convert({b = 2}, object({a = string})))", "convert: attribute \"a\" is required"},
      {R"(convert({a = [1]}, map(list(bool))))", "convert: element \"a\": element 0: bool required, not number"},
      {R"(convert("x", list(string)))", "convert: list(string) required, not string"},
      {R"(convert("x", strng))", "there is no type named \"strng\""},
      {R"(convert(nothing, string))", "there is no variable named \"nothing\""},
      {R"(convert("x"))", "convert: takes a value and a type"},
      {R"(tolist([1, "a"]))", R"(["1","a"])"},
      {R"(tomap({a = 1, b = true}))", R"({"a":"1","b":"true"})"},
      {R"(toset([3, 1, 3]))", "[1,3]"},
  };
  expect_results(cases);
}

TEST(Types, TryAndCanLookAtFailures) {
  const FunctionCase cases[] = {
      {R"(try(nothing.a, 1))", "1"},
      {R"(try([1][0], nothing))", "1"},
      {R"(try({}.a, [1][5]))", "the index 5 is outside of this list of 1 element"},
      {R"(try())", "try: takes one or more arguments"},
      {R"(can([1][0]))", "true"},
      {R"(can([1][1]))", "false"},
      {R"(can(convert("x", number)))", "false"},
      {R"(can(1, 2))", "can: takes one argument"},
      {R"(try([1]...))", "try: its arguments cannot be spread with ..."},
  };
  expect_results(cases);
}

}  // namespace
}  // namespace drover::hcl

#include "drover/hcl_type.h"

#include <algorithm>

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
      {R"(tomap({a = 1, b = "x"}))", R"({"a":"1","b":"x"})"},
      {R"(toset([3, 1, 3]))", "[1,3]"},
      {R"(tolist([{a = 1}, {b = "x"}]))", R"([{"a":"1"},{"b":"x"}])"},
      {R"(tolist([1, true]))", "tolist: the elements of a list have one type, these have several"},
      {R"(tomap({a = 1, b = [1]}))", "tomap: the elements of a map have one type, these have several"},
  };
  expect_results(cases);
}

Type type(const std::string& text) {
  Diagnostics diagnostics;
  return parse_type(parse_expression("t", text, diagnostics), diagnostics).value_or(Type{});
}

TEST(Types, Unify) {
  const struct {
    std::vector<const char*> types;
    const char* expected;  // empty: none
  } cases[] = {
      {{}, ""},
      {{"number"}, "number"},
      {{"number", "string", "bool"}, "string"},
      {{"number", "bool"}, ""},
      {{"any", "number"}, "number"},
      {{"string", "list(string)"}, ""},
      {{"list(number)", "list(string)"}, "list(string)"},
      {{"list(number)", "tuple([bool, string])"}, "list(string)"},
      {{"set(string)", "list(string)"}, "list(string)"},
      {{"tuple([string])", "set(number)"}, "set(number)"},
      {{"tuple([number, bool])", "tuple([string, bool])"}, "tuple([string, bool])"},
      {{"tuple([number])", "tuple([string, bool])"}, "list(string)"},
      {{"object({a = number})", "object({a = string})"}, "object({a = string})"},
      {{"object({a = number})", "object({b = string})"}, "map(string)"},
      {{"object({a = number})", "object({b = list(string)})"}, ""},
      {{"object({a = number, b = list(number)})", "map(string)"}, ""},
      {{"map(number)", "object({a = string})"}, "map(string)"},
      {{"map(any)", "map(string)"}, "map(string)"},
      {{"object({a = number})", "tuple([number])"}, ""},
  };
  for (const auto& c : cases) {
    std::vector<Type> types;
    std::string shown;
    for (const char* each : c.types) {
      types.push_back(type(each));
      shown += std::string(each) + " ";
    }
    SCOPED_TRACE(shown);
    const std::optional<Type> unified = unify(types);
    EXPECT_EQ(c.expected, unified ? to_string(*unified) : "");
    std::reverse(types.begin(), types.end());
    const std::optional<Type> reversed = unify(types);
    EXPECT_EQ(c.expected, reversed ? to_string(*reversed) : "");
  }
}

TEST(Types, OfValues) {
  EXPECT_EQ("any", to_string(*type_of(Value())));
  EXPECT_EQ("tuple([number, string])", to_string(*type_of(List{1, "a"})));
  EXPECT_EQ("object({a = bool, b = any})", to_string(*type_of(Object{{"a", true}, {"b", Value()}})));
  EXPECT_EQ("list(number)", to_string(*type_of(Value(List{1, 2}, Shape::collection))));
  EXPECT_EQ("list(any)", to_string(*type_of(Value(List{}, Shape::collection))));
  EXPECT_EQ("set(string)", to_string(*type_of(Value(List{"a"}, Shape::set))));
  EXPECT_EQ("map(string)", to_string(*type_of(Value(Object{{"a", "x"}}, Shape::collection))));
  EXPECT_FALSE(type_of(List(kMaxTypeParts, Value(1))));
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

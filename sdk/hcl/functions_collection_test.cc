#include "functions_testing.h"

namespace drover::hcl {
namespace {

TEST(CollectionFunctions, Chunklist) {
  const FunctionCase cases[] = {
      {"chunklist([1, 2, 3], 2)", "[[1,2],[3]]"},
      {"chunklist([1, 2, 3, 4], 2)", "[[1,2],[3,4]]"},
      {"chunklist([1, 2], 0)", "[[1,2]]"},
      {"chunklist([], 2)", "[]"},
      {"chunklist([1], -1)", "chunklist: argument 2 may not be negative"},
  };
  expect_results(cases);
}

TEST(CollectionFunctions, Sets) {
  const FunctionCase cases[] = {
      {"setunion([\"b\", \"a\"], [\"c\", \"b\"])", R"(["a","b","c"])"},
      {"setunion([3, 1], [2])", "[1,2,3]"},
      {"setunion([1], [\"a\"])", R"(["1","a"])"},
      {"setintersection([1, 2, 3], [3, 2], [2, 9])", "[2]"},
      {"setintersection([1])", "[1]"},
      {"setproduct([\"a\", \"b\"], [1, 2])", R"([["a",1],["a",2],["b",1],["b",2]])"},
      {"setproduct([\"a\"], [])", "[]"},
      {"setunion(\"a\")", "setunion: argument 1 must be a list, not string"},
      {"setproduct([1])", "setproduct: expected 2 or more arguments, got 1"},
  };
  expect_results(cases);
}

TEST(CollectionFunctions, AProductThatIsTooLargeIsRefusedBeforeItIsBuilt) {
  std::string thousand = "range(1000)";
  EXPECT_EQ("setproduct: the result is too large",
            result_of("setproduct(" + thousand + ", " + thousand + ", " + thousand + ")"));
}

TEST(CollectionFunctions, LargeSetsMeetInReasonableTime) {
  std::string numbers = "[for a in range(60) : [for b in range(1000) : a * 1000 + b]]";
  EXPECT_EQ("60000", result_of("length(setintersection(flatten(" + numbers + "), flatten(" + numbers + ")))"));
}

TEST(StringFunctions, FormatList) {
  const FunctionCase cases[] = {
      {"formatlist(\"%s:%d\", [\"a\", \"b\"], 80)", R"(["a:80","b:80"])"},
      {"formatlist(\"%s-%s\", [\"a\", \"b\"], [1, 2])", R"(["a-1","b-2"])"},
      {"formatlist(\"%s\", \"x\")", R"(["x"])"},
      {"formatlist(\"%s\", [])", "[]"},
      {"formatlist(\"%s%s\", [1], [1, 2])", "formatlist: argument 3 has 2 elements, a list before it has 1"},
  };
  expect_results(cases);
}

TEST(StringFunctions, RegexReplace) {
  const FunctionCase cases[] = {
      {R"re(regex_replace("hello world", "o", "0"))re", R"("hell0 w0rld")"},
      {R"re(regex_replace("john smith", "(\\w+) (\\w+)", "$2, $1"))re", R"("smith, john")"},
      {R"re(regex_replace("a1b22", "(?P<n>[0-9]+)", "<$${n}>"))re", R"("a<1>b<22>")"},
      {R"re(regex_replace("abc", "", "-"))re", R"("-a-b-c-")"},
      {R"re(regex_replace("baaac", "a*", "x"))re", R"("xbxcx")"},
      {R"re(regex_replace("aé", "", "-"))re", R"("-a-é-")"},
      {R"re(regex_replace("a", "a", "$$"))re", R"("$")"},
      {R"re(regex_replace("a", "a", "[$9]"))re", R"("[]")"},
      {R"re(regex_replace("", "x", "y"))re", R"("")"},
      {R"re(regex_replace("a", "(", "y"))re", "regex_replace: argument 2 is no regular expression: missing ): ("},
  };
  expect_results(cases);
}

}  // namespace
}  // namespace drover::hcl

#include "drover/duration.h"

#include <gtest/gtest.h>

#include <random>

namespace drover {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

TEST(Duration, ParsesGoForm) {
  struct Case {
    const char* text;
    nanoseconds expected;
  } cases[] = {
      {"0", 0ns},
      {"0s", 0ns},
      {"30s", 30s},
      {"1h30m", 90min},
      {"250ms", 250ms},
      {"1.5s", 1500ms},
      {"-2m", -2min},
      {"+1ns", 1ns},
      {"1us", 1us},
      {"1\xc2\xb5s", 1us},
      {".5h", 30min},
      {"1.h", 1h},
      {"1h1m1.001s", 3661001ms},
      {"0.000000001s", 1ns},
      {"9223372036854775807ns", nanoseconds(INT64_MAX)},
      {"-9223372036854775808ns", nanoseconds(INT64_MIN)},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    Result<nanoseconds> parsed = parse_duration(c.text);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    EXPECT_EQ(c.expected, *parsed);
  }
}

TEST(Duration, RefusesTheRest) {
  for (const char* text : {"", "-", "1", "s", ".s", "1x", "1 s", " 1s", "1s ", "1d", "--1s", "9223372036854775808ns",
                           "300000000h", "99999999999999999999s", "1e3s"}) {
    EXPECT_FALSE(parse_duration(text).ok()) << text;
  }
  EXPECT_EQ("\"1d\" is not a duration such as \"30s\" or \"1h30m\"", parse_duration("1d").status().message());
}

TEST(Duration, PrintsAsGoDoes) {
  EXPECT_EQ("0s", format_duration(0ns));
  EXPECT_EQ("1h0m0s", format_duration(1h));
  EXPECT_EQ("1m30s", format_duration(90s));
  EXPECT_EQ("1.5s", format_duration(1500ms));
  EXPECT_EQ("250ms", format_duration(250ms));
  EXPECT_EQ("1.001\xc2\xb5s", format_duration(1001ns));
  EXPECT_EQ("7ns", format_duration(7ns));
  EXPECT_EQ("-2m0s", format_duration(-2min));
  EXPECT_EQ("26h0m0.5s", format_duration(26h + 500ms));
  EXPECT_EQ("-2562047h47m16.854775808s", format_duration(nanoseconds(INT64_MIN)));
}

TEST(Duration, SurvivesText) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 5000; ++i) {
    nanoseconds value(static_cast<int64_t>(random()) >> (random() % 64));
    EXPECT_EQ(value, *parse_duration(format_duration(value))) << format_duration(value);
  }
}

}  // namespace
}  // namespace drover

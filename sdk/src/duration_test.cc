#include "drover/duration.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(Duration, ReadsGoForms) {
  EXPECT_EQ(5'400'000'000'000, parse_duration("1h30m")->count());
  EXPECT_EQ(250'000'000, parse_duration("250ms")->count());
  EXPECT_EQ(1'500'000'000, parse_duration("1.5s")->count());
  EXPECT_EQ(-3'000, parse_duration("-3\xc2\xb5s")->count());
  EXPECT_EQ(0, parse_duration("0")->count());
}

TEST(Duration, RefusesOtherText) {
  for (const char* text : {"", "5", "s", "1.2.3s", "5 s", "1x", "9999999999h", "-"}) {
    EXPECT_EQ(Code::invalid_argument, parse_duration(text).status().code()) << text;
  }
}

TEST(Duration, PrintsGoForms) {
  using std::chrono::nanoseconds;
  EXPECT_EQ("0s", format_duration(nanoseconds(0)));
  EXPECT_EQ("1h30m0s", format_duration(nanoseconds(5'400'000'000'000)));
  EXPECT_EQ("200ms", format_duration(nanoseconds(200'000'000)));
  EXPECT_EQ("1.5\xc2\xb5s", format_duration(nanoseconds(1'500)));
  EXPECT_EQ("-2m0.25s", format_duration(nanoseconds(-120'250'000'000)));
}

}  // namespace
}  // namespace drover

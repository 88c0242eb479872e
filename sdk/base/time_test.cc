#include "drover/time.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(Time, PrintsWithoutTrailingZeroes) {
  EXPECT_EQ("2023-11-14T22:13:20.123456789Z", format_time(1700000000123456789));
  EXPECT_EQ("2023-11-14T22:13:20.5Z", format_time(1700000000500000000));
  EXPECT_EQ("1970-01-01T00:00:00Z", format_time(0));
}

TEST(Time, ReadsOffsetsAndFractions) {
  EXPECT_EQ(1700000000123456789, *parse_time("2023-11-14T22:13:20.123456789Z"));
  EXPECT_EQ(1700000000000000000, *parse_time("2023-11-15T00:13:20+02:00"));
  EXPECT_EQ(0, *parse_time("0001-01-01T00:00:00Z"));
}

TEST(Time, RefusesWhatIsNotATime) {
  for (const char* text : {"", "yesterday", "2023-13-01T00:00:00Z", "2023-02-30T00:00:00Z", "2023-01-01T00:00:00",
                           "2023-01-01T00:00:00Zx", "2023-01-01T00:00:00.Z", "2023-01-01T24:00:00Z"}) {
    EXPECT_EQ(Code::invalid_argument, parse_time(text).status().code()) << text;
  }
}

}  // namespace
}  // namespace drover

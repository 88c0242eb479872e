#include "drover/uuid.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(Uuid, TextAndBytesRoundTrip) {
  Uuid id = Uuid::random();
  EXPECT_EQ(id, *Uuid::parse(id.to_string()));
  EXPECT_EQ(id, Uuid::from_bytes(id.bytes()));
  EXPECT_EQ('4', id.to_string()[14]);
}

TEST(Uuid, ParseRefusesOtherForms) {
  EXPECT_FALSE(Uuid::parse(""));
  EXPECT_FALSE(Uuid::parse("00000000-0000-0000-0000-00000000000"));
  EXPECT_FALSE(Uuid::parse("00000000x0000-0000-0000-000000000000"));
  EXPECT_FALSE(Uuid::parse("g0000000-0000-0000-0000-000000000000"));
}

TEST(Uuid, PrefixRangeCoversOddDigitCountsAndDashes) {
  auto range = uuid_prefix_range("abc");
  ASSERT_TRUE(range);
  EXPECT_EQ(std::string("\xab\xc0", 2), range->first.substr(0, 2));
  EXPECT_EQ(std::string("\xab\xcf", 2), range->last.substr(0, 2));
  EXPECT_EQ('\xff', range->last[15]);
  Uuid id = Uuid::random();
  auto exact = uuid_prefix_range(id.to_string());
  ASSERT_TRUE(exact);
  EXPECT_EQ(id.bytes(), exact->first);
  EXPECT_EQ(id.bytes(), exact->last);
  EXPECT_FALSE(uuid_prefix_range("xyz"));
  EXPECT_FALSE(uuid_prefix_range(""));
}

}  // namespace
}  // namespace drover

#include "drover/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace drover {
namespace {

TEST(Crc32c, MatchesPublishedVectors) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);  // RFC 3720 B.4
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
}

TEST(Crc32c, InstructionAndTableAgreeAtEveryLengthAndSplit) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) {
    for (size_t split = 0; split <= bytes.size(); split += 7) {
      const std::string_view view = bytes;
      const uint32_t whole = crc32c(view);
      EXPECT_EQ(crc32c_portable(view), whole);
      EXPECT_EQ(crc32c(view.substr(split), crc32c(view.substr(0, split))), whole);
      EXPECT_EQ(crc32c_portable(view.substr(split), crc32c_portable(view.substr(0, split))), whole);
    }
    bytes.push_back(static_cast<char>(i * 37 + 11));
  }
}

}  // namespace
}  // namespace drover

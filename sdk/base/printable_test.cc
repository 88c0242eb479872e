#include "drover/printable.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(Printable, IsOneLineThatSaysNothingToATerminal) {
  const struct {
    std::string_view text, shown;
  } kCases[] = {
      {"", ""},
      {"plain \"text\" \\ of two words", "plain \"text\" \\ of two words"},
      {"a\nb\tc", "a\\nb\\tc"},
      {"\x1b[2J\r\x07", "\\u001b[2J\\u000d\\u0007"},
      {"\x7f", "\\u007f"},
      {"\xc2\x80\xc2\x9b\xc2\x9f", "\\u0080\\u009b\\u009f"},
      {"\xc2\xa0\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc2\xa0\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"},
      {"\x9b"
       "2J\xff\xc3",
       "\xef\xbf\xbd"
       "2J\xef\xbf\xbd\xef\xbf\xbd"},
  };
  for (const auto& one : kCases) EXPECT_EQ(printable(one.text), one.shown);
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\u0000");
}

}  // namespace
}  // namespace drover

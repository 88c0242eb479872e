#include "drover/base64.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(Base64, EncodesTheVectorsOfTheRfc) {
  struct Case {
    std::string_view bytes, text;
  } cases[] = {{"", ""},
               {"f", "Zg=="},
               {"fo", "Zm8="},
               {"foo", "Zm9v"},
               {"foob", "Zm9vYg=="},
               {"fooba", "Zm9vYmE="},
               {"foobar", "Zm9vYmFy"},
               {std::string_view("\xff\x00\xfe", 3), "/wD+"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(c.text, base64_encode(c.bytes));
    auto bytes = base64_decode(c.text);
    ASSERT_TRUE(bytes.ok());
    EXPECT_EQ(c.bytes, *bytes);
  }
}

TEST(Base64, SkipsLineEnds) { EXPECT_EQ("foobar", *base64_decode("Zm9v\r\nYmFy\n")); }

TEST(Base64, RefusesWhatItIsNot) {
  for (std::string_view text : {"Z", "Zg", "Zg=", "Z===", "Zm9v=", "Zm 9", "Zm9-", "====", "Zg==Zg=="}) {
    EXPECT_FALSE(base64_decode(text).ok()) << text;
  }
  EXPECT_EQ("this is not base64: character 3", base64_decode("Zm-v").status().message());
}

}  // namespace
}  // namespace drover

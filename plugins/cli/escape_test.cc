#include "escape.h"

#include <gtest/gtest.h>

namespace drover::cli {
namespace {

TEST(Escape, LeavesAtTheBeginningOfALineOnly) {
  const struct {
    const char* name;
    const char* typed;
    const char* passed;
    bool wants_out;
  } cases[] = {
      {"at once", "~.", "", true},
      {"after a line", "ls\r~.", "ls\r", true},
      {"after a line feed", "ls\n~.more", "ls\n", true},
      {"inside a line", "a~.", "a~.", false},
      {"the character itself", "~~.", "~.", false},
      {"another key", "~x~.", "~x~.", false},
      {"a new line after it", "~\r~.", "~\r", true},
      {"twice", "~~\r~.", "~\r", true},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Escape whole('~');
    EXPECT_EQ(c.passed, whole.read(c.typed));
    EXPECT_EQ(c.wants_out, whole.wants_out());
    Escape pieces('~');
    std::string passed;
    for (const char* key = c.typed; *key; ++key) passed += pieces.read({key, 1});
    EXPECT_EQ(c.passed, passed);
    EXPECT_EQ(c.wants_out, pieces.wants_out());
  }
}

TEST(Escape, NoneThereIsNoWayOut) {
  Escape none({});
  EXPECT_EQ("~.", none.read("~."));
  EXPECT_FALSE(none.wants_out());
}

TEST(Escape, IsOneCharacterOrNone) {
  bool is_valid = false;
  EXPECT_EQ('~', parse_escape("~", is_valid));
  EXPECT_TRUE(is_valid);
  EXPECT_FALSE(parse_escape("none", is_valid));
  EXPECT_TRUE(is_valid);
  EXPECT_FALSE(parse_escape("~~", is_valid));
  EXPECT_FALSE(is_valid);
}

}  // namespace
}  // namespace drover::cli

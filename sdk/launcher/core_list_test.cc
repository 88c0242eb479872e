#include "drover/core_list.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(CoreLists, AreReadAndWritten) {
  const struct {
    const char* text;
    CoreList cores;
    const char* written;
  } cases[] = {{"", {}, ""},
               {"3", {3}, "3"},
               {"0-3\n", {0, 1, 2, 3}, "0-3"},
               {"7, 0-1 ,2", {0, 1, 2, 7}, "0-2,7"},
               {"0,2,4", {0, 2, 4}, "0,2,4"},
               {"1-2,2-3,3", {1, 2, 3}, "1-3"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const auto cores = parse_core_list(c.text);
    ASSERT_TRUE(cores.ok()) << cores.status().message();
    EXPECT_EQ(c.cores, *cores);
    EXPECT_EQ(c.written, format_core_list(*cores));
  }
}

TEST(CoreLists, NameThePartThatIsNone) {
  for (const char* part : {"x", "1-", "-1", "3-1", "1x2", "0-4294967295", "99999"}) {
    EXPECT_EQ(invalid_argument("\"" + std::string(part) + "\" is neither a core nor a range of cores such as 0-3"),
              parse_core_list("0," + std::string(part) + ",2").status());
  }
}

TEST(CoreLists, LeaveOut) {
  EXPECT_EQ((CoreList{0, 3}), without({0, 1, 2, 3}, {1, 2, 7}));
  EXPECT_EQ(CoreList(), without({1}, {0, 1}));
}

}  // namespace
}  // namespace drover

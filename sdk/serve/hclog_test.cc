#include "hclog.h"

#include <gtest/gtest.h>

namespace drover::serve {
namespace {

TEST(Hclog, WritesOneObjectALine) {
  const log::Field fields[] = {{"task", "a\nb"}, {"pid", 7}};
  EXPECT_EQ(
      R"({"@level":"warn","@message":"a task has ended","@module":"mock","@timestamp":"2023-11-14T22:13:20.000009Z","task":"a\nb","pid":"7"})"
      "\n",
      hclog_line(1'700'000'000'000'009'999, log::Level::warn, "mock", "a task has ended", fields));
}

TEST(Hclog, ReplacesWhatIsNoText) {
  const std::string line = hclog_line(0, log::Level::trace, "mock", "\xff", {});
  EXPECT_EQ(
      "{\"@level\":\"trace\",\"@message\":\"\xef\xbf\xbd\",\"@module\":\"mock\",\"@timestamp\":\"1970-01-01T00:00:00."
      "000000Z\"}\n",
      line);
}

}  // namespace
}  // namespace drover::serve

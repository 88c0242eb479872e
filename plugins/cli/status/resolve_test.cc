#include "status/resolve.h"

#include <gtest/gtest.h>

namespace drover::cli {
namespace {

using Matches = std::map<std::string, std::vector<std::string>>;

TEST(Status, FindsWhichObjectIsMeant) {
  const struct {
    const char* name;
    Matches matches;
    const char* command;
    const char* id;
  } cases[] = {
      {"the only one", {{"jobs", {}}, {"nodes", {"web-1"}}}, "node status", "web-1"},
      {"the whole of it", {{"jobs", {"web", "web-2"}}, {"nodes", {"web-1"}}}, "job status", "web"},
      {"several of a kind", {{"allocs", {"web-1", "web-2"}}}, "alloc status", "web"},
      {"a variable is not shown", {{"vars", {"web"}}, {"evals", {"webe"}}}, "eval status", "webe"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto meant = meant_by("web", c.matches);
    ASSERT_TRUE(meant.ok()) << meant.status().message();
    EXPECT_EQ(meant->command, c.command);
    EXPECT_EQ(meant->id, c.id);
  }
}

TEST(Status, SaysWhatElseBeginsSo) {
  EXPECT_EQ(meant_by("web", {{"jobs", {}}}).status().to_string(),
            "not_found: No object with the prefix or ID \"web\" found");
  EXPECT_EQ(meant_by("we", {{"jobs", {"web"}}, {"volumes", {"we-1", "we-2"}}}).status().message(),
            "Objects of several kinds begin with \"we\"\n\nJobs:\n  web\n\nVolumes:\n  we-1\n  we-2\n\n"
            "Ask the command of one kind, such as 'drover job status'.");
  EXPECT_EQ(meant_by("web", {{"jobs", {"web"}}, {"volumes", {"web"}}}).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace drover::cli

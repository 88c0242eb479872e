#include "drover/log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <vector>

namespace drover::log {
namespace {

constexpr int64_t kTime = 1'700'000'000'020'456'789;

std::string text(std::string_view sentence, std::vector<Field> fields = {}, Level level = Level::info) {
  return format(kTime, level, "raft", sentence, fields, false);
}

TEST(LogLine, HasTimeAndLevelInColumns) {
  EXPECT_EQ(text("became leader", {{"term", 2}}), "2023-11-14T22:13:20.020Z [INFO]  raft: became leader term=2");
  EXPECT_EQ(text("it broke", {}, Level::error), "2023-11-14T22:13:20.020Z [ERROR] raft: it broke");
  EXPECT_TRUE(format(1'700'000'000'000'000'000, Level::warn, "a", "b", {}, false)
                  .starts_with("2023-11-14T22:13:20.000Z [WARN]  a: b"));
}

TEST(LogLine, QuotesWhatCouldBeMisread) {
  const std::string start = "2023-11-14T22:13:20.020Z [INFO]  raft: said";
  const struct {
    std::string value, shown;
  } kCases[] = {
      {"plain", "plain"},
      {"", R"("")"},
      {"two words", R"("two words")"},
      {"a=b", R"("a=b")"},
      {"a \"b\"", R"("a \"b\"")"},
      {"a\nb", R"("a\nb")"},
      {"\x1b[2J", R"("\u001b[2J")"},
      {"\x08", R"("\b")"},
      {"\x7f", R"("\u007f")"},
      {"\xc2\x9b"
       "2J",
       R"("\u009b2J")"},
      {"\xc3\xa4\xc2\xb5", "\xc3\xa4\xc2\xb5"},
  };
  for (const auto& one : kCases) EXPECT_EQ(text("said", {{"what", one.value}}), start + " what=" + one.shown);
}

// Sentences and names may be a plugin's.
TEST(LogLine, IsOneLineAndSaysNothingToATerminal) {
  EXPECT_EQ(text("ok\n2023-11-14T22:13:20.020Z [ERROR] raft: forged\t\x1b]0;title\x07\xc2\x9b"),
            "2023-11-14T22:13:20.020Z [INFO]  raft: ok\\n2023-11-14T22:13:20.020Z [ERROR] raft: "
            "forged\\t\\u001b]0;title\\u0007\\u009b");
  EXPECT_EQ(text("said", {{"na\nme", "value"}}), "2023-11-14T22:13:20.020Z [INFO]  raft: said na\\nme=value");
}

TEST(LogLine, AsJsonReadsBack) {
  const std::string sentence = "a\nb\x7f\xc2\x9b";
  const std::string line = format(kTime, Level::warn, "raft", sentence, std::vector<Field>{{"term", 2}}, true);
  EXPECT_EQ(line.find_first_of("\n\x7f\xc2"), std::string::npos) << line;
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["@timestamp"], "2023-11-14T22:13:20.020Z");
  EXPECT_EQ(json["@level"], "WARN");
  EXPECT_EQ(json["@module"], "raft");
  EXPECT_EQ(json["@message"], sentence);
  EXPECT_EQ(json["term"], "2");
}

}  // namespace
}  // namespace drover::log

#include "drover/plugin_programs/plugin_log.h"

#include <gtest/gtest.h>

namespace drover::plugin_programs {
namespace {

TEST(PluginLog, ReadsEveryForm) {
  using Fields = std::vector<std::pair<std::string, std::string>>;
  const struct {
    const char* line;
    log::Level level;
    const char* message;
    Fields fields;
  } kCases[] = {
      {R"({"@level":"warn","@message":"low","@timestamp":"2026-01-01T00:00:00.000000Z","@module":"acme.x","n":3,"deep":{"a":[1]}})",
       log::Level::warn,
       "low",
       {{"module", "acme.x"}, {"timestamp", "2026-01-01T00:00:00.000000Z"}, {"deep", R"({"a":[1]})"}, {"n", "3"}}},
      {R"({"@message":"no level"})", log::Level::debug, "no level", {}},
      {R"({"message":"not hclog"})", log::Level::debug, R"({"message":"not hclog"})", {}},
      {"{broken", log::Level::debug, "{broken", {}},
      {"[ERROR] it broke", log::Level::error, "it broke", {}},
      {"[INFO]tight", log::Level::info, "tight", {}},
      {"[WHAT] ever", log::Level::debug, "[WHAT] ever", {}},
      {"", log::Level::debug, "", {}},
      {"any text", log::Level::debug, "any text", {}},
  };
  for (const auto& c : kCases) {
    LogReader reader;
    const LogEntry entry = reader.read(c.line);
    EXPECT_EQ(entry.level, c.level) << c.line;
    EXPECT_EQ(entry.message, c.message) << c.line;
    EXPECT_EQ(entry.fields, c.fields) << c.line;
  }
}

TEST(PluginLog, WhatIsNoTextAndWhatIsTooDeepIsMadeHarmless) {
  LogReader reader;
  EXPECT_EQ("caf\xef\xbf\xbd", reader.read("caf\xe9").message);
  EXPECT_EQ("\xef\xbf\xbd", reader.read("[INFO] \xff").message);
  const std::string deep =
      R"({"@message":"deep","@level":"info","value":)" + std::string(30'000, '[') + std::string(30'000, ']') + "}";
  const LogEntry entry = reader.read(deep);
  EXPECT_EQ("deep", entry.message);
  EXPECT_EQ(log::Level::info, entry.level);
}

TEST(PluginLog, APanicGoesOnUntilALineSaysItsLevel) {
  LogReader reader;
  EXPECT_EQ(reader.read("panic: nil map").level, log::Level::error);
  EXPECT_EQ(reader.read("goroutine 1 [running]:").level, log::Level::error);
  EXPECT_EQ(reader.read("[DEBUG] on we go").level, log::Level::debug);
  EXPECT_EQ(reader.read("goroutine 2").level, log::Level::debug);
}

}  // namespace
}  // namespace drover::plugin_programs

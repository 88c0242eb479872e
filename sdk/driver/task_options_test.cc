#include "drover/task_options.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

// {"a": [[[…null…]]]}
std::string nested(size_t depth) {
  return "\x81\xa1"
         "a" +
         std::string(depth, '\x91') + "\xc0";
}

TEST(TaskOptions, ReadsMsgpackOfAnyUsefulDepth) {
  auto options = TaskOptions::from_msgpack(
      "\x81\xa1"
      "a"
      "\xa1"
      "b");
  ASSERT_TRUE(options.ok()) << options.status().message();
  EXPECT_EQ("b", options->text("a"));
  EXPECT_TRUE(options->finish().ok());
  EXPECT_TRUE(TaskOptions::from_msgpack("").ok());
  EXPECT_TRUE(TaskOptions::from_msgpack(nested(50)).ok());
}

TEST(TaskOptions, RefusesWhatWouldTakeAllOfTheStack) {
  for (const size_t depth : {size_t{200}, size_t{1} << 20}) {
    const Status status = TaskOptions::from_msgpack(nested(depth)).status();
    EXPECT_EQ(Code::invalid_argument, status.code()) << depth;
    EXPECT_NE(std::string::npos, status.message().find("deeper than 100")) << status.message();
  }
  EXPECT_EQ(Code::invalid_argument, TaskOptions::from_msgpack(std::string(1 << 20, '\x91')).status().code());
  EXPECT_EQ(Code::invalid_argument, TaskOptions::from_msgpack("\xc1").status().code());
}

TEST(TaskOptions, ReadsNumbersUnderAnyNames) {
  const std::map<std::string, int64_t> ports = {{"http", 80}, {"db", 5432}};
  for (const char* json : {R"({"ports": {"http": 80, "db": "5432"}})", R"({"ports": [{"http": 80}, {"db": 5432}]})"}) {
    auto options = TaskOptions::from_json(json);
    EXPECT_EQ(ports, options->integer_map("ports")) << json;
    EXPECT_TRUE(options->finish().ok()) << json;
  }
  for (const char* json : {"{}", R"({"ports": null})", R"({"ports": []})"}) {
    auto options = TaskOptions::from_json(json);
    EXPECT_TRUE(options->integer_map("ports").empty()) << json;
    EXPECT_TRUE(options->finish().ok()) << json;
  }
  for (const char* json : {R"({"ports": 80})", R"({"ports": ["http"]})", R"({"ports": {"http": "x"}})"}) {
    auto options = TaskOptions::from_json(json);
    (void)options->integer_map("ports");
    EXPECT_EQ(invalid_argument("config option \"ports\" must be a block of whole numbers"), options->finish()) << json;
  }
}

}  // namespace
}  // namespace drover

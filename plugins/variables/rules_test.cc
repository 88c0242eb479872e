#include "rules.h"

#include <gtest/gtest.h>

#include "drover/api/variables.pb.h"

namespace drover::variables {
namespace {

TEST(VariableRules, SayWhichPathsMayBe) {
  const struct {
    std::string path;
    const char* error;
  } cases[] = {
      {"a", ""},
      {"app/db-1_x~y", ""},
      {std::string(128, 'p'), ""},
      {"nomadic", ""},
      {"nomad/jobs", ""},
      {"nomad/jobs/web/g/t/deeper", ""},
      {"nomad/job-templates/one", ""},
      {"", "variable requires path"},
      {std::string(129, 'p'), "invalid path"},
      {"a b", "invalid path \"a b\""},
      {"a.b", "invalid path \"a.b\""},
      {"ü", "invalid path"},
      {"nomad", "reserved top-level directory path"},
      {"nomad/", "only paths at"},
      {"nomad/other", "only paths at"},
      {"nomad/jobsx", "only paths at"},
      {"nomad/job-templates", "reserved directory path"},
      {"nomad/job-templates/", "reserved directory path"},
      {"nomad/job-templates/a/b", "reserved directory path"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.path);
    const Status status = check_path(c.path);
    EXPECT_EQ(status.ok(), *c.error == '\0') << status.message();
    EXPECT_NE(status.message().find(c.error), std::string::npos) << status.message();
  }
}

TEST(VariableRules, TakeAnObjectOfStringsUpToItsSize) {
  EXPECT_EQ(checked_items(R"({ "b": "2", "a": "1" })").value_or("?"), R"({"a":"1","b":"2"})");
  const auto of_size = [](size_t value) { return R"({"k":")" + std::string(value, 'x') + "\"}"; };
  EXPECT_TRUE(checked_items(of_size(kMaxItems - 1)).ok());
  EXPECT_EQ(checked_items(of_size(kMaxItems)).status().message(), "variables are limited to 64KiB in total size");
  EXPECT_EQ(checked_items("{}").status().message(), "empty variables are invalid");
  for (const char* wrong : {"[]", "7", "{\"a\":1}", "{\"a\":null}", "{\"a\":{\"b\":\"c\"}}", "{"}) {
    EXPECT_EQ(checked_items(wrong).status().code(), Code::invalid_argument) << wrong;
  }
  // A value never stands in an error.
  EXPECT_EQ(checked_items(R"({"key":["topsecret"]})").status().message().find("topsecret"), std::string::npos);
}

TEST(VariableRules, ReadTheCheckIndex) {
  EXPECT_EQ(read_cas("")->has_value(), false);
  EXPECT_EQ(read_cas("0")->value(), 0u);
  EXPECT_EQ(read_cas("18446744073709551615")->value(), UINT64_MAX);
  for (const char* wrong : {"x", "-1", "1x", " 1", "18446744073709551616"}) {
    EXPECT_NE(read_cas(wrong).status().message().find("can not parse cas: "), std::string::npos) << wrong;
  }
}

TEST(VariableRules, FillInALock) {
  v1::VariableLock lock;
  EXPECT_EQ(checked_lock(lock)->ttl(), 15'000'000'000);
  EXPECT_EQ(checked_lock(lock)->lock_delay(), 15'000'000'000);
  lock.set_ttl(-1);
  EXPECT_EQ(checked_lock(lock).status().message(), "Lock delay and TTL must be positive");
  lock.set_ttl(9'999'999'999);
  EXPECT_FALSE(checked_lock(lock).ok());
  lock.set_ttl(10'000'000'000);
  EXPECT_TRUE(checked_lock(lock).ok());
}

}  // namespace
}  // namespace drover::variables

#include "node_meta/node_meta.h"

#include <gtest/gtest.h>

#include "drover/api/client.pb.h"
#include "testing/agent_fixture.h"

namespace drover::agent {
namespace {

TEST(MetaChanges, AreReadFromAnObjectOfTexts) {
  const struct {
    const char* json;
    const char* error;
  } cases[] = {
      {R"({"rack": "r1", "site.row_2": "", "a-b": null, "_x": "é"})", ""},
      {"", "missing required Meta object"},
      {"null", "missing required Meta object"},
      {"{}", "missing required Meta object"},
      {R"(["a"])", "missing required Meta object"},
      {R"({"": "x"})", "metadata key \"\""},
      {R"({"a b": "x"})", "metadata key \"a b\""},
      {R"({"a.": "x"})", "metadata key \"a.\""},
      {R"({".a": "x"})", "metadata key \".a\""},
      {R"({"a..b": "x"})", "metadata key \"a..b\""},
      {R"({"2a": "x"})", "metadata key \"2a\""},
      {R"({"a": 1})", "the value of metadata key \"a\""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.json);
    const auto changes = parse_meta(c.json);
    EXPECT_EQ(changes.ok(), *c.error == '\0') << changes.status().message();
    EXPECT_NE(changes.status().message().find(c.error), std::string::npos) << changes.status().message();
  }
  EXPECT_EQ(meta_json(*parse_meta(R"({"b": "x", "a": null})")), R"({"a":null,"b":"x"})");
}

TEST(MetaChanges, GoOverTheConfiguration) {
  const Variables configured = {{"rack", "r1"}, {"owner", "ops"}};
  const struct {
    const char* name;
    MetaChanges before, next;
    MetaChanges after;
    Variables all;
  } cases[] = {
      {"a new key", {}, {{"new", "1"}}, {{"new", "1"}}, {{"rack", "r1"}, {"owner", "ops"}, {"new", "1"}}},
      {"another value", {}, {{"rack", "r2"}}, {{"rack", "r2"}}, {{"rack", "r2"}, {"owner", "ops"}}},
      {"unset, of the configuration", {}, {{"rack", {}}}, {{"rack", {}}}, {{"owner", "ops"}}},
      {"set again", {{"rack", {}}}, {{"rack", "r3"}}, {{"rack", "r3"}}, {{"rack", "r3"}, {"owner", "ops"}}},
      {"unset, of a change", {{"new", "1"}}, {{"new", {}}}, {}, configured},
      {"unset, of nobody", {}, {{"none", {}}}, {}, configured},
      {"the others stay",
       {{"x", "1"}},
       {{"y", "2"}},
       {{"x", "1"}, {"y", "2"}},
       {{"rack", "r1"}, {"owner", "ops"}, {"x", "1"}, {"y", "2"}}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const MetaChanges after = changed_meta(c.before, c.next, configured);
    EXPECT_EQ(after, c.after);
    EXPECT_EQ(merged_meta(configured, after), c.all);
  }
}

class MetaOfANode : public AgentTest {
 protected:
  std::string apply(const std::string& json) {
    v1::ApplyNodeMetaRequest request;
    request.set_meta(json);
    const auto answer = ask<v1::NodeMetaResponse>("Apply", request);
    return answer ? answer->dynamic() : answer.status().to_string();
  }
  bool registers_with(const std::string& key, const std::string& value) {
    return servers_.wait([&] {
      const auto at = servers_.node->meta().find(key);
      return value.empty() ? at == servers_.node->meta().end()
                           : at != servers_.node->meta().end() && at->second == value;
    });
  }
};

TEST_F(MetaOfANode, IsRegisteredAnewAndKeptOverARestart) {
  start();
  EXPECT_EQ(apply(R"({"rack": "r7"})"), R"({"rack":"r7"})");
  EXPECT_TRUE(registers_with("rack", "r7"));
  EXPECT_EQ(apply(R"({"rack": 7})").substr(0, 16), "invalid_argument");
  stop();
  start();
  EXPECT_TRUE(registers_with("rack", "r7"));
  const auto read = ask<v1::NodeMetaResponse>("Read", v1::NodeMetaRequest());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->meta().at("rack"), "r7");
  EXPECT_TRUE(read->static_().empty());
  EXPECT_EQ(apply(R"({"rack": null})"), "{}");
  EXPECT_TRUE(registers_with("rack", ""));
}

}  // namespace
}  // namespace drover::agent

#include "drover/manifest.h"

#include "gtest/gtest.h"

namespace drover {
namespace {

constexpr const char* kWhole = R"({
  "name": "jobs", "version": "0.1.0", "sdk": "0.1", "tier": "exact", "kind": "module",
  "summary": "Jobs",
  "roles": ["server", "command"],
  "provides": ["jobs"], "requires": ["scheduler", "parser?"],
  "commands": ["job run"],
  "enabled": false })";

TEST(Manifest, SaysWhatAPluginIs) {
  auto manifest = parse_manifest(kWhole);

  ASSERT_TRUE(manifest) << manifest.status().to_string();
  EXPECT_EQ(manifest->name, "jobs");
  EXPECT_EQ(manifest->version, "0.1.0");
  EXPECT_EQ(manifest->sdk, "0.1");
  EXPECT_EQ(manifest->tier, "exact");
  EXPECT_EQ(manifest->kind, "module");
  EXPECT_EQ(manifest->summary, "Jobs");
  EXPECT_TRUE(manifest->has_role("server"));
  EXPECT_TRUE(manifest->has_role("command"));
  EXPECT_FALSE(manifest->has_role("client"));
  EXPECT_EQ(manifest->provides, std::vector<std::string>{"jobs"});
  ASSERT_EQ(manifest->requirements.size(), 2u);
  EXPECT_EQ(manifest->requirements[0].capability, "scheduler");
  EXPECT_FALSE(manifest->requirements[0].optional);
  EXPECT_EQ(manifest->requirements[1].capability, "parser");
  EXPECT_TRUE(manifest->requirements[1].optional);
  EXPECT_EQ(manifest->commands, std::vector<std::string>{"job run"});
  EXPECT_FALSE(manifest->enabled);
}

TEST(Manifest, IsEnabledUnlessItSaysOtherwise) {
  auto manifest = parse_manifest(R"({"name":"a","version":"1","sdk":"0.1","tier":"stable","kind":"device"})");

  ASSERT_TRUE(manifest) << manifest.status().to_string();
  EXPECT_TRUE(manifest->enabled);
  EXPECT_TRUE(manifest->roles.empty());
}

TEST(Manifest, SaysWhatIsWrong) {
  struct Case {
    const char* name;
    const char* json;
    const char* message;
  };
  const Case cases[] = {
      {"nothing", "", "line 1: is not valid JSON"},
      {"half", "{\n\"name\": \"a\",\n", "line 3: is not valid JSON"},
      {"a list", "[]", "must be a JSON object"},
      {"an unknown key", R"({"nam": "a"})", "unknown key \"nam\"; did you mean \"name\"?"},
      {"a strange key", R"({"colour_of_the_bicycle": "red"})", "unknown key \"colour_of_the_bicycle\""},
      {"no name", R"({"version":"1"})", "\"name\" is missing"},
      {"an empty name", R"({"name":""})", "\"name\" must be a text"},
      {"a number for a text", R"({"name":1})", "\"name\" must be a text"},
      {"no version", R"({"name":"a"})", "\"version\" is missing"},
      {"a tier", R"({"name":"a","version":"1","sdk":"1","tier":"exakt","kind":"module"})",
       "\"tier\" is \"exakt\"; it must be one of stable, exact"},
      {"a kind", R"({"name":"a","version":"1","sdk":"1","tier":"exact","kind":"plugin"})",
       "\"kind\" is \"plugin\"; it must be one of task_driver, device, check_provider, service_provider, auth_method, "
       "module"},
      {"a role", R"({"name":"a","version":"1","sdk":"1","tier":"exact","kind":"module","roles":["god"]})",
       "\"roles\" is \"god\"; it must be one of server, client, command"},
      {"a text for a list", R"({"name":"a","version":"1","sdk":"1","tier":"exact","kind":"module","roles":"server"})",
       "\"roles\" must be a list of texts"},
      {"a number in a list", R"({"name":"a","version":"1","sdk":"1","tier":"exact","kind":"module","requires":[1]})",
       "\"requires\" must be a list of texts"},
      {"a text for a truth", R"({"name":"a","version":"1","sdk":"1","tier":"exact","kind":"module","enabled":"no"})",
       "\"enabled\" must be true or false"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    auto manifest = parse_manifest(c.json);
    EXPECT_EQ(manifest.status().code(), Code::invalid_argument);
    EXPECT_EQ(manifest.status().message(), c.message);
  }
}

TEST(Manifest, CutAnywhereItIsRefused) {
  const std::string whole = kWhole;
  for (size_t length = 0; length + 1 < whole.size(); ++length) {
    EXPECT_FALSE(parse_manifest(whole.substr(0, length))) << length;
  }
}

}  // namespace
}  // namespace drover

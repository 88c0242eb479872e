// Rules that the kinds of plugins have in common, and the small rules of each.
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "drover/auth_method.h"
#include "drover/check_provider.h"
#include "drover/hclspec.h"
#include "drover/plugin_kind.h"
#include "drover/task_options.h"
#include "sdk/testing/fake_host.h"

#include "drover/v1/check_provider.pb.h"
#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover {
namespace {

TEST(PluginKind, IsFoundByEachOfItsNames) {
  namespace pb = google::protobuf;
  ASSERT_EQ(5u, plugin_kinds().size());
  for (const PluginKind& kind : plugin_kinds()) {
    const std::string protocol(kind.protocol);
    EXPECT_TRUE(hashicorp::nomad::plugins::base::proto::PluginType_IsValid(kind.type)) << kind.name;
    EXPECT_NE(nullptr, pb::DescriptorPool::generated_pool()->FindFileByName(protocol)) << protocol;
    EXPECT_EQ(&kind, kind_of_type(kind.type));
    EXPECT_EQ(&kind, kind_of_point(kind.point));
    EXPECT_EQ(&kind, kind_of_word(kind.word));
  }
  EXPECT_EQ(nullptr, kind_of_type(hashicorp::nomad::plugins::base::proto::UNKNOWN));
  EXPECT_EQ(nullptr, kind_of_point("module"));
  EXPECT_EQ("a task driver, a device plugin, a check provider, a service provider or an auth method",
            plugin_kinds_text());
}

// A plugin with one option of each sort; it keeps what it was told.
class Told final : public Configurable {
 public:
  hclspec::Spec config_schema() const override {
    hclspec::Spec schema = hclspec::object_of({
        {.name = "enabled", .type = "bool", .help = "Whether it does anything."},
        {.name = "folder", .type = "string", .is_required = true},
        {.name = "names", .type = "list(string)", .default_literal = "[]"},
        {.name = "period", .type = "string", .default_literal = "\"10s\""},
        {.name = "levels", .type = "list(list(number))"},
    });
    auto& device = *(*schema.mutable_object()->mutable_attributes())["device"].mutable_block_list();
    device.set_name("device");
    *device.mutable_nested() = hclspec::object_of({{.name = "path", .type = "string", .is_required = true}});
    return schema;
  }
  void set_agent(const AgentInfo& agent) override { is_dev = agent.dev_mode; }
  Status configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) override {
    config = request.msgpack_config();
    return ok_status();
  }

  bool is_dev = false;
  std::string config;
};

const ConfigOption& option(const ConfigSchema& schema, std::string_view name) {
  const auto found = std::ranges::find(schema.options, name, &ConfigOption::name);
  EXPECT_NE(schema.options.end(), found) << name;
  return *found;
}

TEST(Configurable, DeclaresItsOwnSchemaInsideTheAgent) {
  testing::FakeHost host;
  ASSERT_TRUE(declare_configuration(host.rows(), Told()).ok());
  const ConfigSchema& schema = host.rows().schemas().at("plugin");

  ASSERT_EQ(6u, schema.options.size());
  EXPECT_EQ(ConfigType::boolean, option(schema, "enabled").type);
  EXPECT_EQ("Whether it does anything.", option(schema, "enabled").help);
  EXPECT_TRUE(option(schema, "folder").required);
  EXPECT_EQ(ConfigType::string_list, option(schema, "names").type);
  EXPECT_EQ("", option(schema, "names").default_text);
  EXPECT_EQ("10s", option(schema, "period").default_text);
  EXPECT_EQ(ConfigType::any, option(schema, "levels").type);
  EXPECT_EQ(ConfigType::repeated_block, option(schema, "device").type);
  EXPECT_EQ("path", option(schema, "device").options.at(0).name);
}

TEST(Configurable, GetsInsideTheAgentWhatAProgramGets) {
  testing::FakeHost host;
  host.agent_info().dev_mode = true;
  ASSERT_TRUE(declare_configuration(host.rows(), Told()).ok());
  auto block = parse_config("agent.hcl", "folder = \"/d\"\nlevels = [[1], [2]]\ndevice {\n  path = \"/dev/a\"\n}\n");
  ASSERT_TRUE(block.ok()) << block.status().to_string();
  auto checked = apply_schema(*block, host.rows().schemas().at("plugin"));
  ASSERT_TRUE(checked.ok()) << checked.status().to_string();
  host.configure(*std::move(checked));

  Told told;
  const Status status = configure_from(host, told);

  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_TRUE(told.is_dev);
  auto options = TaskOptions::from_msgpack(told.config);
  ASSERT_TRUE(options.ok());
  EXPECT_TRUE(options->boolean("enabled", true)) << "null, as nothing was written";
  EXPECT_EQ("/d", options->text("folder"));
  EXPECT_EQ("10s", options->text("period"));
  EXPECT_TRUE(options->text_list("names").empty());
}

TEST(CheckRequest, SaysWhereAndForHowLong) {
  v1::RunCheckRequest request;
  request.set_type("redis");
  EXPECT_EQ(check::place_of(request).status(),
            invalid_argument("port: a check of the type \"redis\" needs an address and a port"));
  request.set_address("::1");
  EXPECT_FALSE(check::place_of(request).ok()) << "no port";
  request.set_port(65536);
  EXPECT_FALSE(check::place_of(request).ok()) << "there is none";
  request.set_port(80);
  EXPECT_EQ(*check::place_of(request), "[::1]:80");
  request.set_address("db.example");
  EXPECT_EQ(*check::place_of(request), "db.example:80");
  request.mutable_timeout()->set_seconds(2);
  request.mutable_timeout()->set_nanos(5);
  EXPECT_EQ(check::timeout_of(request), std::chrono::nanoseconds(2'000'000'005));
}

TEST(CheckOutput, StaysAsItIsUpToItsLimit) {
  EXPECT_EQ("", check::cut_output(""));
  EXPECT_EQ("grün", check::cut_output("grün"));
  const std::string longest(kMaxCheckOutput, 'x');
  EXPECT_EQ(longest, check::cut_output(longest));
}

TEST(CheckOutput, IsCutBetweenCharactersAndMarked) {
  std::string text;
  while (text.size() <= kMaxCheckOutput) text += "ü";
  const std::string cut = check::cut_output(text);
  EXPECT_LE(cut.size(), kMaxCheckOutput);
  EXPECT_GT(cut.size(), kMaxCheckOutput - 20);
  EXPECT_TRUE(cut.ends_with("ü … (cut)")) << cut.substr(cut.size() - 20);
}

TEST(CheckOutput, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(
      "a\xef\xbf\xbd"
      "b",
      check::cut_output("a\xff"
                        "b"));
  EXPECT_EQ("\xef\xbf\xbd\xef\xbf\xbd", check::cut_output("\xc0\xaf")) << "overlong";
  EXPECT_EQ("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", check::cut_output("\xed\xa0\x80")) << "a surrogate";
  EXPECT_EQ("\xef\xbf\xbd", check::cut_output("\xc3")) << "the first half of a character";
  EXPECT_LE(check::cut_output(std::string(10'000, '\xff')).size(), kMaxCheckOutput);
}

TEST(CheckTypes, HaveNamesThatJobsCanWrite) {
  for (const char* name : {"http", "file_age", "grpc-v1", "a"}) EXPECT_TRUE(check::is_type_name(name)) << name;
  for (const char* name : {"", "Http", "1st", "_a", "a b", "ü"}) EXPECT_FALSE(check::is_type_name(name)) << name;
  EXPECT_FALSE(check::is_type_name(std::string(65, 'a')));
}

TEST(AuthSecrets, AreTakenOutOfTheTextOfAnError) {
  const auto without = [](const Status& status, std::string_view one, std::string_view other = {}) {
    return auth::without_secrets(status, std::array{one, other});
  };
  EXPECT_EQ(auth::refused("who is [secret]?"), without(auth::refused("who is ada:lovelace?"), "ada:lovelace"));
  EXPECT_EQ(auth::refused("[secret] and [secret]"), without(auth::refused("abcdefg and abcd"), "abcd", "abcdefg"))
      << "the longer one first";
  EXPECT_EQ(auth::refused("a is no name"), without(auth::refused("a is no name"), "a")) << "too short to be one";
  EXPECT_TRUE(without(ok_status(), "lovelace").ok());
  EXPECT_EQ(auth::refused("ada is not [secret]"), without(auth::refused("ada is not lovelace"), "ada:lovelace"))
      << "the password of a name, too";
  EXPECT_EQ(auth::refused("[secret], [secret] or [secret]"),
            without(auth::refused("love:lace, love or lace"), "ada:love:lace"));
  EXPECT_EQ(auth::refused("who is lovelace?"), without(auth::refused("who is lovelace?"), "lovelace:lovelace"))
      << "the name may be said";
}

// A text in which each part of a token is replaced by one that holds the next part doubles with each of them.
TEST(AuthSecrets, AreNotLookedForInTheirReplacement) {
  std::string token = "x:parts";
  for (int i = 0; i < 60; ++i) token += ":ret]:[sec";
  const auto secrets = auth::secrets_of(token);
  EXPECT_EQ(3, std::ranges::count_if(secrets, [](std::string_view secret) { return secret.size() < 6; }))
      << "each part once";
  const std::array tokens = {std::string_view(token)};
  EXPECT_EQ(auth::refused("nobody has [secret]"), auth::without_secrets(auth::refused("nobody has " + token), tokens));
  EXPECT_EQ(auth::refused("no [secret] here"), auth::without_secrets(auth::refused("no parts here"), tokens));
}

}  // namespace
}  // namespace drover

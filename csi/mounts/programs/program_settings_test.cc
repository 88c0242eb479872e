#include "programs/program_settings.h"

#include "drover/config.h"
#include "gtest/gtest.h"

namespace drover::mounts {
namespace {

using namespace std::chrono_literals;

// As the agent hands it over: its blocks `config` in the declared form.
Result<std::vector<ProgramSettings>> read(const std::string& text) {
  DROVER_TRY(const ConfigBlock parsed, parse_config("agent.hcl", text));
  const ConfigSchema schema{
      .options = {{.name = "plugin",
                   .type = ConfigType::labelled_block,
                   .options = {{.name = "enabled", .type = ConfigType::boolean},
                               {.name = "kind"},
                               {.name = "config", .type = ConfigType::block, .options = program_schema().options}}}}};
  DROVER_TRY(const ConfigBlock checked, apply_schema(parsed, schema));
  return read_programs(checked);
}

TEST(ProgramSettings, AreReadWithTheirDefaults) {
  const auto found = read(R"(
    plugin "disks" {
      kind = "csi"
      config {
        command = "/usr/lib/disks"
        type    = "node"
      }
    }
    plugin "more" {
      kind = "csi"
      config {
        command        = "/usr/lib/more"
        args           = ["-v", "--node=one"]
        type           = "monolith"
        id             = "acme/more"
        health_timeout = "2m"
        env {
          TOKEN = "hush"
        }
      }
    }
    plugin "off" {
      enabled = false
      kind    = "csi"
      config {
        command = "/usr/lib/off"
        type    = "node"
      }
    })");
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  ASSERT_EQ(found->size(), 2u);
  const ProgramSettings& disks = found->at(0);
  EXPECT_EQ(disks.name, "disks");
  EXPECT_EQ(disks.id, "disks");
  EXPECT_EQ(disks.health_timeout, 30s);
  EXPECT_TRUE(disks.arguments.empty() && disks.environment.empty());
  EXPECT_TRUE(disks.has_node());
  EXPECT_FALSE(disks.has_controller());
  const ProgramSettings& more = found->at(1);
  EXPECT_EQ(more.id, "acme/more");
  EXPECT_EQ(more.arguments, (std::vector<std::string>{"-v", "--node=one"}));
  EXPECT_EQ(more.environment.at("TOKEN"), "hush");
  EXPECT_EQ(more.health_timeout, 2min);
  EXPECT_TRUE(more.has_node() && more.has_controller());
}

TEST(ProgramSettings, MistakesAreNamedWithTheirPlace) {
  const struct {
    const char *config, *expected;
  } cases[] = {
      {"command = \"disks\"\ntype = \"node\"",
       "agent.hcl:4: plugin \"disks\": command \"disks\" is no absolute path; write where the program lies on this "
       "machine"},
      {"command = \"/x\"\ntype = \"nod\"",
       "agent.hcl:5: option \"type\" in block \"config\" must be one of \"node\", \"controller\", \"monolith\", not "
       "\"nod\"; "
       "did you mean \"node\"?"},
      {"type = \"node\"", "agent.hcl:3: option \"command\" in block \"config\" is missing"},
      {"command = \"/x\"\ntype = \"node\"\nenv {\n  CSI_ENDPOINT = \"unix:///x\"\n}",
       "agent.hcl:6: plugin \"disks\": the agent says where the socket is: leave CSI_ENDPOINT out of env"},
      {"command = \"/x\"\ntype = \"node\"\nid = \"\"", "agent.hcl:6: plugin \"disks\": id: an identifier is empty"},
      {"command = \"/x\"\ntype = \"node\"\nhealth_timeout = \"0s\"",
       "agent.hcl:6: option \"health_timeout\" in block \"config\" must be at least 1s, not 0s"},
      {"command = \"/x\"\ntype = \"node\"\nstage_publish_base_dir = \"/x\"",
       "agent.hcl:6: unknown option \"stage_publish_base_dir\" in block \"config\""},
  };
  for (const auto& c : cases) {
    const auto found =
        read("plugin \"disks\" {\n  kind = \"csi\"\n  config {\n" + std::string(c.config) + "\n  }\n}\n");
    EXPECT_EQ(found.status().message(), c.expected);
  }
}

TEST(ProgramSettings, TwoForOneSideOfAPluginAreRefused) {
  const auto two = [](const std::string& one, const std::string& other) {
    std::string text;
    for (const auto& [name, type] : {std::pair("a", one), std::pair("b", other)}) {
      text += "plugin \"" + std::string(name) +
              "\" {\n  kind = \"csi\"\n  config {\n    command = \"/x\"\n    id = \"disks\"\n" + "    type = \"" +
              type + "\"\n  }\n}\n";
    }
    return read(text).status().message();
  };
  EXPECT_EQ(two("node", "controller"), "");
  EXPECT_EQ(
      two("node", "node"),
      "agent.hcl:11: plugin \"b\" and plugin \"a\" are both the node plugin \"disks\"; give one of them another id "
      "or type");
  EXPECT_NE(two("monolith", "controller").find("both the controller plugin"), std::string::npos);
}

TEST(ProgramSettings, TheDigestTellsWhatNeedsAnotherProcess) {
  const ProgramSettings one{.name = "a", .command = "/x", .arguments = {"b", "c"}, .id = "a", .type = "node"};
  const auto differs = [&](void (*change)(ProgramSettings&)) {
    ProgramSettings other = one;
    change(other);
    return digest_of(other) != digest_of(one);
  };
  EXPECT_TRUE(differs([](ProgramSettings& s) { s.command = "/y"; }));
  EXPECT_TRUE(differs([](ProgramSettings& s) { s.arguments = {"bc"}; }));
  EXPECT_TRUE(differs([](ProgramSettings& s) { s.environment["b"] = "c"; }));
  EXPECT_TRUE(differs([](ProgramSettings& s) { s.type = "monolith"; }));
  EXPECT_TRUE(differs([](ProgramSettings& s) { s.id = "b"; }));
  EXPECT_FALSE(differs([](ProgramSettings& s) { s.health_timeout = 1s; })) << "the agent's own affair";
}

}  // namespace
}  // namespace drover::mounts

#include "drover/agent_config.h"
#include "drover/machine_addresses.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

class AgentConfigTest : public ::testing::Test {
 protected:
  AgentConfigTest() {
    std::string pattern = fs::temp_directory_path() / "drover-config-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~AgentConfigTest() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  Result<ConfigBlock> check(std::vector<std::string> arguments) {
    warnings_.clear();
    DROVER_TRY(RawConfig raw, read_agent_arguments(arguments));
    is_dev_ = raw.dev;
    return check_config(raw, declared_, warnings_);
  }
  // Checks one file with this text.
  Result<ConfigBlock> check_text(const std::string& text) { return check({"-config", file("agent.hcl", text)}); }
  Result<AgentSettings> settings(std::vector<std::string> arguments) {
    DROVER_TRY(ConfigBlock checked, check(std::move(arguments)));
    return agent_settings(checked, is_dev_, machine_);
  }
  // The error of a file, without the folder's name.
  std::string problem(const std::string& text) {
    auto checked = check_text(text);
    std::string message = checked.status().message();
    for (size_t at = 0; (at = message.find(folder_.string() + "/")) != std::string::npos;)
      message.erase(at, folder_.string().size() + 1);
    return message;
  }

  fs::path folder_;
  DeclaredBlocks declared_ = {
      {"client",
       {.options = {{.name = "servers", .type = ConfigType::string_list, .help = "Servers."},
                    {.name = "server_join",
                     .type = ConfigType::block,
                     .help = "Servers.",
                     .options = {{.name = "retry_join", .type = ConfigType::string_list, .help = "Servers."}}},
                    {.name = "meta", .type = ConfigType::string_map, .help = "Metadata."},
                    {.name = "node_class", .help = "Class."}}}},
      {"server",
       {.options = {{.name = "eval_gc_threshold", .type = ConfigType::duration, .help = "Age.", .is_api_text = true},
                    {.name = "csi_volume_claim_gc_interval"},
                    {.name = "encrypt", .help = "Key.", .is_secret = true}}}},
      {"plugin_kind:csi",
       {.options = {{.name = "command", .help = "Program.", .required = true},
                    {.name = "type", .help = "Type.", .required = true, .one_of = {"node", "controller"}},
                    {.name = "env", .type = ConfigType::string_map, .help = "Environment.", .is_secret = true}}}},
      {"plugin:mock",
       {.options = {{.name = "speed", .type = ConfigType::integer, .default_text = "3", .help = "Speed."}}}}};
  std::vector<std::string> warnings_;
  bool is_dev_ = false;
  std::vector<InterfaceAddress> machine_;
};

// --- a plugin's block
// --------------------------------------------------------------------------------------------------

TEST_F(AgentConfigTest, APluginsRightsAndMeansAreTyped) {
  const auto checked = check_text(R"(
    plugin "acme" {
      digest = "6f1e"
      user   = "daemon"
      limits {
        memory = "256MiB"
        cpu    = 0.5
      }
    })");

  ASSERT_TRUE(checked.ok()) << checked.status().to_string();
  const ConfigBlock* acme = checked->block("plugin", "acme");
  ASSERT_TRUE(acme && acme->block("limits"));
  EXPECT_EQ(std::vector<std::string>{"6f1e"}, acme->string_list("digest"));
  EXPECT_EQ(uint64_t{256} << 20, acme->block("limits")->bytes("memory"));
  EXPECT_EQ(65'536, acme->block("limits")->integer("open_files"));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(AgentConfigTest, APluginsWrongLimitsAreNamed) {
  const std::string few = problem("plugin \"acme\" {\n  limits {\n    open_files = 3\n  }\n}\n");
  EXPECT_NE(std::string::npos, few.find("agent.hcl:3")) << few;
  EXPECT_NE(std::string::npos, few.find("open_files")) << few;
  const std::string typo = problem("plugin \"acme\" {\n  limits {\n    memroy = 3\n  }\n}\n");
  EXPECT_NE(std::string::npos, typo.find("memory")) << typo;
}

constexpr const char* kDisks = R"(
plugin "disks" {
  kind = "csi"
  config {
    command = "/usr/lib/disks"
    type    = "node"
    env {
      API_KEY = "hush"
    }
  }
}
)";

TEST_F(AgentConfigTest, APluginOfAKindIsCheckedByThatKindsSchema) {
  const std::string client = "client {\n  enabled = true\n}\n";
  const auto checked = check_text(client + kDisks);
  ASSERT_TRUE(checked.ok()) << checked.status().to_string();
  const ConfigBlock* config = checked->block("plugin", "disks")->block("config");
  ASSERT_TRUE(config);
  EXPECT_EQ(config->string("command"), "/usr/lib/disks");
  EXPECT_EQ(config->string_map("env").at("API_KEY"), "hush");
  EXPECT_TRUE(warnings_.empty());
  EXPECT_FALSE(checked->block("plugin", "csi")) << "a kind is no plugin";

  const auto raw = read_agent_arguments(std::vector<std::string>{"-config", file("agent.hcl", client + kDisks)});
  const std::string shown = config_to_json(*raw, declared_, *checked);
  EXPECT_EQ(shown.find("hush"), std::string::npos) << shown;
  EXPECT_NE(shown.find(R"("env":"<redacted>")"), std::string::npos) << shown;
}

TEST_F(AgentConfigTest, MistakesOfAPluginOfAKindHaveTheirPlace) {
  const std::string client = "client { enabled = true }\n";
  const struct {
    const char *text, *expected;
  } cases[] = {
      {"plugin \"disks\" {\n  kind = \"cis\"\n}\n",
       "agent.hcl:3: option \"kind\" in block \"plugin\" \"disks\" must be one of \"csi\", not \"cis\""},
      {"plugin \"disks\" {\n  kind = \"csi\"\n}\n", "agent.hcl:2: block \"config\" is missing"},
      {"plugin \"disks\" {\n  kind = \"csi\"\n  config {\n    comand = \"/x\"\n    type = \"node\"\n  }\n}\n",
       "agent.hcl:5: unknown option \"comand\" in block \"config\"; did you mean \"command\"?"},
      {"plugin \"disks\" {\n  kind = \"csi\"\n  user = \"daemon\"\n}\n",
       "agent.hcl:4: option \"user\" in block \"plugin\" \"disks\" is for plugins without a kind; what a plugin of the "
       "kind csi takes stands in its block config"},
      {"plugin \"mock\" {\n  kind = \"csi\"\n}\n",
       "agent.hcl:2: plugin \"mock\" is a part of the agent and has no kind: give this one another name"},
  };
  for (const auto& c : cases) {
    const std::string message = problem(client + c.text);
    EXPECT_NE(message.find(c.expected), std::string::npos) << message << "\nexpected: " << c.expected;
  }
}

TEST_F(AgentConfigTest, APluginOfAKindIsNotRunWithoutTheRole) {
  const std::string server = "server {\n  enabled = true\n}\n";
  const auto checked = check_text(server + kDisks);
  ASSERT_TRUE(checked.ok()) << checked.status().to_string();
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_.front().find("agent.hcl:5: plugin \"disks\" is not run: an agent runs plugins of the kind csi "
                                   "with client { enabled = true }"),
            std::string::npos)
      << warnings_.front();
  declared_.erase("plugin_kind:csi");
  EXPECT_TRUE(check_text(server + kDisks).ok()) << "its part is loaded in clients only";
  EXPECT_NE(problem("client { enabled = true }\n" + std::string(kDisks)).find("is switched off or not installed"),
            std::string::npos);
}

TEST_F(AgentConfigTest, APluginsNameIsALabelOrAKey) {
  for (const char* text :
       {"plugin \"mock\" {\n  config {\n    speed = 4\n  }\n}\n", "plugin = { mock = { config = { speed = 4 } } }",
        "plugin = [{ mock = [{ config = [{ speed = 4 }] }] }]",
        "plugin {\n  mock {\n    config {\n      speed = 4\n    }\n  }\n}\n",
        R"({"plugin": {"mock": {"config": {"speed": 4}}}})", R"({"plugin": [{"mock": [{"config": [{"speed": 4}]}]}]})",
        R"({"plugin": [{"mock": [{}]}, {"other": {}}, {"mock": {"config": [{}, {"speed": 4}]}}]})"}) {
    SCOPED_TRACE(text);
    const auto raw = read_agent_arguments(std::vector<std::string>{"-config", file("agent.hcl", text)});
    ASSERT_TRUE(raw.ok()) << raw.status().to_string();
    EXPECT_TRUE(raw->root.block("plugin", "mock"));  // what plugins are loaded by
    const auto checked = check_text(text);
    ASSERT_TRUE(checked.ok()) << checked.status().to_string();
    EXPECT_EQ(1, std::ranges::count(checked->blocks, std::vector<std::string>{"mock"}, &ConfigBlock::labels));
    EXPECT_EQ(4, checked->block("plugin", "mock")->block("config")->integer("speed"));
  }
}

TEST_F(AgentConfigTest, APluginWithoutANameIsRefusedWithItsPlace) {
  const std::string needs = "block \"plugin\" needs one label, as in plugin \"name\" { … }";
  EXPECT_EQ(problem("\nplugin {}\n"), "agent.hcl:2: " + needs);
  EXPECT_EQ(problem("\nplugin {\n  enabled = false\n}\n"), "agent.hcl:2: " + needs);
  EXPECT_EQ(problem("{\n  \"plugin\": {}\n}"), "agent.hcl:2: " + needs);
  EXPECT_EQ(problem("plugin \"a\" \"b\" {}\n"), "agent.hcl:1: " + needs);
  EXPECT_EQ(problem("{\"plugin\": [1]}"), "agent.hcl:1: option \"plugin\" must be a block with a label");
  EXPECT_EQ(problem("plugin \"acme\" {\n  config = 3\n}\n"), "agent.hcl:2: plugin \"acme\": config must be a block");
}

TEST_F(AgentConfigTest, APluginInTwoFilesIsOnePlugin) {
  const auto checked = check({"-config", file("a.hcl", "plugin \"mock\" {\n  enabled = true\n}\n"), "-config",
                              file("b.json", R"({"plugin": {"mock": {"config": {"speed": 5}}}})")});

  ASSERT_TRUE(checked.ok()) << checked.status().to_string();
  EXPECT_TRUE(checked->block("plugin", "mock")->boolean("enabled"));
  EXPECT_EQ(5, checked->block("plugin", "mock")->block("config")->integer("speed"));
}

TEST_F(AgentConfigTest, WhatIsForProgramsIsOfNoEffectOnAPartOfTheAgent) {
  ASSERT_TRUE(check_text("plugin \"mock\" {\n  user = \"daemon\"\n}\n").ok());
  ASSERT_EQ(1u, warnings_.size());
  EXPECT_TRUE(warnings_[0].ends_with(":1: option plugin.user has no effect on a part of the agent")) << warnings_[0];
}

// --- flags -----------------------------------------------------------------------------------------------------------

TEST_F(AgentConfigTest, FlagsHaveOneDashOrTwoAndTheirValuesStandBesideOrBehindAnEqualsSign) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"-region=mars"}, {"-region", "mars"}, {"--region=mars"}, {"--region", "mars"}}) {
    auto checked = check(arguments);
    ASSERT_TRUE(checked) << checked.status().to_string();
    EXPECT_EQ(checked->string("region"), "mars");
  }
}

TEST_F(AgentConfigTest, FlagsWinOverFiles) {
  auto checked = check({"-region=mars", "-config", file("a.hcl", "region = \"venus\"\ndatacenter = \"dc7\"\n")});

  ASSERT_TRUE(checked) << checked.status().to_string();
  EXPECT_EQ(checked->string("region"), "mars");
  EXPECT_EQ(checked->string("datacenter"), "dc7");
}

TEST_F(AgentConfigTest, LaterFilesWinAndAFolderIsReadByName) {
  fs::create_directory(folder_ / "d");
  file("d/2.hcl", "region = \"two\"");
  file("d/1.hcl", "region = \"one\"\ndatacenter = \"one\"");
  file("d/3.txt", "region = ");
  file("d/.4.hcl", "region = ");

  auto checked = check({"-config", folder_ / "d"});

  ASSERT_TRUE(checked) << checked.status().to_string();
  EXPECT_EQ(checked->string("region"), "two");
  EXPECT_EQ(checked->string("datacenter"), "one");
}

TEST_F(AgentConfigTest, RepeatedFlagsAddUp) {
  auto checked = check({"-meta", "a=1", "-meta=b=2", "-servers=s1:4647,s2:4647"});

  ASSERT_TRUE(checked) << checked.status().to_string();
  const ConfigBlock* client = checked->block("client");
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(client->string_map("meta").size(), 2u);
  EXPECT_EQ(client->string_map("meta").find("b")->second, "2");
  EXPECT_EQ(client->string_list("servers"), (std::vector<std::string>{"s1:4647", "s2:4647"}));
}

TEST_F(AgentConfigTest, WrongFlagsAreNamed) {
  struct Case {
    std::vector<std::string> arguments;
    const char* message;
  };
  const Case cases[] = {{{"-regoin=mars"}, "unknown option -regoin; did you mean \"region\"?"},
                        {{"--quite-another-thing"}, "unknown option -quite-another-thing"},
                        {{"-region"}, "option -region needs a value"},
                        {{"agent.hcl"}, "unexpected argument \"agent.hcl\"; options begin with a dash"},
                        {{"-meta", "a"}, "option -meta needs key=value"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.arguments.front());
    auto raw = read_agent_arguments(c.arguments);
    EXPECT_EQ(raw.status().code(), Code::invalid_argument);
    EXPECT_EQ(raw.status().message(), c.message);
  }
}

TEST_F(AgentConfigTest, AFileThatIsMissingIsNamed) {
  auto raw = read_agent_arguments(std::vector<std::string>{"-config=/nonexistent/agent.hcl"});

  EXPECT_EQ(raw.status().code(), Code::not_found);
  EXPECT_NE(raw.status().message().find("/nonexistent/agent.hcl"), std::string::npos);
}

// --- the schema ------------------------------------------------------------------------------------------------------

TEST_F(AgentConfigTest, AnUnknownOptionIsNamedWithItsPlaceAndTheNearestOne) {
  EXPECT_EQ(problem("region = \"a\"\n\ndatacentre = \"b\"\n"),
            "agent.hcl:3: unknown option \"datacentre\"; did you mean \"datacenter\"?");
  EXPECT_EQ(problem("server {\n  enabled = true\n  raft_snapshot_treshold = 1\n}\n"),
            "agent.hcl:3: unknown option \"raft_snapshot_treshold\" in block \"server\"; did you mean "
            "\"raft_snapshot_threshold\"?");
}

TEST_F(AgentConfigTest, AMistypedOptionIsNamedWithItsPlace) {
  EXPECT_EQ(problem("ports {\n  http = \"many\"\n}\n"),
            "agent.hcl:2: option \"http\" in block \"ports\" must be a whole number, not \"many\"");
  EXPECT_EQ(problem("log_level = \"LOUD\"\n").substr(0, 50), "agent.hcl:1: option \"log_level\" must be one of \"TR");
  EXPECT_EQ(problem("ports {\n  http = 70000\n}\n"),
            "agent.hcl:2: option \"http\" in block \"ports\" must be at most 65535, not 70000");
}

TEST_F(AgentConfigTest, EveryProblemIsSaidAtOnce) {
  const std::string text = problem("regoin = \"a\"\nports { http = \"x\" }\n");

  EXPECT_NE(text.find("agent.hcl:1: "), std::string::npos) << text;
  EXPECT_NE(text.find("agent.hcl:2: "), std::string::npos) << text;
}

TEST_F(AgentConfigTest, APluginsOwnOptionsAreCheckedByItsOwnSchema) {
  EXPECT_EQ(problem("plugin \"mock\" {\n  config {\n    sped = 4\n  }\n}\n"),
            "agent.hcl:3: unknown option \"sped\" in block \"config\"; did you mean \"speed\"?");

  auto checked = check_text("plugin \"mock\" {\n  config {\n    speed = 4\n  }\n}\n");
  ASSERT_TRUE(checked) << checked.status().to_string();
  EXPECT_EQ(checked->block("plugin", "mock")->block("config")->integer("speed"), 4);
}

TEST_F(AgentConfigTest, APluginThatIsNotMentionedHasItsDefaults) {
  for (const char* text : {"", "plugin \"mock\" {\n  enabled = true\n}\n"}) {
    auto checked = check_text(text);
    ASSERT_TRUE(checked) << checked.status().to_string();
    const ConfigBlock* mock = checked->block("plugin", "mock");
    ASSERT_NE(mock, nullptr);
    ASSERT_NE(mock->block("config"), nullptr);
    EXPECT_EQ(mock->block("config")->integer("speed"), 3);
  }
}

// --- what this version does not have
// -----------------------------------------------------------------------------------

TEST_F(AgentConfigTest, RefusesToStartWithoutTheProtectionThatIsAskedFor) {
  EXPECT_EQ(problem("tls {\n  rpc_upgrade_mode = true\n}\n"),
            "agent.hcl:2: option \"rpc_upgrade_mode\" in block \"tls\": connections in the clear beside encrypted ones "
            "would let in whoever has no certificate; set tls.rpc on all agents and restart them");
  EXPECT_EQ(problem("acl {\n  enabled = true\n}\ntls {\n  http = false\n}\n"), "");
}

TEST_F(AgentConfigTest, OptionsWithoutEffectAreReported) {
  auto checked =
      check_text("region = \"a\"\nenable_syslog = true\nserver {\n  raft_boltdb = \"k\"\n}\nsentinel {\n  x = 1\n}\n");

  ASSERT_TRUE(checked) << checked.status().to_string();
  std::ranges::sort(warnings_);
  const std::string place = (folder_ / "agent.hcl").string();
  EXPECT_EQ(warnings_, (std::vector<std::string>{place + ":2: option enable_syslog has no effect in this version",
                                                 place + ":4: option server.raft_boltdb has no effect in this version",
                                                 place + ":6: option sentinel has no effect in this version"}));
}

TEST_F(AgentConfigTest, OptionsWithEffectAreNotReported) {
  auto checked = check({"-dev", "-node=n", "-node-class=c", "-log-level=WARN"});

  ASSERT_TRUE(checked) << checked.status().to_string();
  EXPECT_TRUE(warnings_.empty()) << warnings_.front();
}

// --- settings --------------------------------------------------------------------------------------------------------

TEST_F(AgentConfigTest, DevWinsOverTheRolesOfAFile) {
  auto s =
      settings({"-dev", "-config", file("a.hcl", "client {\n  enabled = false\n}\nserver {\n  enabled = false\n}\n")});

  ASSERT_TRUE(s) << s.status().to_string();
  EXPECT_TRUE(s->dev);
  EXPECT_TRUE(s->server);
  EXPECT_TRUE(s->client);
  EXPECT_EQ(s->http_address, "127.0.0.1:4646");
  EXPECT_EQ(s->log_level, log::Level::debug);
}

TEST_F(AgentConfigTest, DevLeavesWhatIsSaid) {
  auto s = settings({"-dev", "-bind=10.0.0.7", "-log-level=ERROR"});

  ASSERT_TRUE(s) << s.status().to_string();
  EXPECT_EQ(s->http_address, "10.0.0.7:4646");
  EXPECT_EQ(s->log_level, log::Level::error);
}

TEST_F(AgentConfigTest, AnAgentHasARole) {
  EXPECT_EQ(settings({"-data-dir=/var/lib/drover"}).status().to_string(),
            "failed_precondition: neither server nor client is enabled; set server { enabled = true } or client { "
            "enabled = true }, or use -dev");
}

TEST_F(AgentConfigTest, JoinFlagsAreCollected) {
  auto raw = read_agent_arguments(
      std::vector<std::string>{"-retry-join=a", "-retry-join", "[::1]:9", "-retry-max=3", "-encrypt=k", "-join=c"});
  ASSERT_TRUE(raw) << raw.status().to_string();

  const ConfigBlock* server = raw->root.block("server");
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(server->string("encrypt"), "k");
  const ConfigBlock* join = server->block("server_join");
  ASSERT_NE(join, nullptr);
  EXPECT_EQ(join->string_list("retry_join"), (std::vector<std::string>{"a", "[::1]:9"}));
  EXPECT_EQ(join->string_list("start_join"), std::vector<std::string>{"c"});
  EXPECT_EQ(join->integer("retry_max"), 3);
}

TEST_F(AgentConfigTest, ADormantBlockIsReadOnceAPluginDeclaresIt) {
  declared_["autopilot"] = {.options = {{.name = "min_quorum", .type = ConfigType::integer, .help = "Voters."}}};

  auto checked = check_text("autopilot {\n  min_quorum = 3\n}\n");
  ASSERT_TRUE(checked) << checked.status().to_string();
  EXPECT_TRUE(warnings_.empty()) << warnings_.front();
  EXPECT_EQ(checked->block("autopilot")->integer("min_quorum"), 3);
  EXPECT_NE(problem("autopilot {\n  min_qorum = 3\n}\n").find("did you mean"), std::string::npos);
}

TEST_F(AgentConfigTest, StateHasAnAbsoluteFolder) {
  EXPECT_EQ(settings({"-server"}).status().to_string(),
            "failed_precondition: data_dir is not set; name a folder for the agent's state");
  EXPECT_EQ(settings({"-server", "-data-dir=state"}).status().to_string(),
            "invalid_argument: data_dir \"state\" is not absolute");
}

TEST_F(AgentConfigTest, AddressesFollowFromWhatIsSaid) {
  auto s = settings({"-server", "-data-dir=/d"});
  ASSERT_TRUE(s) << s.status().to_string();
  EXPECT_EQ(s->http_address, "0.0.0.0:4646");
  EXPECT_EQ(s->advertise_http, "127.0.0.1:4646");
  EXPECT_EQ(s->rpc_address, "0.0.0.0:4647");
  EXPECT_EQ(s->serf_address, "0.0.0.0:4648");
  EXPECT_EQ(s->advertise_serf, "127.0.0.1:4648");

  s = settings(
      {"-server", "-data-dir=/d", "-bind=::1", "-config",
       file("a.hcl", "ports { http = 0 }\nadvertise { rpc = \"10.0.0.1\" }\naddresses { rpc = \"10.0.0.9\" }\n")});
  ASSERT_TRUE(s) << s.status().to_string();
  EXPECT_EQ(s->http_address, "[::1]:0");
  EXPECT_EQ(s->rpc_address, "10.0.0.9:4647");
  EXPECT_EQ(s->advertise_rpc, "10.0.0.1:4647");
}

TEST_F(AgentConfigTest, OthersAreToldAnAddressOfThePrivateNetwork) {
  machine_ = {{.interface = "eth0", .address = "10.1.2.3"}};
  auto s = settings({"-server", "-data-dir=/d"});
  ASSERT_TRUE(s) << s.status().to_string();
  EXPECT_EQ(s->rpc_address, "0.0.0.0:4647");
  EXPECT_EQ(s->advertise_rpc, "10.1.2.3:4647");
  EXPECT_EQ(s->advertise_http, "10.1.2.3:4646");
  machine_ = {{.interface = "eth0", .address = "203.0.113.7"}};
  EXPECT_EQ(settings({"-server", "-data-dir=/d"})->advertise_rpc, "203.0.113.7:4647") << "the only one there is";
  machine_ = {{.interface = "eth0", .address = "10.1.2.3"}};
  EXPECT_EQ(settings({"-dev", "-bind=0.0.0.0"})->advertise_rpc, "127.0.0.1:4647");
  s = settings({"-server", "-data-dir=/d", "-config",
                file("t.hcl",
                     "bind_addr = \"{{ GetPrivateIP }}\"\n"
                     "advertise { http = \"{{ GetInterfaceIP \\\"eth0\\\" }}:80\" }\n")});
  ASSERT_TRUE(s) << s.status().to_string();
  EXPECT_EQ(s->rpc_address, "10.1.2.3:4647");
  EXPECT_EQ(s->advertise_http, "10.1.2.3:80");
  EXPECT_EQ(settings({"-server", "-data-dir=/d", "-bind={{ GetPublicIP }}"}).status().message(),
            "bind_addr: no address of this machine is meant by {{ GetPublicIP }}");
}

TEST_F(AgentConfigTest, AClientJoinsServers) {
  auto s =
      settings({"-client", "-data-dir=/d", "-config",
                file("c.hcl",
                     "client {\n  servers = [\"a:1\"]\n"
                     "  server_join {\n    retry_join = [\"b\", \"c:2\", \"2001:db8::5\", \"[::1]:9\"]\n  }\n}\n")});
  ASSERT_TRUE(s) << s.status().to_string();
  EXPECT_EQ(s->servers, (std::vector<std::string>{"a:1", "b:4647", "c:2", "[2001:db8::5]:4647", "[::1]:9"}));
  s = settings({"-client", "-data-dir=/d", "-config",
                file("d.hcl", "client {\n  server_join {\n    retry_join = [\"provider=aws tag_key=x\"]\n  }\n}\n")});
  EXPECT_NE(s.status().message().find("machines of a cloud are not looked for"), std::string::npos);
}

// --- what the agent shows --------------------------------------------------------------------------------------------

TEST_F(AgentConfigTest, OptionsAreShownInTheNamesAndFormsOfTheApi) {
  declared_["client"].options.push_back({.name = "max_kill_timeout",
                                         .type = ConfigType::duration,
                                         .default_text = "30s",
                                         .help = "Time.",
                                         .is_api_text = true});
  const std::string path = file("a.hcl", R"(
    leave_on_interrupt = true
    plugin "acme" {
      args = ["-v"]
      config { endpoint = "unix:///x" }
    })");
  const auto raw = read_agent_arguments(std::vector<std::string>{"-config", path});
  ASSERT_TRUE(raw.ok());
  const auto checked = check_config(*raw, declared_, warnings_);
  ASSERT_TRUE(checked.ok()) << checked.status().to_string();

  const std::string shown = config_to_json(*raw, declared_, *checked);

  const auto json = hcl::from_json(shown);
  ASSERT_TRUE(json.ok()) << shown;
  const auto at = [&](std::initializer_list<const char*> names) {
    const hcl::Value* value = &*json;
    for (const char* name : names) {
      const auto member = value->object().find(name);
      if (member == value->object().end()) return std::string("no ") + name;
      value = &member->second;
    }
    return hcl::to_json(*value);
  };
  struct {
    std::initializer_list<const char*> names;
    std::string value;
  } const cases[] = {
      {{"NodeName"}, "\"\""},
      {{"LeaveOnInt"}, "true"},
      {{"Ports", "HTTP"}, "4646"},
      {{"AdvertiseAddrs", "Serf"}, "\"\""},
      {{"ACL", "TokenTTL"}, "30000000000"},
      {{"TLSConfig", "EnableRPC"}, "false"},
      {{"TLSConfig", "CAFile"}, "\"\""},
      {{"Server", "EvalGCThreshold"}, "\"\""},
      {{"Server", "CSIVolumeClaimGCInterval"}, "\"\""},
      {{"Server", "RaftScrubInterval"}, "\"24h0m0s\""},
      {{"Client", "MaxKillTimeout"}, "\"30s\""},
      {{"Client", "Meta"}, "null"},
      {{"LogJson"}, "false"},
      {{"HTTPAPIResponseHeaders"}, "null"},
      {{"Sentinel"}, "null"},
      {{"DevMode"}, "false"},
      {{"Files"}, "[\"" + path + "\"]"},
  };
  for (const auto& c : cases) EXPECT_EQ(at(c.names), c.value) << *(c.names.end() - 1);
  const std::string plugins = at({"Plugins"});
  EXPECT_NE(plugins.find(R"("Args":["-v"])"), std::string::npos) << plugins;
  EXPECT_NE(plugins.find(R"("Config":{"endpoint":"unix:///x"})"), std::string::npos) << plugins;
  EXPECT_NE(plugins.find(R"("Name":"acme")"), std::string::npos) << plugins;
}

TEST_F(AgentConfigTest, SecretsAreNotShown) {
  const std::vector<std::string> arguments = {"-config", file("a.hcl", R"(
    server { encrypt = "hidden" }
    acl { replication_token = "hidden" }
    sentinel { token = "hidden" }
    plugin "acme" {
      config {
        auth { helper = "hidden" }
        login { password = "hidden" }
      }
    })")};
  const auto raw = read_agent_arguments(arguments);
  ASSERT_TRUE(raw.ok());
  const auto checked = check_config(*raw, declared_, warnings_);
  ASSERT_TRUE(checked) << checked.status().to_string();

  const std::string json = config_to_json(*raw, declared_, *checked);

  EXPECT_EQ(json.find("hidden"), std::string::npos) << json;
  EXPECT_NE(json.find("\"Datacenter\":\"dc1\""), std::string::npos) << json;
}

TEST_F(AgentConfigTest, FlagsOfConsulAndVaultSetTheirBlocks) {
  const std::vector<std::string> words = {"-consul-address=10.0.0.1:8500", "-consul-auto-advertise=false",
                                          "-consul-ssl", "-vault-enabled", "-vault-create-from-role", "apps"};
  const auto raw = read_agent_arguments(words);
  ASSERT_TRUE(raw) << raw.status().to_string();
  const ConfigBlock* consul = raw->root.block("consul");
  ASSERT_NE(consul, nullptr);
  EXPECT_EQ(consul->place.file, "flag -consul-address") << "it is there, without a file";
  EXPECT_EQ(consul->string("address"), "10.0.0.1:8500");
  EXPECT_FALSE(consul->boolean("auto_advertise", true));
  EXPECT_TRUE(consul->boolean("ssl"));
  EXPECT_TRUE(raw->root.block("vault")->boolean("enabled"));
  EXPECT_EQ(raw->root.block("vault")->string("create_from_role"), "apps");
}

TEST_F(AgentConfigTest, HelpNamesEveryFlag) {
  const std::string help = agent_help();

  for (const char* flag : {"-config=<value>", "-dev\n", "-data-dir=<value>", "-server\n", "-client\n",
                           "-consul-token=<value>\n      Sets consul.token.\n", "-vault-enabled\n"}) {
    EXPECT_NE(help.find(flag), std::string::npos) << flag;
  }
}

}  // namespace
}  // namespace drover

#include "drover/config.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace drover {
namespace {

using namespace std::chrono_literals;

ConfigSchema agent_schema() {
  ConfigOption ports{.name = "ports", .type = ConfigType::block};
  ports.options = {{.name = "http", .type = ConfigType::integer, .default_text = "4646", .min = 1, .max = 65535},
                   {.name = "rpc", .type = ConfigType::integer, .default_text = "4647"}};
  ConfigOption plugin{.name = "plugin", .type = ConfigType::labelled_block};
  plugin.options = {{.name = "args", .type = ConfigType::string_list}, {.name = "config", .type = ConfigType::any}};
  ConfigOption join{.name = "join", .type = ConfigType::repeated_block};
  join.options = {{.name = "address", .required = true}};
  ConfigSchema schema;
  schema.options = {
      {.name = "region", .default_text = "global"},
      {.name = "log_level", .default_text = "INFO", .one_of = {"DEBUG", "INFO", "WARN"}},
      {.name = "enable_debug", .type = ConfigType::boolean, .default_text = "false"},
      {.name = "interval", .type = ConfigType::duration, .default_text = "30s", .min = 1},
      {.name = "limit", .type = ConfigType::bytes, .default_text = "1MiB"},
      {.name = "ratio", .type = ConfigType::number},
      {.name = "servers", .type = ConfigType::string_list, .default_text = "a, b"},
      {.name = "meta", .type = ConfigType::string_map},
      ports,
      plugin,
      join,
  };
  return schema;
}

std::string problems(const std::string& text) {
  Result<ConfigBlock> block = parse_config("agent.hcl", text);
  return block ? check_schema(*block, agent_schema()).message() : block.status().message();
}

ConfigBlock read(const std::string& text) {
  Result<ConfigBlock> block = parse_config("agent.hcl", text);
  EXPECT_TRUE(block.ok()) << block.status().message();
  Result<ConfigBlock> typed = apply_schema(block.value_or({}), agent_schema());
  EXPECT_TRUE(typed.ok()) << typed.status().message();
  return typed.value_or({});
}

TEST(Config, FormsOfHcl1AndJsonReadTheSame) {
  const char* texts[] = {
      "region = \"eu\"\nenable_debug = true\ninterval = \"1h30m\"\nlimit = \"64 MiB\"\nratio = 0.5\nservers = [\"x\"]\n"
      "meta {\n  \"a.b\" = \"1\"\n  c = 2\n}\nports { http = 80 }\n"
      "plugin \"raw_exec\" {\n  args = [\"-v\"]\n  config {\n    enabled = true\n  }\n}\n"
      "join { address = \"p\" }\njoin { address = \"q\" }\n",
      "region = \"eu\"\nenable_debug = \"true\"\ninterval = 5400000000000\nlimit = 67108864\nratio = \"0.5\"\n"
      "servers = \"x\"\nmeta = { \"a.b\" = 1, c = \"2\" }\nports = { http = \"80\" }\n"
      "plugin = { raw_exec = { args = [\"-v\"], config = { enabled = true } } }\n"
      "join = [{ address = \"p\" }, { address = \"q\" }]\n",
      " {\"region\": \"eu\", \"enable_debug\": true, \"interval\": \"90m\", \"limit\": \"65536KiB\", \"ratio\": 0.5,\n"
      "\"servers\": [\"x\"], \"meta\": {\"a.b\": \"1\", \"c\": \"2\"}, \"ports\": [{\"http\": 80}],\n"
      "\"plugin\": [{\"raw_exec\": {\"args\": [\"-v\"], \"config\": {\"enabled\": true}}}],\n"
      "\"join\": [{\"address\": \"p\"}, {\"address\": \"q\"}]}",
  };
  for (const char* text : texts) {
    SCOPED_TRACE(text);
    ConfigBlock config = read(text);
    EXPECT_EQ("eu", config.string("region"));
    EXPECT_TRUE(config.boolean("enable_debug"));
    EXPECT_EQ(90min, config.duration("interval"));
    EXPECT_EQ(64u << 20, config.bytes("limit"));
    EXPECT_EQ(0.5, config.number("ratio"));
    EXPECT_EQ(std::vector<std::string>{"x"}, config.string_list("servers"));
    EXPECT_EQ((std::map<std::string, std::string, std::less<>>{{"a.b", "1"}, {"c", "2"}}), config.string_map("meta"));
    ASSERT_NE(nullptr, config.block("ports"));
    EXPECT_EQ(80, config.block("ports")->integer("http"));
    EXPECT_EQ(4647, config.block("ports")->integer("rpc"));
    const ConfigBlock* plugin = config.block("plugin", "raw_exec");
    ASSERT_NE(nullptr, plugin);
    EXPECT_EQ(std::vector<std::string>{"-v"}, plugin->string_list("args"));
    ASSERT_NE(nullptr, plugin->block("config"));
    EXPECT_TRUE(plugin->block("config")->boolean("enabled"));
    ASSERT_EQ(2u, config.all("join").size());
    EXPECT_EQ("q", config.all("join")[1]->string("address"));
  }
}

TEST(Config, DefaultsComeFromTheSchema) {
  ConfigBlock config = read("");
  EXPECT_EQ("global", config.string("region"));
  EXPECT_FALSE(config.boolean("enable_debug", true));
  EXPECT_EQ(30s, config.duration("interval"));
  EXPECT_EQ(1u << 20, config.bytes("limit"));
  EXPECT_EQ((std::vector<std::string>{"a", "b"}), config.string_list("servers"));
  EXPECT_EQ(4646, config.block("ports")->integer("http"));
  EXPECT_EQ(0, config.block("ports")->place.line);
  EXPECT_FALSE(config.has("ratio"));
  EXPECT_EQ(2.5, config.number("ratio", 2.5));
}

TEST(Config, Problems) {
  struct Case {
    const char* text;
    const char* problem;
  } cases[] = {
      {"regoin = \"x\"\n", "agent.hcl:1: unknown option \"regoin\"; did you mean \"region\"?"},
      {"\nports {\n  htp = 1\n}\n", "agent.hcl:3: unknown option \"htp\" in block \"ports\"; did you mean \"http\"?"},
      {"ports = {\n  http = \"x\"\n}\n",
       "agent.hcl:2: option \"http\" in block \"ports\" must be a whole number, not \"x\""},
      {"{\"ports\": {\n \"http\": 1.5}}",
       "agent.hcl:2: option \"http\" in block \"ports\" must be a whole number, not 1.5"},
      {"ports { http = 70000 }", "agent.hcl:1: option \"http\" in block \"ports\" must be at most 65535, not 70000"},
      {"interval = \"10\"", "agent.hcl:1: option \"interval\" must be a duration, not \"10\""},
      {"interval = \"5ms\"", "agent.hcl:1: option \"interval\" must be at least 1s, not 5ms"},
      {"log_level = \"DEBG\"",
       "agent.hcl:1: option \"log_level\" must be one of \"DEBUG\", \"INFO\", \"WARN\", not \"DEBG\"; did you mean "
       "\"DEBUG\"?"},
      {"limit = \"5 parsecs\"", "agent.hcl:1: option \"limit\" must be a size in bytes, not \"5 parsecs\""},
      {"servers = [[1]]", "agent.hcl:1: option \"servers\" must be a list of strings, not [[1]]"},
      {"meta = 1", "agent.hcl:1: option \"meta\" must be a map of strings, not 1"},
      {"ports = 1", "agent.hcl:1: option \"ports\" must be a block"},
      {"ports \"x\" {}", "agent.hcl:1: block \"ports\" takes no label"},
      {"plugin {\n args = []\n}", "agent.hcl:1: block \"plugin\" needs one label, as in plugin \"name\" { … }"},
      {"join {}", "agent.hcl:1: option \"address\" in block \"join\" is missing"},
      {"region {}", "agent.hcl:1: option \"region\" is a string, not a block; write region = …"},
      {"a = 1\nregion = []\n",
       "agent.hcl:1: unknown option \"a\"\nagent.hcl:2: option \"region\" must be a string, not "
       "[]"},
      {"region = \nlog_level = ]",
       "agent.hcl:1:10: error: expected an expression, found the end of the line\n"
       "agent.hcl:2:13: error: expected an expression, found ]"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.text);
    EXPECT_EQ(c.problem, problems(c.text));
  }
}

TEST(Config, AProblemWithASecretDoesNotRepeatIt) {
  const ConfigSchema schema{.options = {{.name = "secrets", .type = ConfigType::string_map, .is_secret = true}}};
  const auto config = apply_schema(*parse_config("a.hcl", "secrets = [\"hidden\"]\n"), schema);
  ASSERT_FALSE(config.ok());
  EXPECT_EQ("a.hcl:1: option \"secrets\" must be a map of strings", config.status().message());
}

TEST(Config, LaterFilesWin) {
  ConfigBlock base = *parse_config("a",
                                   "region = \"x\"\nservers = [\"a\"]\nports {\n http = 1\n rpc = 2\n}\n"
                                   "plugin \"p\" {\n args = [\"1\"]\n}\nmeta { a = 1 }\n");
  ConfigBlock over = *parse_config("b",
                                   "{\"servers\": [\"b\"], \"ports\": {\"http\": 3}, \"meta\": {\"b\": 2},\n"
                                   "\"plugin\": {\"p\": {\"config\": {\"x\": 1}}}}");
  ConfigBlock config = *apply_schema(merge(base, over), agent_schema());
  EXPECT_EQ("x", config.string("region"));
  EXPECT_EQ(std::vector<std::string>{"b"}, config.string_list("servers"));
  EXPECT_EQ(3, config.block("ports")->integer("http"));
  EXPECT_EQ(2, config.block("ports")->integer("rpc"));
  EXPECT_EQ(2u, config.string_map("meta").size());
  ASSERT_EQ(1u, config.all("plugin").size());
  EXPECT_EQ("b:1", config.block("ports")->attributes.at("http").place.to_string());
  EXPECT_EQ(std::vector<std::string>{"1"}, config.block("plugin", "p")->string_list("args"));
  EXPECT_EQ(1, config.block("plugin", "p")->block("config")->integer("x"));
}

TEST(Config, LoadsFilesByContent) {
  std::filesystem::path folder = std::filesystem::temp_directory_path() / ("drover_config_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::string path = folder / "agent.hcl";
  std::ofstream(path) << "\n {\"region\": \"json\"}";
  EXPECT_EQ("json", load_config_file(path)->string("region"));
  std::ofstream(path) << "region = \"${NOT_A_REFERENCE}\"";
  EXPECT_EQ("${NOT_A_REFERENCE}", load_config_file(path)->string("region"));
  EXPECT_EQ(Code::not_found, load_config_file(folder / "none").status().code());
  EXPECT_FALSE(load_config_file(folder).ok());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace drover

// Every option that the kernel and the installed plugins declare, written in each form that the configuration language
// knows. The list of options comes from the declarations, so a new option is tried without a line here.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "drover/agent_config.h"
#include "gtest/gtest.h"
#include "kernel/host/plugin_command.h"
#include "kernel/host/plugin_host.h"
#include "kernel/state/store.h"

namespace drover::host {
namespace {

namespace fs = std::filesystem;

enum class Form { hcl_blocks, hcl_objects, json_objects, json_arrays };
constexpr std::pair<Form, const char*> kForms[] = {{Form::hcl_blocks, "HCL blocks"},
                                                   {Form::hcl_objects, "HCL objects"},
                                                   {Form::json_objects, "JSON objects"},
                                                   {Form::json_arrays, "JSON arrays"}};

// One option and the blocks around it, outermost first.
struct Case {
  struct Step {
    std::string block, label;
  };
  std::vector<Step> path;
  ConfigOption option;

  std::string name() const {
    std::string text;
    for (const Step& step : path) text += step.block + (step.label.empty() ? "" : "." + step.label) + ".";
    return text + option.name;
  }
};

// A value that differs from the default.
std::string sample(const ConfigOption& option) {
  switch (option.type) {
    case ConfigType::boolean:
      return option.default_text == "true" ? "false" : "true";
    case ConfigType::integer:
    case ConfigType::number:
    case ConfigType::bytes: {
      const std::string low = std::to_string(static_cast<int64_t>(option.min.value_or(0)) + 1);
      return low == option.default_text ? std::to_string(std::stoll(low) + 1) : low;
    }
    case ConfigType::duration:
      return "\"1h7m\"";
    case ConfigType::string_list:
      return R"(["one", "two"])";
    default:
      if (option.one_of.empty()) return "\"sample\"";
      return "\"" + (option.one_of.front() == option.default_text ? option.one_of.back() : option.one_of.front()) + "\"";
  }
}

bool is_map(const ConfigOption& option) {
  return option.type == ConfigType::string_map || option.type == ConfigType::any;
}

// `content` inside of a block.
std::string inside(const Case::Step& step, const std::string& content, Form form) {
  const auto member = [&](const std::string& name, const std::string& value) {
    if (form == Form::hcl_objects) return name + " = { " + value + " }\n";
    if (form == Form::json_objects) return "\"" + name + "\": {" + value + "}";
    return "\"" + name + "\": [{" + value + "}]";
  };
  if (form == Form::hcl_blocks)
    return step.block + (step.label.empty() ? "" : " \"" + step.label + "\"") + " {\n" + content + "}\n";
  return member(step.block, step.label.empty() ? content : member(step.label, content));
}

std::string text_of(const Case& c, Form form) {
  const bool is_json = form == Form::json_objects || form == Form::json_arrays;
  const auto set = [&](const std::string& name, const std::string& value) {
    return is_json ? "\"" + name + "\": " + value : name + " = " + value + "\n";
  };
  std::string text = is_map(c.option) ? inside({c.option.name, ""}, set("key", "\"value\""), form)
                                      : set(c.option.name, sample(c.option));
  for (auto step = c.path.rbegin(); step != c.path.rend(); ++step) text = inside(*step, text, form);
  return is_json ? "{" + text + "}" : text;
}

void collect(const std::vector<ConfigOption>& options, const std::vector<Case::Step>& path, std::vector<Case>& into) {
  for (const ConfigOption& option : options) {
    const bool is_labelled = option.type == ConfigType::labelled_block;
    if (option.type == ConfigType::block || is_labelled || option.type == ConfigType::repeated_block) {
      std::vector<Case::Step> inner = path;
      inner.push_back({option.name, is_labelled ? "sample" : ""});
      collect(option.options, inner, into);
    } else {
      into.push_back({path, option});
    }
  }
}

// All that the schema made of a file, without the places; or the errors, without the places.
std::string outcome(const Result<ConfigBlock>& checked) {
  if (checked.ok()) return hcl::to_json(value_of(*checked));
  return std::regex_replace(checked.status().message(), std::regex("agent\\.config:[0-9]+"), "");
}

class ConfigForms : public ::testing::Test {
 protected:
  ConfigForms() {
    std::string pattern = fs::temp_directory_path() / "drover-forms-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~ConfigForms() override { fs::remove_all(folder_); }

  Result<ConfigBlock> read(const std::string& text, const DeclaredBlocks& declared) {
    const std::string file = folder_ / "agent.config";
    std::ofstream(file) << text;
    std::vector<std::string> warnings;
    DROVER_TRY(RawConfig raw, read_agent_arguments(std::vector<std::string>{"-config", file}));
    return check_config(raw, declared, warnings);
  }

  fs::path folder_;
};

TEST_F(ConfigForms, EveryDeclaredOptionIsReadAlikeInEveryForm) {
  const auto declared = declared_options({PLUGIN_FOLDER});
  ASSERT_TRUE(declared.ok()) << declared.status().to_string();
  std::vector<Case> cases;
  collect(agent_schema(*declared).options, {}, cases);
  for (const auto& [name, schema] : *declared) {
    if (name.starts_with("plugin:")) collect(schema.options, {{"plugin", name.substr(7)}, {"config", ""}}, cases);
  }
  // The kernel's own, and the blocks of plugins that must be among them.
  for (const char* name : {"ports.http", "plugin.sample.limits.cpu", "plugin.raw_exec.config.enabled", "client.meta",
                           "server.server_join.retry_join", "limits.http_max_conns_per_client", "consul.address",
                           "sentinel"}) {
    EXPECT_NE(std::ranges::find(cases, name, &Case::name), cases.end()) << name;
  }
  const std::string nothing = outcome(read("", *declared));

  for (const Case& c : cases) {
    const std::string expected = outcome(read(text_of(c, Form::hcl_blocks), *declared));
    EXPECT_NE(expected, nothing) << text_of(c, Form::hcl_blocks);
    for (const auto& [form, form_name] : kForms) {
      const std::string text = text_of(c, form);
      EXPECT_EQ(expected, outcome(read(text, *declared))) << c.name() << " in " << form_name << ":\n" << text;
    }
  }
}

TEST_F(ConfigForms, OptionsThatSoundSecretAreSecret) {
  const auto declared = declared_options({PLUGIN_FOLDER});
  ASSERT_TRUE(declared.ok()) << declared.status().to_string();
  std::vector<Case> cases;
  collect(agent_schema(*declared).options, {}, cases);
  int secrets = 0;
  for (const Case& c : cases) {
    const std::string& name = c.option.name;
    const bool sounds_so = name == "encrypt" || name == "auth" || name.ends_with("token") ||
                           name.ends_with("secret") || name.ends_with("password");
    EXPECT_EQ(c.option.is_secret, sounds_so) << c.name();
    secrets += c.option.is_secret ? 1 : 0;
  }
  EXPECT_GE(secrets, 2);
}

TEST(ConfigOptions, EachHasOneOwner) {
  state::Store store;
  CommandTable commands;
  rpc::MethodTable methods;
  ExtensionTable extensions;
  DeclaredBlocks configuration;
  const auto declare = [&](const std::string& plugin, const std::string& block, const std::string& option) {
    const auto declarations = make_declarations(plugin, {store, commands, methods, extensions, configuration});
    return declarations->configuration(block, {.options = {{.name = option}}}).to_string();
  };
  EXPECT_EQ(declare("a", "server", "colour"), "ok");
  EXPECT_EQ(declare("b", "server", "size"), "ok");
  EXPECT_EQ(declare("b", "server", "colour"), "already_exists: option server.colour is declared twice");
  EXPECT_EQ(declare("b", "server", "enabled"), "already_exists: option server.enabled is declared twice");
  EXPECT_EQ(declare("a", "plugin", "colour"), "ok");
  EXPECT_EQ(declare("b", "plugin", "colour"), "ok") << "each plugin has a block of its own";
}

}  // namespace
}  // namespace drover::host

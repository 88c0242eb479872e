// The operator's options, and that both schemas can be used.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "config/container_options.h"
#include "config/plugin_options.h"
#include "drover/hcl_value.h"
#include "drover/hclspec.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::docker {
namespace {

using Json = nlohmann::json;

std::string msgpack(const Json& json) {
  const std::vector<uint8_t> bytes = Json::to_msgpack(json);
  return {bytes.begin(), bytes.end()};
}

TEST(PluginOptions, HaveTheReferencesDefaults) {
  const auto options = read_plugin_options("");
  ASSERT_TRUE(options.ok());
  EXPECT_TRUE(options->removes_images && options->removes_containers && options->ends_dangling);
  EXPECT_FALSE(options->has_volumes || options->allows_privileged || options->is_dry_run);
  EXPECT_TRUE(read_plugin_options("", true)->has_volumes);
  EXPECT_FALSE(read_plugin_options(msgpack({{"volumes", {{"enabled", false}}}}), true)->has_volumes);
  EXPECT_EQ(std::chrono::minutes(3), options->image_delay);
  EXPECT_EQ(std::chrono::minutes(5), options->creation_grace);
  EXPECT_EQ((std::vector<std::string>{"runc", "nvidia"}), options->allowed_runtimes);
  EXPECT_EQ(13u, options->allowed_caps.size());
  EXPECT_NE(std::string::npos, options->infra_image.find("/pause-"));
}

TEST(PluginOptions, AreRefusedByName) {
  const std::pair<Json, const char*> cases[] = {
      {{{"nope", 1}}, "config option \"nope\" is unknown"},
      {{{"allow_caps", "x"}}, "config option \"allow_caps\" must be a list of texts"},
      {{{"pids_limit", -1}}, "config option \"pids_limit\" must not be negative"},
      {{{"state_dir", "here"}}, "config option \"state_dir\" must be an absolute path"},
      {{{"pull_activity_timeout", "5s"}}, "pull_activity_timeout is less than minimum, 1m0s"},
      {{{"infra_image_pull_timeout", "soon"}}, "must be a time such as \"5m\", and is \"soon\""},
      {{{"gc", {{"dangling_containers", {{"creation_grace", "5s"}}}}}}, "creation_grace is less than minimum, 1m0s"},
      {{{"gc", {{"x", 1}}}}, "config option \"gc.x\" is unknown"},
      {{{"tls", {{"cert", "/c"}}}}, "config option \"tls\" is for engines behind TCP"},
  };
  for (const auto& [config, text] : cases) {
    SCOPED_TRACE(text);
    const Status status = read_plugin_options(msgpack(config)).status();
    EXPECT_EQ(Code::invalid_argument, status.code());
    EXPECT_NE(std::string::npos, status.message().find(text)) << status.message();
  }
  EXPECT_EQ(Code::invalid_argument, read_plugin_options("\xc1").status().code());
}

TEST(Schemas, CanBeUsed) {
  EXPECT_TRUE(hclspec::check(plugin_schema()).ok());
  EXPECT_TRUE(hclspec::check(container_schema()).ok());
}

TEST(Schemas, OfThePluginHaveTheDefaultsOfTheReader) {
  const auto written = hclspec::decode(
      plugin_schema(),
      *hcl::from_json(R"({"gc": {"dangling_containers": {}}, "volumes": {}, "logging": {}, "auth": {}})"));
  ASSERT_TRUE(written.ok()) << written.status().to_string();
  const auto options = read_plugin_options(hclspec::to_msgpack(*written));
  ASSERT_TRUE(options.ok()) << options.status().to_string();
  EXPECT_TRUE(options->removes_images && options->removes_containers && options->ends_dangling);
  EXPECT_EQ("json-file", options->log_type);
  EXPECT_EQ((std::vector<std::string>{"runc", "nvidia"}), options->allowed_runtimes);
}

}  // namespace
}  // namespace drover::docker

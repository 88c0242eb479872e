// The operator's part: `plugin "docker" { config { … } }`. Values, their schema and their checks. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "drover/hclspec.h"
#include "drover/result.h"

namespace drover::docker {

struct PluginOptions {
  std::string endpoint;  // empty: DOCKER_HOST, else Docker's own socket
  std::string state_dir;
  std::string auth_config, auth_helper;
  std::vector<std::string> extra_labels;
  std::string log_type = "json-file";
  std::map<std::string, std::string> log_config;
  bool removes_images = true, removes_containers = true;
  std::chrono::nanoseconds image_delay = std::chrono::minutes(3);
  bool ends_dangling = true, is_dry_run = false;
  std::chrono::nanoseconds dangling_period = std::chrono::minutes(5);
  std::chrono::nanoseconds creation_grace = std::chrono::minutes(5);
  bool has_volumes = false;
  std::string selinux_label;
  bool allows_privileged = false;
  std::vector<std::string> allowed_caps;  // as in capabilities.h; the default set unless written
  std::string nvidia_runtime = "nvidia";
  std::vector<std::string> allowed_runtimes = {"runc", "nvidia"};
  std::string infra_image;
  std::chrono::nanoseconds infra_pull_timeout = std::chrono::minutes(5);
  std::chrono::nanoseconds pull_activity_timeout = std::chrono::minutes(2);
  int64_t pids_limit = 0;
  bool disable_log_collection = false;
};

hclspec::Spec plugin_schema();

// `is_dev_mode`: of the agent, where jobs may mount what they like unless the operator says otherwise. Errors:
// invalid_argument naming the option.
Result<PluginOptions> read_plugin_options(std::string_view msgpack, bool is_dev_mode = false);

}  // namespace drover::docker

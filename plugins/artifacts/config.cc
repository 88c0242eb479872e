#include "config.h"

#include <algorithm>

namespace drover::artifacts {
namespace {

using Type = ConfigType;

ConfigOption timeout(std::string name, std::string help) {
  return {.name = std::move(name),
          .type = Type::duration,
          .default_text = "30m",
          .help = std::move(help),
          .min = 0.001,
          .is_api_text = true};
}

std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(", "), text.size());
    if (end > 0) names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

}  // namespace

std::chrono::nanoseconds Config::longest() const {
  return std::max({http_read_timeout, gcs_timeout, git_timeout, hg_timeout, s3_timeout});
}

ConfigOption artifact_block() {
  return {.name = "artifact",
          .type = Type::block,
          .help = "Downloads of tasks on this node.",
          .options = {timeout("http_read_timeout", "For one file over HTTP."),
                      timeout("gcs_timeout", "For one file of Google Cloud Storage."),
                      timeout("git_timeout", "For one repository of git."),
                      timeout("hg_timeout", "For one repository of Mercurial."),
                      timeout("s3_timeout", "For one file of S3."),
                      {.name = "http_max_size",
                       .type = Type::bytes,
                       .default_text = "100GB",
                       .help = "Largest file over HTTP.",
                       .api_name = "HTTPMaxBytes"},
                      {.name = "decompression_file_count_limit",
                       .type = Type::integer,
                       .default_text = "4096",
                       .help = "Most entries of an archive; 0: no limit.",
                       .min = 0},
                      {.name = "decompression_size_limit",
                       .type = Type::bytes,
                       .default_text = "100GB",
                       .help = "Most bytes that an archive may hold; 0: no limit."},
                      {.name = "disable_filesystem_isolation",
                       .type = Type::boolean,
                       .default_text = "false",
                       .help = "Downloads may read and write all files of this machine."},
                      {.name = "set_environment_variables",
                       .type = Type::string,
                       .help = "Variables of the agent that downloads get, separated by commas: HTTPS_PROXY."}}};
}

Config artifact_config(const ConfigBlock* client) {
  const ConfigBlock none;
  const ConfigBlock* found = client ? client->block("artifact") : nullptr;
  const ConfigBlock& block = found ? *found : none;
  constexpr auto kTime = std::chrono::minutes(30);
  constexpr uint64_t kSize = 100'000'000'000;
  return {.http_read_timeout = block.duration("http_read_timeout", kTime),
          .gcs_timeout = block.duration("gcs_timeout", kTime),
          .git_timeout = block.duration("git_timeout", kTime),
          .hg_timeout = block.duration("hg_timeout", kTime),
          .s3_timeout = block.duration("s3_timeout", kTime),
          .http_max_size = block.bytes("http_max_size", kSize),
          .most_files = static_cast<uint64_t>(block.integer("decompression_file_count_limit", 4096)),
          .most_unpacked_bytes = block.bytes("decompression_size_limit", kSize),
          .is_isolated = !block.boolean("disable_filesystem_isolation"),
          .inherited = names_in(block.string("set_environment_variables"))};
}

}  // namespace drover::artifacts

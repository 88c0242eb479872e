// The block client.template of the agent's configuration. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "changes.h"
#include "drover/config.h"

namespace drover::templates {

struct Config {
  std::set<std::string, std::less<>> denied = {"plugin", "writeToFile"};  // functions
  bool is_sandboxed = true;                                               // templates see their allocation's files only
  Wait wait{std::chrono::seconds(5), std::chrono::minutes(4)};            // for templates that say none
  std::optional<Wait> bounds;                                             // of what templates may say
};

ConfigOption template_block();
// `client` may be null. Errors: invalid_argument with the option's place.
Result<Config> template_config(const ConfigBlock* client);

}  // namespace drover::templates

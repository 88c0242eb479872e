// The token that introduces this node to servers that do not know it.
#pragma once

#include <string>

#include "drover/result.h"

namespace drover::agent {

// From the environment; it goes before the configuration. Tasks never see it.
inline constexpr const char* kIntroductionVariable = "NOMAD_CLIENT_INTRO_TOKEN";

// Where a token may lie that nothing else says.
std::string introduction_file(const std::string& data_dir);
// The configured token, else the one in the file, where it is there. Errors: with the path, for one that cannot be read
// or is too long.
Result<std::string> introduction_token(const std::string& configured, const std::string& file);

}  // namespace drover::agent

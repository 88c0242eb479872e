// Tokens and roles as the acl commands print them.
#pragma once

#include <string>

#include "cli_command.h"

namespace drover::v1 {
class AclRole;
class AclToken;
}  // namespace drover::v1

namespace drover::cli {

std::string token_text(const v1::AclToken& token);
std::string role_text(const v1::AclRole& role);

// The content of the file, or of standard input for "-".
Result<std::string> read_text(Run& run, const std::string& path);

}  // namespace drover::cli

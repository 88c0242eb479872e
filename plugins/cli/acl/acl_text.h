// Tokens and roles as the acl commands print them.
#pragma once

#include <string>

namespace drover::v1 {
class AclRole;
class AclToken;
}  // namespace drover::v1

namespace drover::cli {

std::string token_text(const v1::AclToken& token);
std::string role_text(const v1::AclRole& role);
std::string policies_text(const v1::AclRole& role);  // their names, with commas between

}  // namespace drover::cli

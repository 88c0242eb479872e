// Auth methods and binding rules as the acl commands print them. Pure.
#pragma once

#include <string>

namespace drover::v1 {
class AclAuthMethod;
class AclBindingRule;
}  // namespace drover::v1

namespace drover::cli {

std::string auth_method_text(const v1::AclAuthMethod& method);
std::string binding_rule_text(const v1::AclBindingRule& rule);

}  // namespace drover::cli

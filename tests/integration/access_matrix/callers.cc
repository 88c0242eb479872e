#include "callers.h"

#include "drover/options.pb.h"
#include "drover/permissions.h"

namespace drover::matrix {
namespace {

// True when a policy that names `held` grants `wanted` besides: rights on host volumes bring smaller ones along.
bool brings(Access_Capability held, Access_Capability wanted) {
  switch (held) {
    case Access::HOST_VOLUME_WRITE:
      return wanted >= Access::HOST_VOLUME_CREATE && wanted <= Access::HOST_VOLUME_DELETE;
    case Access::HOST_VOLUME_REGISTER:
      return wanted == Access::HOST_VOLUME_CREATE || wanted == Access::HOST_VOLUME_READ;
    case Access::HOST_VOLUME_CREATE:
      return wanted == Access::HOST_VOLUME_READ;
    default:
      return false;
  }
}

// Each of them grants exactly one right, and those that it brings along.
class OnlyCapability final : public Permissions {
 public:
  OnlyCapability(Access::Capability capability, std::string name_space)
      : capability_(capability), name_space_(std::move(name_space)) {}
  bool may(Access_Capability capability, std::string_view name_space) const override {
    return (capability == capability_ || brings(capability_, capability)) &&
           (name_space == "*" || name_space == name_space_);
  }
  bool may_see(std::string_view name_space) const override { return name_space == name_space_; }

 private:
  const Access::Capability capability_;
  const std::string name_space_;
};

class OnlyArea final : public Permissions {
 public:
  OnlyArea(Area area, Grant grant) : area_(area), grant_(grant) {}
  Grant granted(Area area) const override { return area == area_ ? grant_ : Grant::none; }

 private:
  const Area area_;
  const Grant grant_;
};

class OnlyVariables final : public Permissions {
 public:
  explicit OnlyVariables(Access::VariableRight right) : right_(right) {}
  bool may_variable(std::string_view name_space, std::string_view, Access_VariableRight right) const override {
    const bool is_implied = right_ == Access::VARIABLE_READ && right == Access::VARIABLE_LIST;
    return name_space == "default" && (right == right_ || is_implied);
  }

 private:
  const Access::VariableRight right_;
};

Caller caller(std::string name, std::string policy, std::shared_ptr<const Permissions> permissions) {
  return {.name = "only " + std::move(name),
          .policy = std::move(policy),
          .token = "",
          .identity = {Identity::Kind::token, "", std::move(permissions)}};
}

std::string word_of(const google::protobuf::EnumDescriptor& type, int number) {
  return type.FindValueByNumber(number)->options().GetExtension(drover::text);
}

}  // namespace

std::vector<Caller> callers_with_policies() {
  std::vector<Caller> all;
  for (int each = Access::Capability_MIN + 1; each <= Access::Capability_MAX; ++each) {
    const std::string word = word_of(*Access::Capability_descriptor(), each);
    for (const std::string place : {"default", "elsewhere"}) {
      all.push_back(caller(word + " in " + place, "namespace \"" + place + "\" { capabilities = [\"" + word + "\"] }",
                           std::make_shared<OnlyCapability>(static_cast<Access::Capability>(each), place)));
    }
  }
  const std::pair<const char*, Area> areas[] = {
      {"node", Area::node}, {"agent", Area::agent}, {"operator", Area::cluster}};
  const std::pair<const char*, Grant> grants[] = {{"read", Grant::read}, {"write", Grant::write}};
  for (const auto& [area, which] : areas) {
    for (const auto& [word, grant] : grants)
      all.push_back(caller(std::string(area) + ":" + word, std::string(area) + " { policy = \"" + word + "\" }",
                           std::make_shared<OnlyArea>(which, grant)));
  }
  for (const auto& [word, grant] : {std::pair("list", Grant::list), std::pair("read", Grant::read)})
    all.push_back(caller(std::string("plugin:") + word, std::string("plugin { policy = \"") + word + "\" }",
                         std::make_shared<OnlyArea>(Area::plugin, grant)));
  for (int each = Access::VariableRight_MIN + 1; each <= Access::VariableRight_MAX; ++each) {
    const std::string word = word_of(*Access::VariableRight_descriptor(), each);
    all.push_back(caller("variables " + word,
                         "namespace \"default\" {\n  variables {\n    path \"*\" {\n      capabilities = [\"" + word +
                             "\"]\n    }\n  }\n}",
                         std::make_shared<OnlyVariables>(static_cast<Access::VariableRight>(each))));
  }
  return all;
}

}  // namespace drover::matrix

#include "rules/policy.h"

#include <initializer_list>
#include <optional>
#include <set>

#include "drover/config.h"
#include "drover/json.h"
#include "drover/object_name.h"
#include "drover/options.pb.h"

namespace drover::acl {
namespace {

constexpr const char* kFile = "policy";

constexpr Capabilities set_of(std::initializer_list<Access::Capability> all) {
  Capabilities set = 0;
  for (const Access::Capability each : all) set |= 1u << each;
  return set;
}

constexpr Capabilities kReadNamespace = set_of(
    {Access::LIST_JOBS, Access::PARSE_JOB, Access::READ_JOB, Access::CSI_LIST_VOLUME, Access::CSI_READ_VOLUME,
     Access::READ_JOB_SCALING, Access::LIST_SCALING_POLICIES, Access::READ_SCALING_POLICY, Access::HOST_VOLUME_READ});
constexpr Capabilities kWriteNamespace =
    kReadNamespace | set_of({Access::SCALE_JOB, Access::SUBMIT_JOB, Access::DISPATCH_JOB, Access::READ_LOGS,
                             Access::READ_FS, Access::ALLOC_EXEC, Access::ALLOC_LIFECYCLE, Access::CSI_MOUNT_VOLUME,
                             Access::CSI_WRITE_VOLUME, Access::SUBMIT_RECOMMENDATION, Access::HOST_VOLUME_CREATE});
// A right on host volumes, with those that it brings along.
constexpr Capabilities kCreateHostVolumes = set_of({Access::HOST_VOLUME_CREATE, Access::HOST_VOLUME_READ});
constexpr Capabilities kRegisterHostVolumes = kCreateHostVolumes | set_of({Access::HOST_VOLUME_REGISTER});
constexpr Capabilities kWriteHostVolumes =
    kRegisterHostVolumes | set_of({Access::HOST_VOLUME_WRITE, Access::HOST_VOLUME_DELETE});
constexpr Capabilities kScaleNamespace = set_of(
    {Access::LIST_SCALING_POLICIES, Access::READ_SCALING_POLICY, Access::READ_JOB_SCALING, Access::SCALE_JOB});

// Reads a policy, and collects all that is wrong with it.
class Reader {
 public:
  Status read(const std::string& text) {
    DROVER_TRY(ConfigBlock whole, parse_config(kFile, text));
    if (whole.blocks.empty() && whole.attributes.empty() && text.find_first_not_of(" \t\r\n") != std::string::npos)
      return invalid_argument("Invalid policy: " + text);
    // Blocks with one label add up, so each is read for itself.
    std::vector<ConfigBlock> blocks;
    blocks.swap(whole.blocks);
    if (!whole.attributes.empty()) DROVER_RETURN_IF_ERROR(read_part(whole));
    for (ConfigBlock& block : blocks) {
      ConfigBlock part;
      part.blocks.push_back(std::move(block));
      DROVER_RETURN_IF_ERROR(read_part(part));
    }
    return problems_.empty() ? ok_status() : invalid_argument(problems_);
  }
  PolicyRules take() { return std::move(rules_); }

 private:
  static ConfigSchema schema() {
    using enum ConfigType;
    const auto word = [] { return ConfigOption{.name = "policy", .help = "A word that stands for capabilities."}; };
    const auto capabilities = [] {
      return ConfigOption{.name = "capabilities", .type = string_list, .help = "Single rights."};
    };
    const auto area = [&](const char* name) {
      return ConfigOption{.name = name, .type = repeated_block, .help = "A part of the cluster.", .options = {word()}};
    };
    return {.options = {
                {.name = "namespace",
                 .type = labelled_block,
                 .help = "Rights in namespaces.",
                 .options = {word(), capabilities(),
                             {.name = "variables",
                              .type = block,
                              .help = "Rights on variables.",
                              .options = {{.name = "path",
                                           .type = labelled_block,
                                           .help = "Rights on the variables of these paths.",
                                           .options = {capabilities()}}}}}},
                {.name = "host_volume",
                 .type = labelled_block,
                 .help = "Rights on host volumes.",
                 .options = {word(), capabilities()}},
                area("node"), area("agent"), area("operator"), area("quota"), area("plugin")}};
  }

  void problem(const std::string& text) { problems_ += (problems_.empty() ? "" : "; ") + text; }

  Status read_part(const ConfigBlock& part) {
    DROVER_TRY(const ConfigBlock checked, apply_schema(part, schema()));
    for (const ConfigBlock* block : checked.all("namespace")) read_namespace(*block);
    for (const ConfigBlock* block : checked.all("host_volume")) read_host_volume(*block);
    read_area(checked, "node", Area::node);
    read_area(checked, "agent", Area::agent);
    read_area(checked, "operator", Area::cluster);
    read_area(checked, "quota", {});
    read_area(checked, "plugin", Area::plugin);
    return ok_status();
  }

  static bool is_pattern(std::string_view name) {
    return !name.empty() && name.size() <= kMaxObjectName && is_alphanumeric(name, "-*");
  }

  void read_namespace(const ConfigBlock& block) {
    const std::string& name = block.labels.at(0);
    if (!is_pattern(name)) problem("Invalid namespace name: \"" + name + "\"");
    Capabilities& held = rules_.namespaces[name];
    const std::string word = block.string("policy");
    if (word == "read") {
      held |= kReadNamespace;
    } else if (word == "write") {
      held |= kWriteNamespace;
    } else if (word == "scale") {
      held |= kScaleNamespace;
    } else if (word == "deny") {
      held |= kDeny;
    } else if (!word.empty()) {
      problem("Invalid namespace policy: \"" + word + "\" in namespace " + name);
    }
    for (const std::string& each : block.string_list("capabilities")) {
      const Capabilities bit = capability(each);
      if (bit == 0) problem("Invalid namespace capability '" + each + "': namespace " + name);
      held |= bit;
    }
    // Without a line it was not written.
    if (const ConfigBlock* variables = block.block("variables"); variables && variables->place.line > 0)
      read_variables(name, *variables);
  }

  static Capabilities capability(std::string_view text) {
    if (text == "deny") return kDeny;
    if (text == "host-volume-create") return kCreateHostVolumes;
    if (text == "host-volume-register") return kRegisterHostVolumes;
    if (text == "host-volume-write") return kWriteHostVolumes;
    const auto* all = google::protobuf::GetEnumDescriptor<Access::Capability>();
    for (int i = 1; i < all->value_count(); ++i) {
      if (json_word(*all->value(i)) == text) return 1u << all->value(i)->number();
    }
    return 0;
  }

  void read_variables(const std::string& name_space, const ConfigBlock& block) {
    const auto paths = block.all("path");
    if (paths.empty()) problem("Invalid variable policy: no variable paths in namespace " + name_space);
    for (const ConfigBlock* path : paths) {
      const std::string& pattern = path->labels.at(0);
      if (pattern.empty()) problem("Invalid missing variable path in namespace " + name_space);
      if (pattern.starts_with("/"))
        problem("Invalid variable path \"" + pattern + "\" in namespace " + name_space +
                ": paths begin without a slash");
      Capabilities& held = rules_.variables[variable_key(name_space, pattern)];
      for (const std::string& each : path->string_list("capabilities")) held |= variable_right(each, name_space);
    }
  }

  Capabilities variable_right(const std::string& text, const std::string& name_space) {
    if (text == "deny") return kDeny;
    if (text == "list") return 1u << Access::VARIABLE_LIST;
    if (text == "read") return (1u << Access::VARIABLE_READ) | (1u << Access::VARIABLE_LIST);
    if (text == "write") return 1u << Access::VARIABLE_WRITE;
    if (text == "destroy") return 1u << Access::VARIABLE_DESTROY;
    problem("Invalid variable capability '" + text + "' in namespace " + name_space);
    return 0;
  }

  void read_host_volume(const ConfigBlock& block) {
    const std::string& name = block.labels.at(0);
    if (!is_pattern(name)) problem("Invalid host volume name: \"" + name + "\"");
    Capabilities& held = rules_.host_volumes[name];
    const std::string word = block.string("policy");
    if (word == "read") {
      held |= kMountReadOnly;
    } else if (word == "write") {
      held |= kMountReadOnly | kMountReadWrite;
    } else if (word == "deny") {
      held |= kDeny;
    } else if (!word.empty() && word != "scale") {
      problem("Invalid host volume policy: \"" + word + "\" of host volume " + name);
    }
    for (const std::string& each : block.string_list("capabilities")) {
      if (each == "mount-readonly") {
        held |= kMountReadOnly;
      } else if (each == "mount-readwrite") {
        held |= kMountReadWrite;
      } else if (each == "deny") {
        held |= kDeny;
      } else {
        problem("Invalid host volume capability '" + each + "': host volume " + name);
      }
    }
  }

  // Without an area the words are checked and grant nothing.
  void read_area(const ConfigBlock& checked, const std::string& name, std::optional<Area> area) {
    for (const ConfigBlock* block : checked.all(name)) {
      if (!areas_.insert(name).second) {
        problem(block->place.to_string() + ": a second block " + name + "; write one");
        continue;
      }
      const std::string word = block->string("policy");
      AreaRule said;
      if (word == "deny") {
        said.is_denied = true;
      } else if (word == "list" && name == "plugin") {
        said.grant = Grant::list;
      } else if (word == "read") {
        said.grant = Grant::read;
      } else if (word == "write") {
        said.grant = Grant::write;
      } else if (word != "scale") {
        problem("Invalid " + name + " policy: \"" + word + "\"");
      }
      if (area) rules_.areas[*area] = said;
    }
  }

  PolicyRules rules_;
  std::set<std::string> areas_;
  std::string problems_;
};

}  // namespace

std::string variable_key(std::string_view name_space, std::string_view path) {
  std::string key(name_space);
  key += '\0';
  key += path;
  return key;
}

Result<PolicyRules> parse_policy(const std::string& text) {
  Reader reader;
  DROVER_RETURN_IF_ERROR(reader.read(text));
  return reader.take();
}

}  // namespace drover::acl

#include "options.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "drover/duration.h"
#include "drover/model/csi_volume.h"
#include "drover/nearest.h"
#include "drover/plugin_programs/handshake.h"
#include "drover/read_all.h"
#include "drover/units.h"

namespace drover::csi_kit {
namespace {

using Take = Status (*)(const std::string& value, Settings& settings);

struct Option {
  std::string_view name, value_name, help;  // no value_name: a switch
  Take take;
};

Result<std::pair<std::string, std::string>> pair_of(const std::string& value) {
  const size_t at = value.find('=');
  if (at == 0 || at == std::string::npos) return invalid_argument("\"" + value + "\" is no KEY=VALUE");
  return std::pair(value.substr(0, at), value.substr(at + 1));
}

Status add_pair(const std::string& value, TextMap& to) {
  DROVER_TRY(auto pair, pair_of(value));
  if (to.insert(std::move(pair)).second) return {};
  return invalid_argument("\"" + value.substr(0, value.find('=')) + "\" is given twice");
}

// No part of it gets into an error.
Status read_secrets(const std::string& path, Settings& settings) {
  std::ifstream file(path);
  if (!file) return not_found(path + ": cannot be read");
  const auto json = nlohmann::json::parse(read_all(file), nullptr, false);
  if (!json.is_object()) return invalid_argument(path + ": is no JSON object");
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) return invalid_argument(path + ": the value of \"" + key + "\" is no string");
    settings.secrets[key] = value.get<std::string>();
  }
  return {};
}

Status take_endpoint(const std::string& value, Settings& settings) {
  std::string path = value;
  for (const std::string_view scheme : {"unix://", "unix:"}) {
    if (!path.starts_with(scheme)) continue;
    path.erase(0, scheme.size());
    break;
  }
  if (!path.starts_with('/')) return invalid_argument("is no unix:///PATH");
  if (path.size() > plugin_programs::kMaxSocketPath) return invalid_argument("the path of a socket may have 107 bytes");
  settings.socket = path;
  return {};
}

Status take_capacity(const std::string& value, Settings& settings) {
  const auto quantity = parse_quantity(value);
  const int64_t* const number = quantity ? std::get_if<int64_t>(&quantity->number) : nullptr;
  const bool is_size = number && *number > 0 && (!quantity->unit || quantity->unit->base == Unit::Base::byte);
  // Some checks ask for twice that.
  if (!is_size ||
      __builtin_mul_overflow(*number, quantity->unit ? quantity->unit->multiplier : 1, &settings.capacity) ||
      settings.capacity > (int64_t{1} << 60))
    return invalid_argument("is no size, as 1GiB");
  return {};
}

Status take_timeout(const std::string& value, Settings& settings) {
  DROVER_TRY(settings.limit, parse_duration(value));
  if (settings.limit < std::chrono::milliseconds(100) || settings.limit > std::chrono::hours(1))
    return invalid_argument("must be from 100ms to 1h");
  return {};
}

Status take_access_mode(const std::string& value, Settings& settings) {
  if (!is_csi_access_mode(value)) return invalid_argument("\"" + value + "\" is no access mode");
  settings.access_mode = value;
  return {};
}

Status take_attachment_mode(const std::string& value, Settings& settings) {
  if (!is_csi_attachment_mode(value)) return invalid_argument("\"" + value + "\" is no attachment mode");
  settings.attachment_mode = value;
  return {};
}

template <auto kMember>
Status put(const std::string& value, Settings& settings) {
  settings.*kMember = value;
  return {};
}

template <auto kMember>
Status add(const std::string& value, Settings& settings) {
  return add_pair(value, settings.*kMember);
}

template <auto kMember>
Status set(const std::string&, Settings& settings) {
  settings.*kMember = true;
  return {};
}

const Option kOptions[] = {
    {"endpoint", "unix:///PATH", "a plugin that runs already, instead of a program", take_endpoint},
    {"param", "KEY=VALUE", "a parameter of new volumes; may be given several times", add<&Settings::parameters>},
    {"secrets", "FILE", "a JSON object of strings, which goes with every call that takes secrets", read_secrets},
    {"access-mode", "MODE", "single-node-writer, multi-node-multi-writer, …", take_access_mode},
    {"attachment-mode", "MODE", "file-system or block-device", take_attachment_mode},
    {"fs-type", "TYPE", "of file systems; without it the plugin's own choice", put<&Settings::fs_type>},
    {"capacity", "SIZE", "of new volumes (16MiB); some checks grow them to twice that", take_capacity},
    {"existing-volume", "ID", "one to attach and publish, for a plugin that makes none", put<&Settings::volume>},
    {"context", "KEY=VALUE", "of that volume's context; may be given several times", add<&Settings::context>},
    {"run", "TEXT", "only checks with this in their name or sentence", put<&Settings::pattern>},
    {"list", "", "only say what would be checked", set<&Settings::only_list>},
    {"timeout", "TIME", "for each call, and for the program's start (60s)", take_timeout},
    {"json", "", "write the report as JSON instead", set<&Settings::is_json>},
    {"verbose", "", "name the checks that pass, too", set<&Settings::is_verbose>},
};

Result<const Option*> find(const std::string& name) {
  const auto option = std::ranges::find(kOptions, name, &Option::name);
  if (option != std::end(kOptions)) return &*option;
  std::vector<std::string_view> names;
  for (const Option& each : kOptions) names.push_back(each.name);
  const std::string hint = nearest_hint(name, names);
  return invalid_argument("unknown option -" + name + (hint.empty() ? "" : "; " + hint));
}

// One option at `at`, which moves behind its value.
Status take_option(std::span<const std::string> words, size_t& at, Settings& settings) {
  std::string_view word = words[at++];
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  const size_t equals = word.find('=');
  const std::string name(word.substr(0, equals));
  DROVER_TRY(const Option* const option, find(name));
  std::string value;
  if (option->value_name.empty()) {
    if (equals != std::string_view::npos) return invalid_argument("option -" + name + " takes no value");
  } else if (equals != std::string_view::npos) {
    value = word.substr(equals + 1);
  } else if (at < words.size()) {
    value = words[at++];
  } else {
    return invalid_argument("option -" + name + " needs " + std::string(option->value_name));
  }
  return option->take(value, settings).with_context("option -" + name);
}

Status take_program(std::span<const std::string> words, size_t& at, Settings& settings) {
  const std::string file = words[at++];
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return not_found(file + ": there is no such file");
  if (::access(file.c_str(), X_OK) != 0) return invalid_argument(file + ": cannot be executed");
  settings.program = std::filesystem::absolute(file).lexically_normal();
  if (at < words.size() && words[at] == "--") ++at;
  settings.arguments.assign(words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  at = words.size();
  return {};
}

Status check(const Settings& settings) {
  if (settings.only_list) return {};
  if (settings.program.empty() && settings.socket.empty())
    return invalid_argument("name the plugin's program, or the socket of one that runs (-endpoint)");
  if (!settings.program.empty() && !settings.socket.empty())
    return invalid_argument("option -endpoint: a program is named, too");
  if (settings.is_block() && !settings.fs_type.empty())
    return invalid_argument("option -fs-type: block devices have none");
  if (!settings.context.empty() && settings.volume.empty())
    return invalid_argument("option -context: is that of -existing-volume, which is missing");
  return {};
}

}  // namespace

Result<Settings> parse_options(std::span<const std::string> words) {
  Settings settings;
  for (size_t at = 0; at < words.size();) {
    const bool is_option = words[at].size() > 1 && words[at][0] == '-';
    DROVER_RETURN_IF_ERROR(is_option ? take_option(words, at, settings) : take_program(words, at, settings));
  }
  DROVER_RETURN_IF_ERROR(check(settings));
  return settings;
}

bool wants_help(std::span<const std::string> words) {
  const auto end = std::ranges::find(words, "--");
  return std::any_of(words.begin(), end,
                     [](const std::string& w) { return w == "-h" || w == "-help" || w == "--help"; });
}

std::string help() {
  std::string out =
      "Usage: drover-csi-test [options] PROGRAM [--] [ARGUMENTS]\n"
      "       drover-csi-test [options] -endpoint unix:///PATH\n\n"
      "  Tries a storage plugin (CSI): starts PROGRAM with CSI_ENDPOINT in its environment, makes, attaches, stages "
      "and\n"
      "  publishes volumes of its own, asks twice and wrongly, kills it, and looks whether anything is left. As root,\n"
      "  for mounts. Checks of what a plugin says it cannot do are left out.\n"
      "  Exit code: 0 nothing failed, 1 something did, 2 nothing could be tested.\n\nOptions:\n\n";
  for (const Option& option : kOptions) {
    std::string left =
        "    -" + std::string(option.name) + (option.value_name.empty() ? "" : " ") + std::string(option.value_name);
    left.resize(std::max<size_t>(left.size() + 2, 30), ' ');
    out += left + std::string(option.help) + "\n";
  }
  return out;
}

}  // namespace drover::csi_kit

#include "paths.h"

#include <algorithm>

#include "drover/plugin_programs/handshake.h"

namespace drover::mounts {
namespace {

constexpr size_t kMaxName = 255;  // bytes, of one part of a path
constexpr std::string_view kTypes[] = {"node", "controller", "monolith"};

bool stays(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '.' || c == '[' || c == ']';
}

void add_escaped(std::string& out, char c) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  const auto byte = static_cast<unsigned char>(c);
  out += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
}

}  // namespace

Result<std::string> path_part(std::string_view text) {
  if (text.empty()) return invalid_argument("an identifier is empty");
  std::string part;
  for (const char c : text) {
    if (stays(c) && (c != '.' || !part.empty())) {
      part += c;
    } else {
      add_escaped(part, c);
    }
  }
  if (part.size() > kMaxName) {
    return invalid_argument("the identifier \"" + std::string(text.substr(0, 40)) +
                            "…\" is too long for a folder's name");
  }
  return part;
}

std::string to_string(const Usage& usage) {
  return (usage.is_read_only ? "ro-" : "rw-") + usage.attachment_mode + "-" + usage.access_mode;
}

Result<std::string> staging_path(std::string_view name_space, std::string_view volume_id, const Usage& usage) {
  DROVER_TRY(const std::string first, path_part(name_space));
  DROVER_TRY(const std::string volume, path_part(volume_id));
  DROVER_TRY(const std::string last, path_part(to_string(usage)));
  return "staging/" + first + "/" + volume + "/" + last;
}

Result<std::string> target_path(const Uuid& alloc, std::string_view volume_id, const Usage& usage) {
  DROVER_TRY(const std::string volume, path_part(volume_id));
  DROVER_TRY(const std::string last, path_part(to_string(usage)));
  return "per-alloc/" + alloc.to_string() + "/" + volume + "/" + last;
}

std::string Folders::socket_folder(const Uuid& alloc, size_t number) const {
  return root_ + "/plugins/" + alloc.to_string() + (number == 0 ? "" : "-" + std::to_string(number));
}

Result<std::string> Folders::program_folder(std::string_view name) const {
  DROVER_TRY(const std::string part, path_part(name));
  return root_ + "/programs/" + part;
}

Result<std::string> Folders::output(std::string_view name) const {
  DROVER_TRY(const std::string part, path_part(name));
  return root_ + "/output/" + part;
}

Result<std::string> Folders::socket(const std::string& folder) {
  std::string socket = folder + "/csi.sock";
  if (socket.size() <= plugin_programs::kMaxSocketPath) return socket;
  return invalid_argument("the plugin's socket " + socket + " has a path of " + std::to_string(socket.size()) +
                          " bytes, and the system takes " + std::to_string(plugin_programs::kMaxSocketPath) +
                          ": the agent needs a shorter data_dir");
}

Result<std::string> Folders::base(std::string_view type, std::string_view plugin_id) const {
  if (std::ranges::find(kTypes, type) == std::end(kTypes)) {
    return invalid_argument("a storage plugin has the type node, controller or monolith, not \"" + std::string(type) +
                            "\"");
  }
  DROVER_TRY(const std::string part, path_part(plugin_id));
  return root_ + "/" + std::string(type) + "/" + part;
}

bool Folders::is_volume(std::string_view path) const {
  return std::ranges::any_of(kTypes, [&](std::string_view type) {
    return path.starts_with(root_ + "/" + std::string(type) + "/") &&
           (path.find("/staging/") != path.npos || path.find("/per-alloc/") != path.npos);
  });
}

}  // namespace drover::mounts

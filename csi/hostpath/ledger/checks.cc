#include "checks.h"

#include <algorithm>
#include <array>

#include "csi/v1/csi.pb.h"
#include "drover/messages.h"
#include "drover/printable.h"
#include "hostpath.pb.h"

namespace drover::hostpath {
namespace {

using AccessMode = csi::v1::VolumeCapability::AccessMode;

constexpr size_t kMaxTexts = 4096;  // bytes
constexpr size_t kMaxPath = 4095;

Status wrong(std::string_view field, std::string_view why) {
  return invalid_argument(std::string(field) + " " + std::string(why));
}

bool is_control(unsigned char byte) { return byte < 0x20 || byte == 0x7f; }

// By the specification: all control characters but tab, newline and carriage return.
bool has_banned(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (is_control(byte) && byte != '\t' && byte != '\n' && byte != '\r') return true;
    const bool is_second_block = byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (is_second_block) return true;  // U+0080 to U+009F
  }
  return false;
}

bool has_dots(std::string_view path) {
  const std::string closed = std::string(path) + "/";
  return closed.find("/../") != std::string::npos || closed.find("/./") != std::string::npos;
}

bool is_within(std::string_view path, std::string_view folder) {
  return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

Status check_mount(const csi::v1::VolumeCapability::MountVolume& mount) {
  constexpr std::array<std::string_view, 8> kFlags = {"ro",    "rw",      "noexec",     "nosuid",
                                                      "nodev", "noatime", "nodiratime", "relatime"};
  if (!mount.fs_type().empty())
    return wrong("fs_type", "must be empty: volumes are folders, in the file system that is there");
  if (!mount.volume_mount_group().empty()) return wrong("volume_mount_group", "is not supported");
  for (const std::string& flag : mount.mount_flags()) {
    if (std::ranges::find(kFlags, flag) == kFlags.end())
      return wrong("mount_flags",
                   "has an unsupported flag; a mount of a folder takes ro, rw, noexec, nosuid, nodev, "
                   "noatime, nodiratime, relatime");
  }
  return {};
}

}  // namespace

Status check_id(std::string_view id, std::string_view field, size_t most) {
  if (id.empty()) return wrong(field, "is missing");
  if (id.size() > most) return wrong(field, "is longer than " + std::to_string(most) + " bytes");
  if (id.find('/') != std::string_view::npos || printable(id) != id)
    return wrong(field, "has a slash or a control character");
  return {};
}

Status check_name(std::string_view name) {
  if (name.empty()) return wrong("name", "is missing");
  if (name.size() > 128) return wrong("name", "is longer than 128 bytes");
  return has_banned(name) ? wrong("name", "has a control character") : ok_status();
}

Status check_path(std::string_view path, std::string_view field, std::string_view data_dir) {
  if (path.empty()) return wrong(field, "is missing");
  if (path.size() > kMaxPath) return wrong(field, "is longer than " + std::to_string(kMaxPath) + " bytes");
  if (path[0] != '/' || path == "/") return wrong(field, "is not an absolute path of a folder or file");
  if (has_dots(path) || path.find("//") != std::string_view::npos || path.ends_with('/'))
    return wrong(field, "is not in its shortest form");
  if (std::ranges::any_of(path, [](char c) { return is_control(static_cast<unsigned char>(c)); }))
    return wrong(field, "has a control character");
  if (is_within(path, data_dir) || is_within(data_dir, path))
    return wrong(field, "and the plugin's own folder overlap");
  return {};
}

Status check_texts(const Texts& texts, std::string_view field) {
  size_t size = 0;
  for (const auto& [key, value] : texts) size += key.size() + value.size();
  return size > kMaxTexts ? wrong(field, "is longer than 4096 bytes") : ok_status();
}

Result<Capability> capability_of(const csi::v1::VolumeCapability& asked) {
  if (!asked.has_block() && !asked.has_mount()) return wrong("volume_capability", "has no access type");
  const auto mode = asked.access_mode().mode();
  if (mode == AccessMode::UNKNOWN || !AccessMode::Mode_IsValid(mode))
    return wrong("volume_capability", "has no known access mode");
  if (asked.has_mount()) {
    DROVER_RETURN_IF_ERROR(check_mount(asked.mount()));
  }
  Capability capability;
  capability.set_mode(AccessMode::Mode_Name(mode));
  capability.set_is_block(asked.has_block());
  *capability.mutable_mount_flags() = asked.mount().mount_flags();
  return capability;
}

Result<bool> are_block(const google::protobuf::RepeatedPtrField<csi::v1::VolumeCapability>& asked) {
  if (asked.empty()) return wrong("volume_capabilities", "is missing");
  for (const auto& each : asked) {
    DROVER_RETURN_IF_ERROR(capability_of(each).status());
    if (each.has_block() != asked[0].has_block())
      return wrong("volume_capabilities", "asks for a block device and a file system at once");
  }
  return asked[0].has_block();
}

bool is_same(const Capability& a, const Capability& b) { return serialize(a) == serialize(b); }

bool is_multi_node(const Capability& capability) { return capability.mode().starts_with("MULTI_NODE"); }

bool is_reader_only(const Capability& capability) { return capability.mode().ends_with("READER_ONLY"); }

}  // namespace drover::hostpath

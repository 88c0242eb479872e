// Where storage plugins and volumes lie on this machine. All paths are made here, and nowhere else; what people named
// becomes one part of a path each, whatever it holds. Pure. [any]
//
//   <data_dir>/client/csi/
//     plugins/<allocation>/csi.sock                           the plugin's folder, bound to its mount_dir
//     programs/<name>/csi.sock                                that of a plugin that the agent itself runs
//     output/<name>                                           a FIFO, into which that one prints
//     <type>/<plugin>/                                        its base, bound to its stage_publish_base_dir
//       staging/<namespace>/<volume>/<usage>/                 once per volume and usage
//       per-alloc/<allocation>/<volume>/<usage>               what its tasks see
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "drover/result.h"
#include "drover/uuid.h"

namespace drover::mounts {

// One part of a path: letters, digits and "-_.[]" stay, every other byte becomes %XX, and so does a dot at the
// beginning. Two texts never give the same part. Errors: invalid_argument for an empty text, and for one that gives a
// longer name than file systems take.
Result<std::string> path_part(std::string_view text);

// How a volume is mounted. The same volume in two usages is staged twice.
struct Usage {
  bool is_read_only = false;
  std::string access_mode;
  std::string attachment_mode;
  auto operator<=>(const Usage&) const = default;
};
std::string to_string(const Usage& usage);  // "rw-file-system-single-node-writer"

// Below a plugin's base, without a slash at the beginning. Errors: those of path_part.
Result<std::string> staging_path(std::string_view name_space, std::string_view volume_id, const Usage& usage);
Result<std::string> target_path(const Uuid& alloc, std::string_view volume_id, const Usage& usage);

class Folders {
 public:
  explicit Folders(const std::string& data_dir) : root_(data_dir + "/client/csi") {}

  const std::string& root() const { return root_; }
  // The folder of a plugin's socket. `number`: 0 for the allocation's first task that is a plugin, in the order of
  // their names; more than one is rare.
  std::string socket_folder(const Uuid& alloc, size_t number) const;
  // The same of a plugin that the agent itself runs, and where it prints. Errors: those of path_part.
  Result<std::string> program_folder(std::string_view name) const;
  Result<std::string> output(std::string_view name) const;
  // In a folder of these. Errors: invalid_argument when it is longer than the system allows.
  static Result<std::string> socket(const std::string& folder);
  // `type`: "node", "controller" or "monolith". Errors: those of path_part; invalid_argument for another type.
  Result<std::string> base(std::string_view type, std::string_view plugin_id) const;
  // True of what lies below some plugin's base, as staging and target paths do.
  bool is_volume(std::string_view path) const;

 private:
  std::string root_;
};

}  // namespace drover::mounts

// The files of one allocation as operators may see them: what is below its folder, whatever links and renames say, but
// for its tasks' secrets.
//
//   a path ──path_parts──▶ names ──opened from the folder, no link followed──▶ a place
//                                    └ a link ──PathWalk──▶ the names it stands for
//
// Opening leaves FIFOs and devices alone: a place is looked at first, and only a file or a folder is opened for
// reading. [any]
#pragma once

#include <sys/stat.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/fd.h"
#include "drover/result.h"

namespace drover::v1 {
class AllocFileInfo;
class ListFilesResponse;
}  // namespace drover::v1

namespace drover::agent {

class AllocTree {
 public:
  // `root`: the allocation's folder. Errors: not_found when it is gone.
  static Result<AllocTree> open(std::string root);

  // Something that a path leads to, as it was then.
  struct Place {
    Fd fd;  // O_PATH
    struct stat found {};
    std::string path{};  // from the allocation's folder, without links
    std::string said{};  // for errors
    std::string name{};  // the last one of the path as it was said

    bool is_same(const Place& other) const {
      return found.st_dev == other.found.st_dev && found.st_ino == other.found.st_ino;
    }
  };
  // Errors: as path_parts; not_found; failed_precondition (500) for what is outside, is secret, or may not be read.
  Result<Place> find(std::string_view said) const;

  // Errors: as looking and reading; resource_exhausted for more than 10,000 entries.
  Status list(const Place& folder, v1::ListFilesResponse& out) const;
  void describe(const Place& place, v1::AllocFileInfo& out) const;
  // For reading. Errors: invalid_argument when it is no file.
  Result<Fd> open_file(const Place& place) const;
  // A path on this machine by which the place itself is reached, as long as it lives.
  static std::string handle(const Place& place);

 private:
  AllocTree(std::string root, Fd folder) : root_(std::move(root)), folder_(std::move(folder)) {}
  Result<Place> look(const std::string& path, std::string_view said) const;
  Result<Place> walk(const std::vector<std::string>& parts, std::string_view said) const;

  std::string root_;
  Fd folder_;
};

// Up to buffer.size() bytes from there; 0 at the end.
Result<size_t> read_at(const Fd& file, std::span<char> buffer, uint64_t offset);

}  // namespace drover::agent

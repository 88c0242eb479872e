// How `alloc fs` shows files: a row each. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace drover::v1 {
class AllocFileInfo;
}

namespace drover::cli {

// "0 B", "13 B", "4.0 KiB", "82 MiB".
std::string size_text(uint64_t bytes);

// [Mode | Size | Modified Time | Name], with the type of the content before the name where it is asked for.
// `exact_sizes`: in bytes, without a unit.
struct FileColumns {
  bool content_type = false;
  bool exact_sizes = false;
};
std::vector<std::string> file_header(const FileColumns& columns);
std::vector<std::string> file_row(const v1::AllocFileInfo& file, const FileColumns& columns);

}  // namespace drover::cli

#include "files/file_text.h"

#include <cmath>

#include "drover/api/client.pb.h"
#include "output.h"

namespace drover::cli {

std::string size_text(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  // One digit behind the point below ten.
  const auto tenths = static_cast<uint64_t>(std::floor(value * 10 + 0.5));
  const std::string number = unit > 0 && tenths < 100
                                 ? std::to_string(tenths / 10) + "." + std::to_string(tenths % 10)
                                 : std::to_string(static_cast<uint64_t>(std::lround(static_cast<double>(tenths) / 10)));
  return number + " " + kUnits[unit];
}

std::vector<std::string> file_header(const FileColumns& columns) {
  std::vector<std::string> row = {"Mode", "Size", "Modified Time", "Name"};
  if (columns.content_type) row.insert(row.end() - 1, "Content Type");
  return row;
}

std::vector<std::string> file_row(const v1::AllocFileInfo& file, const FileColumns& columns) {
  const auto size = static_cast<uint64_t>(file.size());
  std::vector<std::string> row = {file.file_mode(), columns.exact_sizes ? std::to_string(size) : size_text(size),
                                  full_time(file.mod_time()), file.name() + (file.is_dir() ? "/" : "")};
  if (columns.content_type) row.insert(row.end() - 1, file.content_type());
  return row;
}

}  // namespace drover::cli

// Archives by libarchive, as somebody hostile may have made them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::artifacts {

// The form that a name or an option says: "tar.gz", "zip", "gz", …; empty: no archive. `option`: a form, or a boolean
// that switches unpacking off; empty: by the name's end. Pure.
std::string archive_form(std::string_view name, std::string_view option);
// Such an archive holds one file, without a name. Pure.
bool is_single_file(std::string_view form);

struct UnpackLimits {
  uint64_t most_files = 0, most_bytes = 0;  // 0: no limit
};
// Unpacks into the folder `target`, which is there: files with their modes but for set-user and set-group bits, folders,
// links that stay inside. `name`: of the file of a form with one file. Errors: invalid_argument for an entry that leaves
// the folder, a device, a limit, a form that it is not.
Status unpack(const std::string& archive, std::string_view form, const std::string& target, const std::string& name,
              const UnpackLimits& limits);

}  // namespace drover::artifacts

// A file that describes a volume of the Container Storage Interface: HCL, or JSON with the same words. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "drover/result.h"

namespace drover::v1 {
class Volume;
}  // namespace drover::v1

namespace drover::cli {

// `name`: of the file, for errors. What the words may be is for the servers to say. Errors: invalid_argument with the
// place of all that is no such file, never with a secret.
Result<v1::Volume> read_volume_file(const std::string& name, const std::string& text);

// The pairs of `-secret` or `-parameter`, "key=value" each. Errors: invalid_argument with the flag, never with a value.
Result<std::map<std::string, std::string>> read_pairs(const std::string& flag, const std::vector<std::string>& words);

// Examples to start from.
extern const char* const kVolumeExample;
extern const char* const kVolumeExampleJson;

}  // namespace drover::cli

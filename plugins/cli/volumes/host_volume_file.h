// A file that describes a dynamic host volume: HCL, or JSON with the same words. Pure.
#pragma once

#include <string>

#include "drover/result.h"

namespace drover::v1 {
class DescribedHostVolume;
}  // namespace drover::v1

namespace drover::cli {

// The kind of volume that the file describes, "csi" or "host"; empty: it says none. Errors: invalid_argument with the
// place of what cannot be read.
Result<std::string> volume_type_in(const std::string& name, const std::string& text);

// `name`: of the file, for errors. Errors: invalid_argument with the place of all that is no such file.
Result<v1::DescribedHostVolume> read_host_volume_file(const std::string& name, const std::string& text);

// Examples to start from.
extern const char* const kHostVolumeExample;
extern const char* const kHostVolumeExampleJson;

}  // namespace drover::cli

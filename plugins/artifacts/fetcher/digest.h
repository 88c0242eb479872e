// Checksums of files: "sha256:HEX" and its like, and lists of sums.
#pragma once

#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::artifacts {

struct Checksum {
  std::string kind;  // md5, sha1, sha256, sha512
  std::string hex;   // lower case
};

// "sha256:HEX", or HEX alone, whose length tells the kind. Errors: invalid_argument. Pure.
Result<Checksum> parse_checksum(std::string_view text);

// The sum of a file of that name in a list as sha256sum or BSD's tools write it; a lone sum is for any name. Errors:
// not_found. Pure.
Result<Checksum> find_checksum(std::string_view list, std::string_view file_name);

// Errors: failed_precondition when the file has another sum.
Status check_file(const std::string& path, const Checksum& wanted);

}  // namespace drover::artifacts

// What the source of an artifact means: how it is fetched, from where, and which part of it is wanted. Pure.
//
// The forms are those of go-getter 1.7 (as Nomad 1.5.6 uses it): `git::https://…`, `https://…`, `github.com/OWNER/REPO`,
// `user@host:path`, S3 and GCS addresses; `//` behind the host separates a part of what is fetched.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::artifacts {

using Options = std::map<std::string, std::string>;

struct Source {
  std::string getter;  // http, git, hg, s3 or gcs
  std::string url;     // without what the options below say
  std::string part;    // of what is fetched, below its root; empty: all
  Options options;     // ref, depth, checksum, archive, …; those of the address, over which the block's win
};

// `options`: of the block. Errors: invalid_argument.
Result<Source> parse_source(std::string_view source, const Options& options);

}  // namespace drover::artifacts

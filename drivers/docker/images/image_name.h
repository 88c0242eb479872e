// Names of images, as jobs write them. Pure.
#pragma once

#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::docker {

struct ImageName {
  std::string repository;  // with its registry, "quay.io/team/app"
  std::string tag;         // "latest" where neither tag nor digest is written
  std::string digest;      // "sha256:…"; empty: none

  // The whole, "quay.io/team/app:1.2" or with the digest.
  std::string text() const;
  // As a part of a request's target.
  std::string encoded() const;
  // The key of its registry in files with credentials: "quay.io"; Docker's own has a longer one.
  std::string registry() const;
};

// Errors: invalid_argument.
Result<ImageName> parse_image_name(std::string_view text);

}  // namespace drover::docker

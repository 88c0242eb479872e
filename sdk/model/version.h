// Version numbers and the constraints on them that the operators `version` and `semver` know. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drover {

enum class VersionForm {
  loose,   // "v1.2", "1.2.3.4-beta", "1.2.3beta"; missing parts are 0
  semver,  // the same, but a pre-release needs its dash
};

struct Version {
  std::vector<int64_t> parts;  // at least three
  size_t given = 0;            // how many of them were written
  std::string prerelease;      // without the dash

  friend bool operator==(const Version& a, const Version& b) { return (a <=> b) == 0; }
  // By Semantic Versioning 2.0 §11; builds do not count.
  friend std::strong_ordering operator<=>(const Version& a, const Version& b);
};

std::optional<Version> parse_version(std::string_view text, VersionForm form);

// True when this is a list of such constraints.
bool are_version_constraints(std::string_view list, VersionForm form);

// True when `version` meets all of the comma-separated constraints: =, !=, >, <, >=, <=, and ~> (not in `semver`). A
// pre-release meets a loose constraint only when that names a pre-release of the same numbers; `semver` compares it
// like any other version. False as well when either side is no version.
bool version_meets(std::string_view version, std::string_view constraints, VersionForm form);

}  // namespace drover

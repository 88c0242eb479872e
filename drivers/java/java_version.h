// Reads what `java -version` prints. Pure.
#pragma once

#include <string>
#include <string_view>

namespace drover::java {

struct JavaVersion {
  std::string version;  // "17.0.9"
  std::string runtime;  // the second line, as it is
  std::string vm;       // the third
};
// All empty when there are not three lines beside those that name variables which the machine picked up.
JavaVersion parse_version(std::string_view text);

}  // namespace drover::java

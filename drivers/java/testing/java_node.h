// A machine of its own for a test of the driver "java", with a root for tasks.
#pragma once

#include <optional>
#include <string>

#include "java_driver.h"
#include "sdk/testing/driver_node.h"
#include "sdk/testing/search_path.h"

namespace drover::java {

class Node : public DriverNode {
 public:
  Node();
  // With a script as Java, first in the PATH of this process until the node's end. With -version it tells one;
  // otherwise it runs its last argument as a shell's script, with all of its arguments.
  void fake_java();
  const std::string& java() const { return java_; }  // its real path; empty: none

 private:
  std::string java_;
  std::optional<SearchPath> path_;
};

}  // namespace drover::java

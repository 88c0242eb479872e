#include "testing/java_node.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "sdk/testing/task_root.h"

namespace drover::java {
namespace {

constexpr const char* kScript = R"(#!/bin/sh
if [ "$1" = -version ]; then
  echo 'openjdk version "17.0.9" 2023-10-17' >&2
  echo 'OpenJDK Runtime Environment (build 17.0.9+9)' >&2
  echo 'OpenJDK 64-Bit Server VM (build 17.0.9+9, mixed mode)' >&2
  exit 0
fi
for last; do :; done
exec /bin/sh -c "$last" java "$@"
)";

std::unique_ptr<JavaDriver> make(const DriverNode::Place& place) {
  auto driver = std::make_unique<JavaDriver>();
  driver->open({.cgroup_parent = place.cgroup_parent, .launcher = place.launcher});
  return driver;
}

}  // namespace

Node::Node() : DriverNode(make) { lay_root({"sh", "sleep", "cat", "true", "id", "grep", "readlink"}); }

void Node::fake_java() {
  std::filesystem::create_directories(path("jdk/bin"));
  std::filesystem::create_directories(path("bin"));
  java_ = path("jdk/bin/java");
  std::ofstream(java_) << kScript;
  EXPECT_EQ(0, ::chmod(java_.c_str(), 0755));
  std::filesystem::create_symlink(java_, path("bin/java"));
  path_.emplace(SearchPath::with(path("bin")));
  EXPECT_TRUE(lay_in_root(root(), java_).ok());
}

}  // namespace drover::java

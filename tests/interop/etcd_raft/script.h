// Reads the data-driven test scripts of etcd's raft in place, from Debian's golang-etcd-server-dev. A script is a list
// of steps: a command with arguments, further lines of input, `----`, and what must come out up to an empty line.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace drover::raft::etcd {

struct Step {
  int line = 0;  // of the command, in its file
  std::string command;
  std::vector<std::string> words;                         // what stands alone behind it
  std::map<std::string, std::vector<std::string>> lists;  // name=(a,b), and name=a as a list of one
  std::string input;                                      // the lines before ----
  std::vector<std::string> expected;                      // the lines after it
};

// Where the package puts its scripts; `part` is "quorum", "confchange" or empty.
std::filesystem::path folder_of(const std::string& part);
// The package is not here.
inline constexpr const char* kMissing =
    "etcd's raft scripts are not here: install the Debian package golang-etcd-server-dev";

std::vector<Step> read_script(const std::filesystem::path& path);
// The scripts of a folder by name.
std::vector<std::filesystem::path> scripts_of(const std::string& part);

}  // namespace drover::raft::etcd

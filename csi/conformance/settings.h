// How the kit was asked to try a plugin.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace drover::csi_kit {

using TextMap = std::map<std::string, std::string>;

struct Settings {
  std::string program;  // absolute path; empty: one runs at `socket`
  std::vector<std::string> arguments{};
  std::string socket{};  // absolute path of one that runs
  TextMap parameters{};  // of CreateVolume
  TextMap secrets{};     // of every call that takes any
  std::string volume{};  // one that exists already, for plugins that make none
  TextMap context{};     // of that volume
  std::string access_mode = "single-node-writer";
  std::string attachment_mode = "file-system";
  std::string fs_type{};
  int64_t capacity = 16 << 20;                                // bytes of a new volume
  std::chrono::nanoseconds limit = std::chrono::seconds(60);  // of one call, and of what is waited for
  std::string pattern{};                                      // only checks with this in their name or sentence
  bool only_list = false, is_json = false, is_verbose = false;

  bool is_block() const { return attachment_mode == "block-device"; }
};

}  // namespace drover::csi_kit

// How one instance of the plugin was started.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace drover::hostpath {

struct Settings {
  std::string socket;    // absolute path
  std::string data_dir;  // absolute path
  std::string node_id;
  int64_t max_volumes = 0;                        // on this node; 0: no limit
  std::map<std::string, std::string> topology{};  // of this node; empty: the plugin knows no places
  bool has_controller = true;                     // serves it
  bool has_node = true;
  bool controller_elsewhere = false;  // does not serve it, but another instance of the plugin does
  bool attaches = false;              // volumes are attached by the controller before a node may use them
  int64_t capacity = 0;               // bytes of all volumes and snapshots together; 0: what the file system has
};

}  // namespace drover::hostpath

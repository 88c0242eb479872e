// One promise of the specification: a sentence, what the plugin must have for it, and a small function that looks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::csi_kit {

class Trial;

struct Check {
  enum Needs : uint32_t {
    nothing = 0,
    controller = 1 << 0,
    create = 1 << 1,
    attach = 1 << 2,
    list = 1 << 3,
    capacity = 1 << 4,
    snapshots = 1 << 5,
    list_snapshots = 1 << 6,
    clone = 1 << 7,
    read_only = 1 << 8,
    expand = 1 << 9,
    published_nodes = 1 << 10,
    get = 1 << 11,
    get_snapshot = 1 << 12,
    node = 1 << 13,
    stage = 1 << 14,
    stats = 1 << 15,
    node_expand = 1 << 16,
    places = 1 << 17,       // accessibility constraints
    condition = 1 << 18,    // of volumes, by the node
    volume = 1 << 19,       // one can be made, or one was named
    mounts = 1 << 20,       // root, and node
    program = 1 << 21,      // the kit started it
    file_system = 1 << 22,  // volumes are asked for as file systems
    no_modify = 1 << 23,    // lacks MODIFY_VOLUME
    no_groups = 1 << 24,    // lacks GROUP_CONTROLLER_SERVICE
  };
  std::string_view name;      // "stage.again": group and rest; constant for ever
  std::string_view sentence;  // says what holds
  std::string_view contract;  // the specification's rule
  uint32_t needs = nothing;
  Status (*run)(Trial&);

  std::string_view group() const { return name.substr(0, name.find('.')); }
};

// Lists all of them, in the order in which they are run.
std::vector<const Check*> all_checks();
// Those whose name or sentence has `pattern` in it; all for an empty one, that one alone for its whole name.
std::vector<const Check*> select(std::string_view pattern);

}  // namespace drover::csi_kit

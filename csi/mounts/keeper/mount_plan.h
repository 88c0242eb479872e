// The life of one volume of one allocation on this node, and what comes next in it. Pure. [any]
//
//   claiming ─▶ staging ─▶ staged ─▶ publishing ─▶ published
//      │           │          │           └─────┬──────┘
//      │           │          │            unpublishing ─▶ unpublished
//      │           └──────────┴────────────┬────────────────────┘
//      │                              unstaging, unless others use what is staged
//      └──────────────────────────────────┬┘
//                                      undone ─▶ the servers are told, and the row is gone
//
// A step is on disk before it is made: one that was begun and of which nobody knows how it ended is made again, or
// undone. Without a stage in the plugin, staging and unstaging are passed over.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"
#include "drover/uuid.h"
#include "paths.h"

namespace drover::mounts {

// The numbers are those of StoredStep.
enum class Step : uint8_t {
  claiming = 1,
  staging,
  staged,
  publishing,
  published,
  unpublishing,
  unpublished,
  unstaging,
  undone,
};

struct MountKey {
  Uuid alloc;
  std::string name_space;
  std::string volume_id;
  auto operator<=>(const MountKey&) const = default;
};

struct Mount {
  MountKey key;
  std::string plugin_id;           // empty until it is claimed, as the next two
  std::string external_volume_id;
  std::string plugin_type;         // whose base the paths are below
  Usage usage;
  bool stages = false;             // the plugin does
  Step step = Step::claiming;
  bool operator==(const Mount&) const = default;
};

// Both have the same staging folder.
bool share_stage(const Mount& a, const Mount& b);
// True when its staged volume is needed, or may be.
bool uses_stage(const Mount& mount);
// Another one of `all` needs what is staged for this one.
bool is_stage_shared(const Mount& mount, std::span<const Mount> all);

// On the way to an allocation that is to run.
enum class Forward : uint8_t { stage, publish, nothing };
// From any step, those of undoing included. `is_mounted`: the target is, as the system says. One that is published and
// mounted is left as it is; one that is not is made anew from the beginning: the machine was started again.
Forward next_forward(const Mount& mount, bool is_mounted);

// On the way back.
enum class Back : uint8_t { unpublish, unstage, tell };
Back next_back(const Mount& mount, bool is_stage_shared);

// The answer to an undoing call means that nothing is left to undo. `is_target_there`: the path that was published is.
bool counts_as_undone(Code code, std::string_view text, bool is_target_there);
// A failed call may do better the next time.
bool may_pass(Code code);

// A claim of this node as the servers know it.
struct NodeClaim {
  MountKey key;
  std::string plugin_id;
  std::string external_volume_id;
  Usage usage;
};

// The three who know about mounts, and which allocations run here.
struct Knowledge {
  std::vector<Mount> records;
  std::vector<NodeClaim> claims;
  std::vector<std::string> mounted;    // paths of volumes, as the system lists them
  std::vector<std::string> known;      // paths that records and claims stand for
  std::set<Uuid> running;              // allocations
};
struct Reconciled {
  std::vector<MountKey> undo;          // recorded, for allocations that do not run here
  std::vector<NodeClaim> release;      // claimed and not recorded, for the same
  std::vector<MountKey> unclaimed;     // mounted for those that run, and the servers know of no claim
  std::vector<std::string> strays;     // mounted, and neither recorded nor claimed: for people to look at
};
// An allocation that runs is left alone, whatever the others say.
Reconciled reconcile(const Knowledge& knowledge);

}  // namespace drover::mounts

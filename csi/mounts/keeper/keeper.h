// Keeps the mounts of this node's allocations: makes them, remembers them, and undoes them, now or when it can.
//
//   mount ──▶ claim ─▶ await the attachment ─▶ stage ─▶ publish        release ──▶ unpublish ─▶ unstage ─▶ tell
//
// All calls about one volume of a storage come one after the other (turns.h); each step is on disk before it is made
// (mount_plan.h). What cannot be undone at once is tried again for ever, at growing intervals, and as soon as a plugin
// comes back. Nothing is undone under an allocation that runs here. It has no thread: what it does later the host runs.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <stop_token>
#include <string>

#include "claims.h"
#include "drover/mutex.h"
#include "drover/turns.h"
#include "keeper/later.h"
#include "keeper/mount_records.h"
#include "keeper/node_steps.h"
#include "keeper/turn_names.h"
#include "paths.h"
#include "supervisor/instances.h"

namespace drover::mounts {

struct KeeperTiming {
  std::chrono::nanoseconds first_pause = std::chrono::seconds(1);
  std::chrono::nanoseconds longest_pause = std::chrono::minutes(1);
  std::chrono::nanoseconds patience = std::chrono::hours(24);   // with a volume that an allocation waits for
  std::chrono::nanoseconds each_try = std::chrono::minutes(2);  // of a call to a plugin
  std::chrono::nanoseconds at_once = std::chrono::seconds(30);  // for undoing what an allocation had when it ends
};

// How long an attempt may take, calls and the wait for its turn together.
struct Until {
  SteadyTime end;
  std::stop_token stop;
};

class Keeper {
 public:
  // All outlives the keeper.
  struct Setup {
    Host& host;
    Instances& instances;
    Claims& claims;
    Turns& turns;
    const Folders& folders;
    KeeperTiming timing{};
    MountList mounted = mounted_paths;
  };
  explicit Keeper(const Setup& setup) : setup_(setup), later_(setup.host) {}
  ~Keeper() { stop(); }
  // Reads what a former life of the agent left. Once, before all else.
  Status open() { return records_.open(setup_.host.local_store()); }
  // Cancels what is under way and waits for it. Nothing is unmounted. Idempotent.
  void stop();

  // --- Allocations. From attached() to ended() one runs here, and its mounts are left alone. [any]
  void attached(const Uuid& alloc);
  void ended(const Uuid& alloc);
  bool runs(const Uuid& alloc) const;
  // All that a former life of the agent left has been attached: from now on what is left over is undone.
  void settled();

  // Returns where the volume lies on this machine. Waits as long as that may help; `waits` hears what for, each time
  // that it is something else. One that a former life of the agent mounted is found and left as it is. Errors:
  // cancelled by `stop`; those that will not pass.
  Result<std::string> mount(const MountKey& key, const Usage& usage, const v1::MountOptions& options,
                            const std::function<void(const std::string&)>& waits, std::stop_token stop);
  // Where it was mounted for an allocation that runs. Errors: not_found.
  Result<std::string> mounted_at(const MountKey& key) const;
  // Undoes all of an ended allocation, once; what fails is tried again later. Errors: the first of them.
  Status release(const Uuid& alloc);
  // The same of one claim, when the servers ask: they know of the answer, and are not told. Errors: failed_precondition
  // while the allocation runs here; unavailable before settled().
  Status release(const NodeClaim& claim, const Until& until);
  Result<v1::CsiExpandResponse> expand(const v1::CsiNodeExpandRequest& request, const Until& until);
  // True when a volume of the plugin is mounted here, or may be.
  bool uses(const std::string& plugin_id) const;
  // A plugin may have come back: what waits is tried now.
  void plugins_changed();

 private:
  enum class Tells : uint8_t { servers, nobody };

  Until background() const;
  // Requires: all three outlive the call.
  NodeCall node_call(const Instances::Found& plugin, const Mount& mount, const MountPaths& paths,
                     const Until& until) const;

  // mounting.cc
  Result<std::string> try_mount(const MountKey& key, const Usage& usage, const v1::MountOptions& options,
                                const std::function<void(const std::string&)>& waits, const Until& until);
  Result<std::string> carry_out(Mount mount, const v1::CsiClaimResponse& claimed, const Until& until);
  Status make_step(Mount& mount, Forward step, const Instances::Found& plugin, const v1::CsiClaimResponse& claimed,
                   const Until& until);
  Result<std::string> host_target(const Mount& mount) const;

  // undoing.cc
  Status undo(const MountKey& key, Tells tells, const Until& until);
  Status undo_next(Mount& mount, Back step, const Until& until);
  Status forget(Mount& mount, Tells tells, const Until& until);
  Result<Turns::Turn> take_turn(const Mount& mount, const Until& until);
  void undo_later(const MountKey& key, std::chrono::nanoseconds pause);
  void undo_once(const MountKey& key, std::chrono::nanoseconds pause);
  Mount adopted(const NodeClaim& claim) const;
  void reconcile_later(std::chrono::nanoseconds pause);
  Status reconcile_now();
  std::vector<std::string> paths_below(const Mount& mount) const;

  const Setup setup_;
  MountRecords records_;
  Later later_;
  mutable Mutex mutex_;
  std::set<Uuid> running_ DROVER_GUARDED_BY(mutex_);
  bool is_settled_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace drover::mounts

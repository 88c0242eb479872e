// One simulated server, whatever runs in it: a machine with a disk, a clock and a state machine that can crash, stand
// still and be asked. Single-owner.
//
//   down ──start──▶ up ──crash──▶ down          lost: its disk was damaged on purpose and it refuses to start
//                   up, cut: it has lost what its disk had confirmed, says so, and asks the leader for it
//                   up ──pause──▶ up, but takes nothing from its inbox until the pause is over
//
// Two kinds of server run in it: BareNode (the core and the log, joined by the simulator, which sees every input and
// effect) and DrivenNode (the driver that the product runs).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/raft/core/core.h"
#include "kernel/raft/segment_log.h"
#include "kernel/raft/transport.h"
#include "storage/segment_repair.h"
#include "tests/simulation/check/conduct.h"
#include "tests/simulation/check/invariants.h"
#include "tests/simulation/cluster/disk.h"
#include "tests/simulation/cluster/key_value.h"
#include "tests/simulation/configuration.h"
#include "tests/simulation/world/clock.h"
#include "tests/simulation/world/network.h"
#include "tests/simulation/world/trace.h"

namespace drover::simulation {

raft::NodeId id_of(int number);
int number_of(raft::NodeId id);  // -1: no server of this cluster

struct Answer {
  enum class Outcome : uint8_t { done, refused, uncertain, impossible } outcome = Outcome::done;
  std::string value{};
  raft::Index index = 0;  // the write's, or what had been applied when the value was read
  int leader = -1;        // refused: who may know better
};

class Node;

// Everything that a server reaches beyond itself.
struct World {
  EventLoop& loop;
  Trace& trace;
  const Configuration& configuration;
  Invariants& invariants;
  Conduct& conduct;
  Network* network = nullptr;
  std::vector<std::unique_ptr<Node>>* nodes = nullptr;
  std::function<void(int node, const Request& request, Answer answer)> answer{};
  // A command has been executed for the first time, on whatever server.
  std::function<void(std::string_view command, const std::string& answer)> took_effect{};
  raft::Index executed = 0;
  uint64_t next_token = 1;
};

class Node {
 public:
  Node(World& world, int number, uint64_t seed);
  virtual ~Node() = default;

  int number() const { return number_; }
  raft::NodeId id() const { return id_; }
  virtual bool is_up() const = 0;
  bool is_lost() const { return is_lost_; }
  // Would not vote after a restart, or might not.
  bool is_damaged() const { return is_damaged_ || disk_.files.may_hold(std::string("/raft/") + raft::kDamageMark); }
  bool is_paused() const { return world_.loop.now() < paused_until_; }
  Disk& disk() { return disk_; }
  NodeClock& clock() { return clock_; }
  const KeyValue& machine() const { return machine_; }

  // Before the first start: the members that this server starts the cluster with. Without them it waits to be added.
  void bootstrap(raft::Membership membership) { bootstrap_ = std::move(membership); }
  // Tries again by itself as long as the disk does not let it.
  void start();
  // The process ends; with the power, what was not synced is lost in part.
  void crash(bool is_power_cut);
  // An orderly end, as an operator's.
  void stop();
  void pause(Micros until);
  // Rot on the disk: one bit of a file of the log or a snapshot.
  void damage(Random& random);
  // Lets go of operations that hang.
  void heal_disk();

  // Requires: the server is up.
  virtual void receive(raft::Message message) = 0;
  virtual void receive_bulk(raft::BulkMessage message) = 0;
  virtual void peer_changed(int peer, bool is_reachable) = 0;
  virtual void serve(const Request& request) = 0;
  virtual void change_membership(const std::vector<raft::MemberEdit>& edits) = 0;
  virtual void transfer(raft::NodeId to) = 0;
  virtual void take_snapshot() = 0;
  virtual raft::CoreStatus status() const = 0;
  virtual raft::Membership committed_membership() const = 0;
  // Asked when nothing happens any more: everything that was committed is applied, and everything asked is answered.
  virtual std::string unfinished() const = 0;

 protected:
  virtual Status open() = 0;
  virtual void close() = 0;      // as a crash does
  virtual void shut_down() = 0;  // before close(), when there is time
  // True when it can come back with an empty disk, as one that says that it has lost entries.
  virtual bool can_begin_again() const = 0;
  virtual void started() = 0;    // is up
  virtual void continued() = 0;  // the pause is over
  virtual bool write_log() = 0;  // one batch, if there is one
  virtual bool has_writes() const = 0;
  virtual void written() = 0;  // it has been told that what it wrote is durable

  // Runs `action` after `delay` unless this server has crashed by then; later if it is paused.
  template <typename F>
  void later(Micros delay, F action) {
    world_.loop.after(delay, [this, life = life_, action = std::move(action)]() mutable {
      if (life != life_) return;
      if (is_paused()) return later(paused_until_ - world_.loop.now(), std::move(action));
      action();
    });
  }
  // Lets the disk begin a write unless one is under way.
  void kick_disk();
  // Has all again that it had lost.
  void repaired();
  // As a process does that can no longer write its log: it ends, and somebody starts it again.
  void end_of_storage();
  raft::SegmentLogOptions log_options();
  void answer(const Request& request, Answer answer) { world_.answer(number_, request, std::move(answer)); }
  // The state machine is about to execute an entry.
  void execute(std::span<const raft::Entry> entries, std::vector<Result<std::string>>& answers);

  World& world_;
  const int number_;
  const raft::NodeId id_;
  const uint64_t seed_;
  Random random_;
  Disk disk_;
  NodeClock clock_;
  KeyValue machine_;
  std::optional<raft::Membership> bootstrap_;
  uint64_t life_ = 0;  // events of an earlier one do nothing
  bool is_damaged_ = false;
  bool is_cut_ = false;  // has begun again or kept a part, and is not whole yet
  bool has_storage_failed_ = false;

 private:
  void fail_start(const Status& status);
  void told();

  Micros paused_until_ = 0;
  bool is_lost_ = false;
  bool is_disk_busy_ = false;
  uint64_t disk_turn_ = 0;
};

}  // namespace drover::simulation

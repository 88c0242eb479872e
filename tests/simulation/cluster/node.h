// One simulated server: the real core, the real log on a disk that misbehaves, the real snapshot store and a key-value
// state machine, joined without threads. Everything it does is an event of the loop.
//
//   down ──start──▶ up ──crash──▶ down          lost: its disk was damaged on purpose and it refuses to start
//                   up ──pause──▶ up, but takes nothing from its inbox until the pause is over
//
// Single-owner.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/raft/core/core.h"
#include "kernel/raft/segment_log.h"
#include "kernel/raft/snapshot_store.h"
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

// What a server reaches beyond itself.
struct World {
  EventLoop& loop;
  Trace& trace;
  const Configuration& configuration;
  Invariants& invariants;
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

  int number() const { return number_; }
  raft::NodeId id() const { return id_; }
  bool is_up() const { return core_ != nullptr; }
  bool is_lost() const { return is_lost_; }
  bool is_damaged() const { return is_damaged_; }
  bool is_paused() const { return world_.loop.now() < paused_until_; }
  Disk& disk() { return disk_; }
  void heal_disk();
  NodeClock& clock() { return clock_; }

  // Before the first start: the members that this server starts the cluster with. Without them it waits to be added.
  void bootstrap(raft::Membership membership) { bootstrap_ = std::move(membership); }
  // Tries again by itself as long as the disk does not let it.
  void start();
  // The process ends; with the power, what was not synced is lost in part.
  void crash(bool is_power_cut);
  void pause(Micros until);

  void receive(raft::Message message) { post(raft::Receive{std::move(message)}); }
  void peer_changed(int peer, bool is_reachable);
  void serve(const Request& request);
  void change_membership(const std::vector<raft::MemberEdit>& edits);
  void transfer(raft::NodeId to);
  void take_snapshot();
  // Rot on the disk: one bit of a file of the log or a snapshot.
  void damage(Random& random);

  raft::CoreStatus status() const { return core_->status(); }
  const raft::Membership& committed_membership() const { return core_->committed_membership(); }
  const KeyValue& machine() const { return machine_; }
  size_t open_tokens() const { return tokens_.size(); }
  // Asked when nothing happens any more: everything that was committed is applied, and everything asked is answered.
  std::string unfinished() const;

 private:
  enum class Purpose : uint8_t { write, read, membership, transfer };
  struct Token {
    Purpose purpose = Purpose::write;
    Request request{};
    raft::Index floor = 0;  // read: what had been acknowledged to somebody when it was asked for
  };

  Status open();
  Result<raft::SnapshotInfo> restore();
  Status begin_cluster(const raft::SnapshotInfo& base);
  Result<std::vector<raft::Entry>> read_log() const;
  raft::CoreState core_state(const raft::SnapshotInfo& base, const std::vector<raft::Entry>& entries) const;
  raft::CoreConfig core_config() const;
  void fail_start(const Status& status);
  // Runs `action` after `delay` unless this server has crashed by then; later if it is paused.
  template <typename F>
  void later(Micros delay, F action) {
    world_.loop.after(delay, [this, life = life_, action = std::move(action)]() mutable {
      if (life != life_) return;
      if (is_paused()) return later(paused_until_ - world_.loop.now(), std::move(action));
      action();
    });
  }

  void post(raft::Input input);
  void drain();
  void note_commit();
  void handle(raft::Effects effects);
  void tick();

  void submit(raft::LogWrite write);
  void kick_disk();
  void write_now();
  void told();
  void idle();

  void apply_soon();
  void apply_now();
  void answer_reads();
  void resolve(const raft::Resolution& resolution);
  void read_ready(const raft::ReadReady& ready);
  void read_for_peer(const raft::LogRead& wanted);
  void answer(const Request& request, Answer answer) { world_.answer(number_, request, std::move(answer)); }

  void save_snapshot(raft::Index index, raft::Term term, raft::Membership membership,
                     std::shared_ptr<raft::SnapshotSource> source);
  void send_snapshot(raft::NodeId to);
  void receive_snapshot(int from, raft::Term leader_term, const raft::SnapshotInfo& info,
                        std::shared_ptr<const std::string> bytes);
  void install(const raft::SnapshotInstall& wanted);

  World& world_;
  const int number_;
  const raft::NodeId id_;
  const uint64_t seed_;
  Random random_;
  Disk disk_;
  NodeClock clock_;
  std::optional<raft::Membership> bootstrap_;

  uint64_t life_ = 0;  // events of an earlier one do nothing
  Micros paused_until_ = 0;
  bool is_damaged_ = false;
  bool is_lost_ = false;

  KeyValue machine_;
  std::unique_ptr<raft::SegmentLog> log_;
  std::unique_ptr<raft::SnapshotStore> snapshots_;
  std::unique_ptr<raft::Core> core_;
  uint64_t write_seq_ = 0;

  std::vector<raft::Input> inbox_;
  bool is_drain_due_ = false;
  bool is_draining_ = false;
  int missed_ticks_ = 0;  // while paused
  int64_t steps_ = 0;

  bool is_disk_busy_ = false;
  uint64_t disk_turn_ = 0;
  bool has_storage_failed_ = false;
  uint64_t written_seq_ = 0;
  uint64_t told_seq_ = 0;
  std::deque<std::pair<uint64_t, Micros>> outstanding_;  // writes, and when they were submitted, on the local clock
  bool is_slow_ = false;

  raft::Index apply_to_ = 0;
  bool is_apply_due_ = false;
  raft::Membership applied_membership_;
  raft::Term applied_term_ = 0;
  raft::Index snapshot_index_ = 0;  // of the newest taken or installed
  bool is_snapshotting_ = false;

  std::map<uint64_t, Token> tokens_;
  std::map<raft::Index, Request> writes_;                              // committed, wait to be applied
  std::multimap<raft::Index, std::pair<Request, raft::Index>> reads_;  // wait to be applied up to here
};

}  // namespace drover::simulation

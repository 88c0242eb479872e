// A server of the real core, the real log, the real snapshot store and nothing else: the simulator joins them itself
// and so sees every input and every effect, and what each promise that leaves is worth on the disk. DrivenNode has the
// driver's additions as well (queues, threads, deadlines, chunks of snapshots).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernel/raft/core/core.h"
#include "kernel/raft/segment_log.h"
#include "kernel/raft/snapshot_store.h"
#include "tests/simulation/cluster/node.h"

namespace drover::simulation {

class BareNode final : public Node {
 public:
  using Node::Node;

  bool is_up() const override { return core_ != nullptr; }
  void receive(raft::Message message) override { post(raft::Receive{std::move(message)}); }
  void receive_bulk(raft::BulkMessage) override {}  // its snapshots travel whole
  void peer_changed(int peer, bool is_reachable) override;
  void serve(const Request& request) override;
  void change_membership(const std::vector<raft::MemberEdit>& edits) override;
  void transfer(raft::NodeId to) override;
  void take_snapshot() override;
  raft::CoreStatus status() const override { return core_->status(); }
  raft::Membership committed_membership() const override { return core_->committed_membership(); }
  std::string unfinished() const override;

 protected:
  Status open() override;
  void close() override;
  void shut_down() override;
  bool can_begin_again() const override { return true; }
  void started() override;
  void continued() override;
  bool write_log() override;
  bool has_writes() const override { return !outstanding_.empty(); }
  void written() override;

 private:
  enum class Purpose : uint8_t { write, read, membership, transfer };
  struct Token {
    Purpose purpose = Purpose::write;
    Request request{};
    raft::Index floor = 0;  // read: what had been acknowledged to somebody when it was asked for
  };

  Result<raft::SnapshotInfo> restore();
  Status begin_cluster(const raft::SnapshotInfo& base);
  Status write_first(raft::LogWrite write);
  Result<std::vector<raft::Entry>> read_log() const;
  raft::CoreState core_state(const raft::SnapshotInfo& base, const std::vector<raft::Entry>& entries) const;
  raft::CoreConfig core_config() const;

  void post(raft::Input input);
  void drain();
  void note_commit();
  void handle(raft::Effects effects);
  void tick();

  void submit(raft::LogWrite write);
  void idle();

  void apply_soon();
  void apply_now();
  void answer_reads();
  void resolve(const raft::Resolution& resolution);
  void read_ready(const raft::ReadReady& ready);
  void read_for_peer(const raft::LogRead& wanted);

  void save_snapshot(raft::Index index, raft::Term term, raft::Membership membership,
                     std::shared_ptr<raft::SnapshotSource> source);
  void send_snapshot(raft::NodeId to);
  void receive_snapshot(int from, raft::Term leader_term, const raft::SnapshotInfo& info,
                        std::shared_ptr<const std::string> bytes);
  void install(const raft::SnapshotInstall& wanted);
  void install_now(const raft::SnapshotInstall& wanted);

  std::unique_ptr<raft::SegmentLog> log_;
  std::unique_ptr<raft::SnapshotStore> snapshots_;
  std::unique_ptr<raft::Core> core_;
  uint64_t write_seq_ = 0;

  std::vector<raft::Input> inbox_;
  bool is_drain_due_ = false;
  bool is_draining_ = false;
  int missed_ticks_ = 0;  // while paused
  int64_t steps_ = 0;

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
  std::deque<raft::SnapshotInstall> installs_;  // snapshots on their way into the state machine, in order
  Micros install_at_ = 0;

  std::map<uint64_t, Token> tokens_;
  std::map<raft::Index, Request> writes_;                              // committed, wait to be applied
  std::multimap<raft::Index, std::pair<Request, raft::Index>> reads_;  // wait to be applied up to here
};

}  // namespace drover::simulation

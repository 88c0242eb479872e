// A server of the product's own driver, its loops run one step at a time: queues, deadlines, snapshots in chunks, what
// becomes of callers. Seen from outside only: its messages, its answers and what it applies.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernel/raft/driver.h"
#include "tests/simulation/cluster/node.h"

namespace drover::simulation {

class DrivenNode final : public Node, private raft::Transport {
 public:
  DrivenNode(World& world, int number, uint64_t seed)
      : Node(world, number, seed), clock_view_(*this), executor_(*this) {}

  bool is_up() const override { return is_started_; }
  void receive(raft::Message message) override;
  void receive_bulk(raft::BulkMessage message) override;
  void peer_changed(int peer, bool is_reachable) override;
  void serve(const Request& request) override;
  void change_membership(const std::vector<raft::MemberEdit>& edits) override;
  void transfer(raft::NodeId to) override;
  void take_snapshot() override;
  raft::CoreStatus status() const override;
  raft::Membership committed_membership() const override { return driver_->membership(); }
  std::string unfinished() const override;

 protected:
  Status open() override;
  void close() override;
  void shut_down() override;
  bool can_begin_again() const override { return false; }  // the driver has no such start
  void started() override;
  void continued() override { work(); }
  bool write_log() override;
  bool has_writes() const override { return may_have_writes_; }
  void written() override {
    if (may_have_writes_) wake();  // it wrote something
  }

 private:
  // The driver takes this for its machine's clock.
  class ClockView final : public Clock {
   public:
    explicit ClockView(const DrivenNode& node) : node_(node) {}
    int64_t wall_ns() const override { return node_.clock_.local(node_.world_.loop.now()) * 1000; }
    SteadyTime steady() const override { return node_.clock_.steady(node_.world_.loop.now()); }

   private:
    const DrivenNode& node_;
  };
  class Executor final : public raft::StateMachine {
   public:
    explicit Executor(DrivenNode& node) : node_(node) {}
    void apply(std::span<const raft::Entry> entries, std::vector<Result<std::string>>& answers) override {
      node_.execute(entries, answers);
    }
    raft::Index applied_index() override { return node_.machine_.index(); }
    std::unique_ptr<raft::SnapshotSource> snapshot() override { return node_.machine_.snapshot(); }
    Status restore(raft::ByteSource& source) override;

   private:
    DrivenNode& node_;
  };

  void start(const raft::Member& self, raft::PeerEvents& events) override;
  void stop() override { events_ = nullptr; }
  void set_peers(raft::ClusterId, std::vector<raft::Member>) override {}  // the network reaches everybody
  void send(raft::Message message) override;
  void send_bulk(raft::BulkMessage message) override;

  raft::Options options() const;
  SteadyTime deadline() const;
  void tick();
  void wake();
  void work();
  void observe();
  void step_others();
  void scrub();
  // Each callback once: `once` counts it as open, and what it returns says whether it was the first.
  std::function<bool()> once(const char* what);

  ClockView clock_view_;
  Executor executor_;
  std::unique_ptr<raft::Stepped> driver_;
  raft::PeerEvents* events_ = nullptr;
  bool is_started_ = false;
  bool is_working_ = false;
  bool is_wake_due_ = false;
  bool is_step_due_ = false;
  bool may_have_writes_ = false;
  raft::Term led_ = 0;
  raft::Index seen_commit_ = 0;
  raft::Index seen_durable_ = 0;  // of an earlier life, too
  raft::Term seen_term_ = 0;
  size_t open_calls_ = 0;
};

}  // namespace drover::simulation

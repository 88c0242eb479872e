#include "kernel/raft/driver.h"

#include <pthread.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <utility>

#include "drover/log.h"
#include "drover/mutex.h"
#include "kernel/raft/apply_loop.h"
#include "kernel/raft/board.h"
#include "kernel/raft/raft_loop.h"
#include "kernel/raft/recover.h"
#include "kernel/raft/save_loop.h"
#include "kernel/raft/scrub_loop.h"
#include "kernel/raft/snapshot_store.h"
#include "kernel/raft/transfer_loop.h"

namespace drover::raft {
namespace {

// For a cluster of one server: there is nobody to talk to.
class NoTransport final : public Transport {
 public:
  void start(const Member&, PeerEvents&) override {}
  void stop() override {}
  void set_peers(ClusterId, std::vector<Member>) override {}
  void send(Message) override {}
  void send_bulk(BulkMessage) override {}
};

class Driver final : public Stepped, public PeerEvents {
 public:
  Driver(Options options, StateMachine& machine, FileSystem& files, const Clock& clock, Transport* transport,
         bool has_threads)
      : options_(std::move(options)),
        machine_(machine),
        files_(files),
        clock_(clock),
        transport_(transport ? *transport : no_transport_),
        has_threads_(has_threads) {}
  ~Driver() override {
    if (has_threads_) stop();
  }

  Status start() override;
  void stop() override;

  void propose(std::string command, SteadyTime deadline, ProposeDone done, Term only_in_term) override;
  void read_index(SteadyTime deadline, IndexDone done) override;
  void subscribe_leadership(Leadership on_gain) override;
  Role role() const override { return board_.role; }
  Term term() const override { return board_.term; }
  Member leader_hint() const override;
  std::optional<std::chrono::nanoseconds> last_contact() const override;
  std::vector<PeerInfo> peers() const override;
  Membership membership() const override;
  void change_membership(std::vector<MemberEdit> edits, SteadyTime deadline, StatusDone done) override;
  void transfer_leadership(NodeId to, SteadyTime deadline, StatusDone done) override;
  void bootstrap(std::vector<Member> voters, StatusDone done) override;
  void take_snapshot(SnapshotDone done) override;
  Result<OpenSnapshot> open_snapshot() override;
  ClusterId cluster_id() const override { return log_->cluster_id(); }
  NodeId node_id() const override { return self_; }
  Index last_index() const override { return log_ ? log_->last_index() : 0; }
  Index commit_index() const override { return board_.commit; }
  Index applied_index() const override { return board_.applied; }
  Index durable_index() const override { return log_ ? log_->durable_index() : 0; }
  Stats stats() const override;

  Status meet(ClusterId cluster) override { return log_->join_cluster(cluster); }
  void receive(Message message) override { raft_->push(std::move(message)); }
  void receive_bulk(BulkMessage message) override { transfer_->receive(std::move(message)); }
  void peer_unreachable(NodeId peer) override { raft_->push(PeerUnreachable{peer}); }
  void peer_reconnected(NodeId peer) override { raft_->push(PeerReconnected{peer}); }

  bool step_raft() override { return raft_->step(); }
  bool step_log(SegmentLog::Idle idle) override { return log_->write_step(idle); }
  bool step_fill() override { return log_->fill_step(); }
  bool step_apply() override { return apply_->step(); }
  bool step_save() override { return save_->step(); }
  bool step_transfer() override { return transfer_->step(); }
  bool step_scrub() override { return scrub_->step(); }

 private:
  Status check_voters(const std::vector<Member>& voters) const;
  void begin(CoreState state);
  void run_threads();
  void hand_over();
  void finish();

  // Constant after start().
  const Options options_;
  StateMachine& machine_;
  FileSystem& files_;
  const Clock& clock_;
  NoTransport no_transport_;
  Transport& transport_;
  const bool has_threads_;
  NodeId self_;
  std::unique_ptr<SegmentLog> log_;
  std::unique_ptr<SnapshotStore> snapshots_;
  std::unique_ptr<RaftLoop> raft_;
  std::unique_ptr<ApplyLoop> apply_;
  std::unique_ptr<SaveLoop> save_;
  std::unique_ptr<TransferLoop> transfer_;
  std::unique_ptr<ScrubLoop> scrub_;

  // Synchronise themselves.
  Board board_;
  Waiters waiters_;

  Mutex start_mutex_;  // held throughout: one start or stop at a time
  std::vector<Leadership> early_subscribers_ DROVER_GUARDED_BY(start_mutex_);
  bool is_running_ DROVER_GUARDED_BY(start_mutex_) = false;
  std::thread raft_thread_, apply_thread_, save_thread_, transfer_thread_, scrub_thread_;
};

// ---- start and stop ----

Status Driver::check_voters(const std::vector<Member>& voters) const {
  const auto is_self = [&](const Member& member) { return member.id == self_; };
  if (std::ranges::none_of(voters, is_self)) return invalid_argument("this server is not among the voters");
  for (const Member& voter : voters) {
    if (voter.id.is_zero()) return invalid_argument("a voter without an identifier");
    if (std::ranges::count(voters, voter.id, &Member::id) > 1) {
      return invalid_argument("voter " + voter.id.to_string() + " is named twice");
    }
  }
  return ok_status();
}

Status Driver::start() {
  const MutexLock starting(start_mutex_);
  DROVER_CHECK(!log_);
  SegmentLogOptions log_options = options_.log;
  log_options.directory = options_.directory;
  log_options.node_id = options_.node_id;
  log_options.cluster_id = options_.cluster_id;
  DROVER_TRY(log_, SegmentLog::open(files_, std::move(log_options)));
  self_ = log_->node_id();
  DROVER_TRY(snapshots_, SnapshotStore::open(files_, options_.directory));
  DROVER_TRY(Recovered recovered, recover(*log_, *snapshots_, machine_));
  if (recovered.is_new()) {
    std::vector<Member> voters = options_.bootstrap;
    if (voters.empty() && options_.bootstrap_alone) voters = {{.id = self_, .address = options_.address}};
    if (!voters.empty()) {
      DROVER_RETURN_IF_ERROR(check_voters(voters));
      DROVER_RETURN_IF_ERROR(recovered.begin_cluster(std::move(voters), *log_));
    }
  }
  {
    const MutexLock lock(board_.mutex);
    board_.newest = recovered.snapshot;
  }
  board_.applied = board_.commit = recovered.snapshot.index;
  board_.term = recovered.state.hard_state.term;
  board_.is_damaged = recovered.state.is_damaged;

  raft_ = std::make_unique<RaftLoop>(options_, clock_, *log_, transport_, board_, waiters_);
  apply_ = std::make_unique<ApplyLoop>(options_, clock_, machine_, *log_, *snapshots_, board_, waiters_);
  save_ = std::make_unique<SaveLoop>(options_, clock_, *log_, *snapshots_, board_);
  transfer_ = std::make_unique<TransferLoop>(options_, clock_, *log_, *snapshots_, transport_, board_);
  scrub_ = std::make_unique<ScrubLoop>(options_, clock_, *log_, *snapshots_, board_);
  raft_->connect(self_, *apply_, *transfer_);
  apply_->connect(*raft_, *save_);
  save_->connect(*raft_, *apply_);
  transfer_->connect(self_, *raft_, *apply_);
  for (Leadership& subscriber : early_subscribers_) raft_->subscribe(std::move(subscriber));
  early_subscribers_.clear();

  const auto on_durable = [this](uint64_t write_seq) {
    raft_->durable(write_seq);
    save_->durable();
  };
  if (recovered.first_write) {
    // Runs alone on this disk: nothing is sent or counted before the first entry is on it.
    log_->start_stepped([](uint64_t) {});
    log_->submit(*std::move(recovered.first_write));
    if (!log_->write_step(SegmentLog::Idle::nothing)) return data_loss("the first entry could not be written");
  }
  transport_.start({.id = self_, .address = options_.address}, *this);
  apply_->begin(recovered.snapshot.membership);
  raft_->begin(std::move(recovered.state));
  is_running_ = true;
  if (has_threads_) {
    log_->start(on_durable);
    run_threads();
  } else {
    log_->start_stepped(on_durable);
  }
  return ok_status();
}

template <typename Loop>
std::thread run_loop(const char* name, Loop& loop) {
  return std::thread([name, &loop] {
    pthread_setname_np(pthread_self(), name);
    loop.thread.bind();
    while (loop.wait()) loop.step();
  });
}

void Driver::run_threads() {
  raft_thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "raft");
    raft_->thread.bind();
    while (!raft_->is_closed()) {
      raft_->wait();
      raft_->step();
    }
    // Takes in the accepted proposals, makes them durable, and runs one more round to hear of it.
    raft_->step();
    log_->stop();
    raft_->step();
  });
  apply_thread_ = run_loop("apply", *apply_);
  save_thread_ = run_loop("snapshot", *save_);
  transfer_thread_ = run_loop("transfer", *transfer_);
  scrub_thread_ = run_loop("scrub", *scrub_);
}

// Hands leadership over before this server goes, so that nobody waits for an election.
void Driver::hand_over() {
  if (board_.role != Role::leader || peers().empty()) return;
  struct Handed {
    Mutex mutex;
    CondVar changed;
    bool is_over DROVER_GUARDED_BY(mutex) = false;
  };
  const auto handed = std::make_shared<Handed>();
  const auto limit = 2 * options_.election_ticks * options_.tick;
  transfer_leadership({}, clock_.steady() + limit, [handed](const Status&) {
    const MutexLock lock(handed->mutex);
    handed->is_over = true;
    handed->changed.notify_one();
  });
  MutexLock lock(handed->mutex);
  handed->changed.wait_for(lock, limit, [&]() DROVER_REQUIRES(handed->mutex) { return handed->is_over; });
}

void Driver::stop() {
  const MutexLock stopping(start_mutex_);
  if (!is_running_) return;
  is_running_ = false;
  board_.is_giving_up = true;
  raft_->refuse();
  if (has_threads_) {
    hand_over();
    raft_->post([this] { raft_->end_leadership(); });
    // In the order in which things flow: written, committed, applied.
    raft_->close();
    raft_thread_.join();
    apply_->close();
    apply_thread_.join();
    save_->close();
    save_thread_.join();
    transfer_->close();
    transfer_thread_.join();
    scrub_->close();
    scrub_thread_.join();
  } else {
    raft_->end_leadership();
    raft_->close();
    raft_->step();
    while (log_->write_step(SegmentLog::Idle::nothing)) raft_->step();
    log_->write_step(SegmentLog::Idle::close);
    apply_->close();
    while (apply_->step()) {
    }
  }
  finish();
}

void Driver::finish() {
  transport_.stop();
  board_.role = Role::follower;
  {
    const MutexLock lock(board_.mutex);
    board_.leader = {};
    board_.peers.clear();
  }
  const Status stopped = unavailable("not leader: this server has stopped");
  raft_->abandon(stopped);
  for (ProposeDone& done : waiters_.take_all()) done(uncertain("this server stopped"));
  apply_->abandon(stopped);
}

// ---- [any] ----

void Driver::propose(std::string command, SteadyTime deadline, ProposeDone done, Term only_in_term) {
  if (!raft_) return done(unavailable("not leader: this server is not running"));
  raft_->propose({.type = EntryType::command,
                  .payload = std::make_shared<const std::string>(std::move(command)),
                  .only_in_term = only_in_term,
                  .deadline = deadline,
                  .done = std::move(done)});
}

void Driver::read_index(SteadyTime deadline, IndexDone done) {
  if (!raft_) return done(unavailable("not leader: this server is not running"));
  raft_->read(deadline, std::move(done));
}

void Driver::subscribe_leadership(Leadership on_gain) {
  const MutexLock lock(start_mutex_);
  if (!is_running_) return early_subscribers_.push_back(std::move(on_gain));
  raft_->post([this, on_gain = std::move(on_gain)] { raft_->subscribe(on_gain); });
}

Member Driver::leader_hint() const {
  const MutexLock lock(board_.mutex);
  return board_.leader;
}

std::optional<std::chrono::nanoseconds> Driver::last_contact() const {
  if (board_.role == Role::leader) return std::chrono::nanoseconds(0);
  const MutexLock lock(board_.mutex);
  if (board_.leader_contact == SteadyTime()) return std::nullopt;
  return clock_.steady() - board_.leader_contact;
}

std::vector<PeerInfo> Driver::peers() const {
  const MutexLock lock(board_.mutex);
  return board_.peers;
}

Membership Driver::membership() const {
  const MutexLock lock(board_.mutex);
  return board_.membership;
}

void Driver::change_membership(std::vector<MemberEdit> edits, SteadyTime deadline, StatusDone done) {
  if (!raft_) return done(unavailable("not leader: this server is not running"));
  const auto make = [edits = std::move(edits)](uint64_t token) -> Input {
    return ChangeMembership{.edits = edits, .token = token};
  };
  raft_->ask(make, deadline, std::move(done));
}

void Driver::transfer_leadership(NodeId to, SteadyTime deadline, StatusDone done) {
  if (!raft_) return done(unavailable("not leader: this server is not running"));
  const auto make = [to](uint64_t token) -> Input { return TransferLeadership{.to = to, .token = token}; };
  raft_->ask(make, deadline, std::move(done));
}

void Driver::bootstrap(std::vector<Member> voters, StatusDone done) {
  if (!raft_) return done(unavailable("not leader: this server is not running"));
  if (const Status valid = check_voters(voters); !valid.ok()) return done(valid);
  const bool is_posted = raft_->post([this, voters = std::move(voters), done] {
    if (log_->last_index() != 0 || !membership().members.empty() || board_.is_damaged) {
      return done(failed_precondition("this server is part of a cluster already"));
    }
    raft_->begin_cluster(voters, done);
  });
  if (!is_posted) done(unavailable("not leader: this server is not running"));
}

void Driver::take_snapshot(SnapshotDone done) {
  if (!apply_) return done(unavailable("this server is not running"));
  apply_->want_snapshot(std::move(done));
}

Result<Consensus::OpenSnapshot> Driver::open_snapshot() {
  if (!snapshots_) return unavailable("this server is not running");
  const std::vector<SnapshotInfo> kept = snapshots_->list();
  if (kept.empty()) return not_found("no snapshot has been taken yet");
  DROVER_TRY(std::unique_ptr<ByteSource> bytes, snapshots_->read(kept.front()));
  return OpenSnapshot{.info = kept.front(), .bytes = std::move(bytes)};
}

Stats Driver::stats() const {
  Stats stats;
  {
    const MutexLock lock(board_.mutex);
    stats = board_.stats;
    stats.snapshot_index = board_.newest.index;
    stats.snapshot_term = board_.newest.term;
    stats.snapshot_bytes = board_.newest.bytes;
  }
  stats.uncommitted_bytes = board_.pending_bytes;
  stats.unapplied_bytes = board_.unapplied_bytes;
  stats.is_damaged = board_.is_damaged;
  if (snapshots_) stats.snapshots_kept = snapshots_->list().size();
  if (log_) {
    stats.first_index = log_->first_index();
    stats.last_term = log_->term_at(log_->last_index()).value_or(0);
    stats.log = log_->stats();
  }
  return stats;
}

}  // namespace

void Histogram::add(uint64_t ns) {
  ++count;
  sum_ns += ns;
  max_ns = std::max(max_ns, ns);
  size_t bucket = 0;
  while (bucket + 1 < kBuckets && (ns / 1000) >> bucket != 0) ++bucket;
  ++buckets[bucket];
}

std::string_view to_string(Role role) {
  switch (role) {
    case Role::follower:
      return "follower";
    case Role::candidate:
      return "candidate";
    case Role::leader:
      return "leader";
  }
  return "unknown";
}

std::unique_ptr<Consensus> make_consensus(Options options, StateMachine& machine, FileSystem& files, const Clock& clock,
                                          Transport* transport) {
  return std::make_unique<Driver>(std::move(options), machine, files, clock, transport, true);
}

std::unique_ptr<Stepped> make_stepped(Options options, StateMachine& machine, FileSystem& files, const Clock& clock,
                                      Transport& transport) {
  return std::make_unique<Driver>(std::move(options), machine, files, clock, &transport, false);
}

}  // namespace drover::raft

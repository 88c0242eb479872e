#include "kernel/raft/driver.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "drover/log.h"
#include "kernel/raft/segment_format.h"
#include "kernel/raft/snapshot_store.h"

namespace drover::raft {
namespace {

constexpr std::chrono::milliseconds kTick{100};
constexpr uint64_t kWriteBytes = 4ull << 20;  // of entries in one write: what is larger than this travels alone

Status uncertain(std::string_view why) {
  return deadline_exceeded(std::string(why) + " while the command was in the log: it may or may not be applied");
}

// Callbacks of entries in the log, by index: each is taken once, by apply, by its deadline or by stop. [any]
class Waiters {
 public:
  struct Waiter {
    Consensus::ProposeDone done;
    SteadyTime begun;
    SteadyTime deadline;
  };

  void add(Index index, Waiter waiter) {
    const std::lock_guard lock(mutex_);
    if (waiter.deadline != SteadyTime::max()) deadlines_.emplace(waiter.deadline, index);
    DROVER_CHECK(by_index_.emplace(index, std::move(waiter)).second);  // I9
  }
  // Everything up to and including `last`, by index.
  std::map<Index, Waiter> take(Index last) {
    std::map<Index, Waiter> taken;
    const std::lock_guard lock(mutex_);
    while (!by_index_.empty() && by_index_.begin()->first <= last) {
      auto node = by_index_.extract(by_index_.begin());
      deadlines_.erase({node.mapped().deadline, node.key()});
      taken.insert(taken.end(), std::move(node));
    }
    return taken;
  }
  std::vector<Waiter> take_expired(SteadyTime now) {
    std::vector<Waiter> taken;
    const std::lock_guard lock(mutex_);
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      taken.push_back(std::move(by_index_.extract(deadlines_.begin()->second).mapped()));
      deadlines_.erase(deadlines_.begin());
    }
    return taken;
  }
  SteadyTime next_deadline() const {
    const std::lock_guard lock(mutex_);
    return deadlines_.empty() ? SteadyTime::max() : deadlines_.begin()->first;
  }

 private:
  mutable std::mutex mutex_;  // guards what follows; a leaf
  std::map<Index, Waiter> by_index_;
  std::set<std::pair<SteadyTime, Index>> deadlines_;
};

class Driver final : public Consensus {
 public:
  Driver(Options options, StateMachine& machine, FileSystem& files, const Clock& clock)
      : options_(std::move(options)), machine_(machine), files_(files), clock_(clock) {}
  ~Driver() override { stop(); }

  Status start() override;
  void stop() override;
  void propose(std::string command, SteadyTime deadline, ProposeDone done, Term only_in_term = 0) override;
  void barrier(SteadyTime deadline, IndexDone done) override;
  void read_index(SteadyTime deadline, IndexDone done) override;
  void subscribe_leadership(Leadership on_gain) override;
  Role role() const override { return role_; }
  Term term() const override { return term_; }
  Member leader_hint() const override;
  Membership membership() const override;
  void change_membership(MembershipChange change, SteadyTime deadline, StatusDone done) override;
  void take_snapshot(SnapshotDone done) override;
  ClusterId cluster_id() const override { return log_->cluster_id(); }
  NodeId node_id() const override { return self_; }
  Index last_index() const override { return log_ ? log_->last_index() : 0; }
  Index commit_index() const override { return commit_; }
  Index applied_index() const override { return applied_; }
  Index durable_index() const override { return log_ ? log_->durable_index() : 0; }
  Stats stats() const override;

 private:
  struct Proposal {
    EntryType type = EntryType::command;
    std::shared_ptr<const std::string> payload;
    SteadyTime begun;
    SteadyTime deadline;
    ProposeDone done{};
    Term only_in_term = 0;
    uint64_t bytes() const { return kEntryHeaderBytes + (payload ? payload->size() : 0); }
  };
  struct Read {
    Index index = 0;
    SteadyTime deadline;
    IndexDone done;
  };
  struct SnapshotJob {
    std::unique_ptr<SnapshotSource> source;
    Term term = 0;
    Membership membership;
    std::vector<SnapshotDone> done;
  };

  Result<SnapshotInfo> restore();
  Status check_membership() const;
  void enqueue(Proposal proposal);
  bool post(std::function<void()> control);  // false once stopping

  void run_raft();
  void campaign();
  void append(std::deque<Proposal> proposals);
  void on_durable(uint64_t write_seq);
  void resolve_reads();
  void announce();
  void expire(SteadyTime now);

  void run_apply();
  bool apply_batch(Index last);
  void freeze(std::vector<SnapshotDone> done);
  void run_snapshot();

  // Constant after start().
  const Options options_;
  StateMachine& machine_;
  FileSystem& files_;
  const Clock& clock_;
  std::unique_ptr<SegmentLog> log_;
  std::unique_ptr<SnapshotStore> snapshots_;
  NodeId self_;
  Index recovered_last_ = 0;

  // [raft]
  uint64_t write_seq_ = 0;
  uint64_t first_write_seq_ = 0;  // carries the vote and the first entry of the term
  Index term_first_ = 0;          // that entry
  Index last_ = 0;
  std::deque<std::pair<Index, uint64_t>> in_flight_;  // proposals not yet committed, with their bytes
  std::deque<Read> reads_;
  bool is_announced_ = false;
  std::stop_source leadership_;
  std::vector<Leadership> subscribers_;

  // [apply]
  Membership applied_membership_;
  uint64_t bytes_since_snapshot_ = 0;

  // Synchronise themselves.
  Waiters waiters_;
  std::atomic<Role> role_{Role::follower};
  std::atomic<Term> term_{0};
  std::atomic<Index> commit_{0};
  std::atomic<Index> applied_{0};
  std::atomic<Index> awaited_{UINT64_MAX};  // [raft] wants to hear when this is applied
  std::atomic<uint64_t> uncommitted_{0};
  std::atomic<uint64_t> unapplied_{0};
  std::atomic<bool> is_giving_up_{false};

  mutable std::mutex mutex_;  // guards the inbox; a leaf
  std::condition_variable wake_;
  std::deque<std::function<void()>> control_;
  std::deque<Proposal> proposals_;
  std::deque<Read> new_reads_;
  uint64_t durable_seq_ = 0;
  bool is_refusing_ = true;
  bool is_closing_ = true;  // until start()

  mutable std::mutex apply_mutex_;  // guards what [apply] and [snapshot] wait for; a leaf
  std::condition_variable wake_apply_;
  std::condition_variable wake_snapshot_;
  std::vector<SnapshotDone> snapshot_wanted_;
  std::optional<SnapshotJob> job_;
  bool is_snapshotting_ = false;
  bool is_apply_closing_ = true;  // until start()
  bool is_snapshot_closing_ = false;

  mutable std::mutex state_mutex_;  // guards what is shown to others; a leaf
  Membership membership_;
  SnapshotInfo newest_;
  Stats stats_;

  std::mutex stop_mutex_;  // one stop at a time
  std::thread raft_;
  std::thread apply_;
  std::thread snapshot_;
};

// ---- start and stop ----

// The newest whole snapshot that the log connects to, put into the state machine; index 0 when there is none.
Result<SnapshotInfo> Driver::restore() {
  const Index first = log_->first_index();
  Status damage;
  for (const SnapshotInfo& kept : snapshots_->list()) {
    if (kept.index + 1 < first) break;
    Result<SnapshotInfo> snapshot = snapshots_->verify(kept);
    if (snapshot.status().code() == Code::failed_precondition) return snapshot.status();
    if (!snapshot.ok()) {
      if (damage.ok()) damage = snapshot.status();
      log::error("raft", "a snapshot is damaged, looking for an older one", {{"error", snapshot.status().message()}});
      continue;
    }
    if (snapshot->index > log_->last_index()) {
      return data_loss("snapshot " + std::to_string(snapshot->index) + " is ahead of the log, which ends at " +
                       std::to_string(log_->last_index()));
    }
    DROVER_TRY(const std::unique_ptr<ByteSource> source, snapshots_->read(*snapshot));
    DROVER_RETURN_IF_ERROR(machine_.restore(*source).with_context("restore snapshot " + std::to_string(kept.index)));
    return snapshot;
  }
  if (first > 1) {
    const std::string gap = "the log begins at entry " + std::to_string(first) + " and no whole snapshot reaches it";
    return damage.ok() ? data_loss(gap) : data_loss(gap + " (" + damage.message() + ")");
  }
  return SnapshotInfo();
}

Status Driver::check_membership() const {
  for (const Member& member : membership_.members) {
    if (member.id != self_) {
      return failed_precondition("the log names server " + member.id.to_string() +
                                 " as a member beside this one; this program runs clusters of one server");
    }
  }
  return ok_status();
}

Status Driver::start() {
  DROVER_CHECK(!log_ && !raft_.joinable());
  SegmentLogOptions log_options = options_.log;
  log_options.directory = options_.directory;
  log_options.node_id = options_.node_id;
  log_options.cluster_id = options_.cluster_id;
  DROVER_TRY(log_, SegmentLog::open(files_, std::move(log_options)));
  self_ = log_->node_id();
  DROVER_TRY(snapshots_, SnapshotStore::open(files_, options_.directory));
  DROVER_TRY(newest_, restore());
  if (machine_.applied_index() != newest_.index) {
    return internal_error("the state machine is at entry " + std::to_string(machine_.applied_index()) +
                          " after a restore of snapshot " + std::to_string(newest_.index));
  }
  const LogState recovered = log_->recovered();
  applied_membership_ = newest_.membership;
  membership_ = recovered.membership.index > newest_.membership.index ? recovered.membership : newest_.membership;
  DROVER_RETURN_IF_ERROR(check_membership());
  commit_ = applied_ = newest_.index;
  recovered_last_ = last_ = recovered.last_index;
  write_seq_ = recovered.write_seq;
  term_ = std::max(recovered.hard_state.term, recovered.last_term) + 1;
  is_refusing_ = is_closing_ = is_apply_closing_ = false;
  log_->start([this](uint64_t seq) {
    {
      const std::lock_guard lock(mutex_);
      DROVER_CHECK(seq > durable_seq_);  // I10
      durable_seq_ = seq;
    }
    wake_.notify_one();
  });
  snapshot_ = std::thread([this] { run_snapshot(); });
  apply_ = std::thread([this] { run_apply(); });
  raft_ = std::thread([this] { run_raft(); });
  return ok_status();
}

void Driver::stop() {
  const std::lock_guard stopping(stop_mutex_);
  is_giving_up_ = true;
  {
    const std::lock_guard lock(mutex_);
    is_refusing_ = true;
  }
  wake_.notify_one();
  if (raft_.joinable()) {
    leadership_.request_stop();
    // What was accepted is written, committed and applied before the threads end, in the order in which it flows.
    {
      std::unique_lock lock(mutex_);
      is_closing_ = true;
    }
    wake_.notify_one();
    raft_.join();
    {
      const std::lock_guard lock(apply_mutex_);
      is_apply_closing_ = true;
    }
    wake_apply_.notify_one();
    apply_.join();
    {
      const std::lock_guard lock(apply_mutex_);
      is_snapshot_closing_ = true;
    }
    wake_snapshot_.notify_one();
    snapshot_.join();
  }
  role_ = Role::follower;
  const Status stopped = unavailable("not leader: this server has stopped");
  std::deque<std::function<void()>> control;
  {
    const std::lock_guard lock(mutex_);
    control.swap(control_);
  }
  for (const auto& call : control) call();
  for (auto& [index, waiter] : waiters_.take(UINT64_MAX)) waiter.done(uncertain("this server stopped"));
  for (const Read& read : std::exchange(reads_, {})) read.done(stopped);
  for (const SnapshotDone& done : std::exchange(snapshot_wanted_, {})) done(stopped);
}

// ---- [any] ----

bool Driver::post(std::function<void()> control) {
  {
    const std::lock_guard lock(mutex_);
    if (is_closing_) return false;
    control_.push_back(std::move(control));
  }
  wake_.notify_one();
  return true;
}

void Driver::enqueue(Proposal proposal) {
  const uint64_t bytes = proposal.bytes();
  Status refused;
  uint64_t Stats::*cause = nullptr;
  if (bytes > options_.max_entry_bytes + kEntryHeaderBytes) {
    refused = resource_exhausted("the command has " + std::to_string(bytes - kEntryHeaderBytes) +
                                 " bytes, max_entry_bytes is " + std::to_string(options_.max_entry_bytes));
    cause = &Stats::proposals_too_large;
  } else if (uncommitted_ + bytes > options_.max_uncommitted_bytes) {
    refused = resource_exhausted("the log is " + std::to_string(uncommitted_) +
                                 " bytes behind (max_uncommitted_bytes): try again later");
    cause = &Stats::proposals_backlog;
  } else if (unapplied_ > options_.max_unapplied_bytes) {
    refused = resource_exhausted("applying is " + std::to_string(unapplied_) +
                                 " bytes behind (max_unapplied_bytes): try again later");
    cause = &Stats::proposals_backlog;
  } else if (proposal.deadline <= clock_.steady()) {
    refused = deadline_exceeded("the deadline had passed before the command entered the log");
    cause = &Stats::proposals_expired;
  }
  if (bytes > options_.warn_entry_bytes && refused.ok()) {
    log::warn("raft", "a large command enters the log", {{"bytes", bytes}});
  }
  {
    const std::lock_guard lock(mutex_);
    if (is_refusing_ || role_ != Role::leader) {
      refused = unavailable(is_refusing_ ? "not leader: this server is not running"
                                         : "no leader: this server is recovering its log");
      cause = &Stats::proposals_not_leader;
    } else if (proposal.only_in_term != 0 && proposal.only_in_term != term_) {
      refused = aborted("decided in term " + std::to_string(proposal.only_in_term) + ", this is term " +
                        std::to_string(term_));
      cause = &Stats::proposals_not_leader;
    }
    if (refused.ok()) {
      uncommitted_ += bytes;
      proposals_.push_back(std::move(proposal));
    } else if (!is_closing_) {
      control_.push_back([done = proposal.done, refused] { done(refused); });
      proposal.done = nullptr;
    }
  }
  wake_.notify_one();
  if (refused.ok()) return;
  {
    const std::lock_guard lock(state_mutex_);
    ++(stats_.*cause);
  }
  // No thread is left to post to.
  if (proposal.done) proposal.done(refused);
}

void Driver::propose(std::string command, SteadyTime deadline, ProposeDone done, Term only_in_term) {
  enqueue({.type = EntryType::command,
           .payload = std::make_shared<const std::string>(std::move(command)),
           .begun = clock_.steady(),
           .deadline = deadline,
           .done = std::move(done),
           .only_in_term = only_in_term});
}

void Driver::barrier(SteadyTime deadline, IndexDone done) {
  enqueue({.type = EntryType::noop,
           .payload = nullptr,
           .begun = clock_.steady(),
           .deadline = deadline,
           .done = [done = std::move(done)](Result<Applied> applied) {
             done(applied.ok() ? Result<Index>(applied->index) : Result<Index>(applied.status()));
           }});
}

void Driver::read_index(SteadyTime deadline, IndexDone done) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_closing_) {
      new_reads_.push_back({.deadline = deadline, .done = std::move(done)});
      done = nullptr;
    }
  }
  wake_.notify_one();
  if (done) done(unavailable("not leader: this server is not running"));
}

void Driver::subscribe_leadership(Leadership on_gain) {
  const auto add = [this, on_gain] {
    if (is_announced_) on_gain(term_, leadership_.get_token());
    subscribers_.push_back(on_gain);
  };
  if (!post(add)) subscribers_.push_back(on_gain);  // before start: no thread reads it yet
}

Member Driver::leader_hint() const {
  if (role_ != Role::leader) return {};
  return {.id = self_, .address = options_.address};
}

Membership Driver::membership() const {
  const std::lock_guard lock(state_mutex_);
  return membership_;
}

void Driver::change_membership(MembershipChange change, SteadyTime, StatusDone done) {
  const auto decide = [this, change = std::move(change)]() -> Status {
    if (role_ != Role::leader) return unavailable("not leader: membership is changed by the leader");
    const Membership now = membership();
    const bool is_member =
        std::ranges::any_of(now.members, [&](const Member& member) { return member.id == change.id; });
    if (change.kind == MembershipChange::Kind::remove) {
      if (!is_member) return not_found("server " + change.id.to_string() + " is not a member");
      return failed_precondition("server " + change.id.to_string() +
                                 " is the last voter: without it nothing could be decided any more");
    }
    if (is_member) return failed_precondition("server " + change.id.to_string() + " is already a voter");
    return unimplemented("server " + change.id.to_string() + " cannot join: this program runs clusters of one server");
  };
  if (!post([decide, done] { done(decide()); })) done(unavailable("not leader: this server is not running"));
}

void Driver::take_snapshot(SnapshotDone done) {
  {
    const std::lock_guard lock(apply_mutex_);
    if (!is_apply_closing_) {
      snapshot_wanted_.push_back(std::move(done));
      done = nullptr;
    }
  }
  wake_apply_.notify_one();
  if (done) done(unavailable("this server is not running"));
}

Stats Driver::stats() const {
  Stats stats;
  {
    const std::lock_guard lock(state_mutex_);
    stats = stats_;
    stats.snapshot_index = newest_.index;
    stats.snapshot_bytes = newest_.bytes;
  }
  stats.uncommitted_bytes = uncommitted_;
  stats.unapplied_bytes = unapplied_;
  if (snapshots_) stats.snapshots_kept = snapshots_->list().size();
  if (log_) {
    stats.first_index = log_->first_index();
    stats.log = log_->stats();
  }
  return stats;
}

// ---- [raft] ----

// The only voter votes for itself. Vote, membership and the first entry of the term are one write; nothing is claimed
// before it is durable.
void Driver::campaign() {
  LogWrite write{.write_seq = ++write_seq_, .hard_state = HardState{.term = term_, .vote = self_}};
  const auto add = [&](EntryType type, std::string payload) {
    auto bytes = payload.empty() ? nullptr : std::make_shared<const std::string>(std::move(payload));
    write.entries.push_back({.index = ++last_, .term = term_, .type = type, .payload = std::move(bytes)});
  };
  add(EntryType::noop, {});
  term_first_ = last_;
  const std::vector<Member> members = {{.id = self_, .address = options_.address, .suffrage = Suffrage::voter}};
  if (membership_.members != members) {
    const Membership next{.index = last_ + 1, .members = members};
    add(EntryType::membership, encode_membership(next));
    write.membership = next;
    const std::lock_guard lock(state_mutex_);
    membership_ = next;  // in force when appended
  }
  first_write_seq_ = write_seq_;
  role_ = Role::candidate;
  log_->submit(std::move(write));
}

void Driver::run_raft() {
  pthread_setname_np(pthread_self(), "raft");
  campaign();
  bool is_log_stopped = false;
  while (true) {
    std::deque<std::function<void()>> control;
    std::deque<Proposal> proposals;
    std::deque<Read> reads;
    uint64_t durable_seq = 0;
    bool is_closing = false;
    {
      std::unique_lock lock(mutex_);
      const auto has_work = [&] {
        return !control_.empty() || !proposals_.empty() || !new_reads_.empty() || durable_seq_ != 0 || is_closing_ ||
               applied_ >= awaited_;
      };
      SteadyTime deadline = waiters_.next_deadline();
      for (const Read& read : reads_) deadline = std::min(deadline, read.deadline);
      if (deadline == SteadyTime::max()) {
        wake_.wait(lock, has_work);
      } else {
        // Ticks, because the clock may be one that runs differently from the condition variable's.
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock_.steady());
        wake_.wait_for(lock, std::clamp(left, std::chrono::milliseconds(0), kTick), has_work);
      }
      control.swap(control_);
      proposals.swap(proposals_);
      reads.swap(new_reads_);
      durable_seq = std::exchange(durable_seq_, 0);
      is_closing = is_closing_;
    }
    for (const auto& call : control) call();
    if (durable_seq != 0) on_durable(durable_seq);
    if (!proposals.empty()) append(std::move(proposals));
    for (Read& read : reads) {
      // A commit index of this term's own entries only: an earlier one may be behind what an earlier leader answered.
      if (role_ != Role::leader) {
        read.done(unavailable("no leader: this server is recovering its log"));
        continue;
      }
      read.index = commit_;
      reads_.push_back(std::move(read));
    }
    resolve_reads();
    announce();
    expire(clock_.steady());
    if (is_log_stopped) return;
    if (is_closing) {
      // One more round for what the log made durable last.
      log_->stop();
      is_log_stopped = true;
    }
  }
}

void Driver::append(std::deque<Proposal> proposals) {
  const SteadyTime now = clock_.steady();
  LogWrite write;
  uint64_t bytes = 0;
  uint64_t expired = 0;
  const auto submit = [&] {
    if (write.entries.empty()) return;
    write.write_seq = ++write_seq_;
    log_->submit(std::exchange(write, {}));
    bytes = 0;
  };
  const size_t count = proposals.size();
  for (Proposal& proposal : proposals) {
    if (proposal.deadline <= now) {
      uncommitted_ -= proposal.bytes();
      ++expired;
      proposal.done(deadline_exceeded("the deadline passed before the command entered the log"));
      continue;
    }
    if (bytes + proposal.bytes() > kWriteBytes) submit();
    bytes += proposal.bytes();
    in_flight_.emplace_back(++last_, proposal.bytes());
    waiters_.add(last_, {std::move(proposal.done), proposal.begun, proposal.deadline});
    write.entries.push_back({.index = last_, .term = term_, .type = proposal.type, .payload = proposal.payload});
  }
  submit();
  const std::lock_guard lock(state_mutex_);
  stats_.proposals += count - expired;
  stats_.proposals_expired += expired;
}

// This server is the quorum: what is durable here is committed.
void Driver::on_durable(uint64_t write_seq) {
  if (write_seq < first_write_seq_) return;
  const Index durable = log_->durable_index();
  DROVER_CHECK(durable >= commit_ && durable <= last_);  // I1, I6
  while (!in_flight_.empty() && in_flight_.front().first <= durable) {
    unapplied_ += in_flight_.front().second;
    uncommitted_ -= in_flight_.front().second;
    in_flight_.pop_front();
  }
  {
    const std::lock_guard lock(apply_mutex_);
    commit_ = durable;
  }
  wake_apply_.notify_one();
  if (role_ == Role::leader) return;
  role_ = Role::leader;
  log::info("raft", "this server leads: its vote and the first entry of the term are durable",
            {{"term", term_.load()}, {"index", term_first_}});
}

void Driver::resolve_reads() {
  while (!reads_.empty() && reads_.front().index <= applied_) {
    const Read read = std::move(reads_.front());
    reads_.pop_front();
    read.done(read.index);
    const std::lock_guard lock(state_mutex_);
    ++stats_.reads;
  }
  Index awaited = reads_.empty() ? UINT64_MAX : reads_.front().index;
  if (!is_announced_) awaited = std::min(awaited, term_first_);
  awaited_ = awaited;
}

void Driver::announce() {
  if (is_announced_ || role_ != Role::leader || applied_ < term_first_ || is_giving_up_) return;
  is_announced_ = true;
  if (reads_.empty()) awaited_ = UINT64_MAX;
  for (const Leadership& subscriber : subscribers_) subscriber(term_, leadership_.get_token());
}

void Driver::expire(SteadyTime now) {
  uint64_t expired = 0;
  for (Waiters::Waiter& waiter : waiters_.take_expired(now)) {
    waiter.done(uncertain("the deadline passed"));
    ++expired;
  }
  std::erase_if(reads_, [&](const Read& read) {
    if (read.deadline > now) return false;
    read.done(deadline_exceeded("the deadline passed before the state had caught up"));
    return true;
  });
  if (expired == 0) return;
  const std::lock_guard lock(state_mutex_);
  stats_.proposals_expired += expired;
}

// ---- [apply] ----

void Driver::run_apply() {
  pthread_setname_np(pthread_self(), "apply");
  while (true) {
    Index commit = 0;
    std::vector<SnapshotDone> wanted;
    bool is_closing = false;
    {
      std::unique_lock lock(apply_mutex_);
      wake_apply_.wait(lock, [&] {
        return commit_ > applied_ || is_apply_closing_ || (!snapshot_wanted_.empty() && !is_snapshotting_);
      });
      commit = commit_;
      is_closing = is_apply_closing_;
      if (!is_snapshotting_) wanted.swap(snapshot_wanted_);
    }
    // Fails only where a storage hook let the process live.
    const bool is_stuck = commit > applied_ && !apply_batch(commit);
    if (is_stuck || (is_closing && applied_ == commit)) {
      const std::lock_guard lock(apply_mutex_);
      for (SnapshotDone& done : wanted) snapshot_wanted_.push_back(std::move(done));
      return;
    }
    uint64_t threshold = options_.snapshot_threshold_bytes;
    {
      const std::lock_guard lock(state_mutex_);
      threshold = std::max(threshold, newest_.bytes);
    }
    if (!wanted.empty() || (bytes_since_snapshot_ > threshold && !is_giving_up_)) freeze(std::move(wanted));
  }
}

bool Driver::apply_batch(Index last) {
  const Index first = applied_ + 1;
  Result<std::vector<Entry>> entries = log_->read(first, last, options_.apply_batch_bytes);
  if (!entries.ok()) {
    // A committed entry that cannot be read back: going on without it would fork the state.
    options_.log.on_failure(entries.status());
    return false;
  }
  std::vector<Result<std::string>> answers;
  answers.reserve(entries->size());
  machine_.apply(*entries, answers);
  last = entries->back().index;
  DROVER_CHECK(answers.size() == entries->size());
  DROVER_CHECK(machine_.applied_index() == last);  // the state moves by exactly these entries
  uint64_t fresh_bytes = 0;
  for (const Entry& entry : *entries) {
    bytes_since_snapshot_ += entry_bytes(entry);
    if (entry.index > recovered_last_ && entry.type != EntryType::membership && entry.index != term_first_) {
      fresh_bytes += entry_bytes(entry);
    }
    if (entry.type == EntryType::membership) {
      if (Result<Membership> membership = decode_membership(entry.bytes()); membership.ok()) {
        applied_membership_ = *std::move(membership);
        applied_membership_.index = entry.index;
      }
    }
  }
  unapplied_ -= fresh_bytes;
  applied_ = last;
  auto waiting = waiters_.take(last);
  const SteadyTime now = clock_.steady();
  {
    const std::lock_guard lock(state_mutex_);
    ++stats_.apply_batches;
    stats_.applied_entries += entries->size();
    for (const auto& [index, waiter] : waiting) {
      stats_.commit.add(static_cast<uint64_t>(std::chrono::nanoseconds(now - waiter.begun).count()));
    }
  }
  for (auto& [index, waiter] : waiting) {
    Result<std::string>& answer = answers[index - first];
    if (answer.ok() || (*entries)[index - first].type != EntryType::command) {
      waiter.done(Applied{index, answer.ok() ? *std::move(answer) : std::string()});
    } else {
      waiter.done(answer.status());
    }
  }
  if (last >= awaited_) {
    { const std::lock_guard lock(mutex_); }  // [raft] is either before its look at applied_, or waiting
    wake_.notify_one();
  }
  return true;
}

// Freezes the state for [snapshot].
void Driver::freeze(std::vector<SnapshotDone> done) {
  const Index index = applied_;
  std::optional<SnapshotInfo> existing;
  {
    const std::lock_guard lock(state_mutex_);
    if (newest_.index == index) existing = newest_;
  }
  if (existing) {
    for (const SnapshotDone& call : done) call(*existing);
    return;
  }
  {
    const std::lock_guard lock(apply_mutex_);
    if (is_snapshotting_) {
      for (SnapshotDone& call : done) snapshot_wanted_.push_back(std::move(call));
      return;
    }
    is_snapshotting_ = true;
  }
  bytes_since_snapshot_ = 0;
  SnapshotJob job{.source = machine_.snapshot(), .membership = applied_membership_, .done = std::move(done)};
  DROVER_CHECK(job.source != nullptr && job.source->index() == index);
  DROVER_CHECK(index <= log_->durable_index());  // I1: no snapshot is ahead of its own log
  const Result<Term> term = log_->term_at(index);
  DROVER_CHECK(term.ok());
  job.term = *term;
  {
    const std::lock_guard lock(apply_mutex_);
    job_ = std::move(job);
  }
  wake_snapshot_.notify_one();
}

// ---- [snapshot] ----

void Driver::run_snapshot() {
  pthread_setname_np(pthread_self(), "snapshot");
  while (true) {
    std::optional<SnapshotJob> job;
    {
      std::unique_lock lock(apply_mutex_);
      wake_snapshot_.wait(lock, [&] { return job_ || is_snapshot_closing_; });
      if (!job_) return;
      job = std::exchange(job_, std::nullopt);
    }
    const SteadyTime begun = clock_.steady();
    const Index index = job->source->index();
    const Result<SnapshotInfo> saved =
        snapshots_->save(index, job->term, job->membership, *job->source, [this] { return is_giving_up_.load(); });
    job->source.reset();
    {
      const std::lock_guard lock(state_mutex_);
      if (saved.ok()) {
        newest_ = *saved;
        stats_.snapshot_ns = static_cast<uint64_t>(std::chrono::nanoseconds(clock_.steady() - begun).count());
        ++stats_.snapshots_taken;
      } else {
        ++stats_.snapshots_failed;
      }
    }
    if (saved.ok()) {
      log::info("raft", "a snapshot is durable", {{"index", index}, {"bytes", saved->bytes}});
      const Index first = log_->trail_start(index, options_.snapshot_trail_bytes);
      post([this, first] { log_->submit({.write_seq = ++write_seq_, .first_index = first}); });
    } else if (saved.status().code() != Code::cancelled) {
      log::warn("raft", "a snapshot failed, the log is kept and the next one will be tried",
                {{"error", saved.status().message()}});
    }
    {
      const std::lock_guard lock(apply_mutex_);
      is_snapshotting_ = false;
    }
    wake_apply_.notify_one();
    for (const SnapshotDone& done : job->done) done(saved);
  }
}

}  // namespace

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

std::unique_ptr<Consensus> make_consensus(Options options, StateMachine& machine, FileSystem& files,
                                          const Clock& clock) {
  return std::make_unique<Driver>(std::move(options), machine, files, clock);
}

}  // namespace drover::raft

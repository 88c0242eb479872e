#include "kernel/raft/raft_loop.h"

#include <algorithm>
#include <utility>

#include "drover/log.h"
#include "kernel/raft/apply_loop.h"
#include "kernel/raft/recover.h"
#include "kernel/raft/transfer_loop.h"
#include "storage/segment_format.h"

namespace drover::raft {
namespace {

// The most that one round takes of each lane: a flood in one must not keep the others, nor the clock, waiting.
constexpr size_t kMessagesARound = 1024;
constexpr size_t kProposalsARound = 4096;
constexpr uint64_t kQueuedMessageBytes = 64ull << 20;
// The most that proposals wait for a write of this log that is out. A quorum of others may be quicker than this disk.
constexpr auto kGatherTime = std::chrono::milliseconds(1);

uint64_t bytes_of(const RaftLoop::Request& request) {
  return kEntryHeaderBytes + (request.payload ? request.payload->size() : 0);
}

Status refusal(const Resolution& resolution) {
  switch (resolution.outcome) {
    case Outcome::committed:
      return ok_status();
    case Outcome::not_leader:
      return unavailable("not the leader");
    case Outcome::backlog_full:
      return resource_exhausted("the log is too far behind (max_uncommitted_bytes): try again later");
    case Outcome::too_large:
      return resource_exhausted("the command is larger than max_entry_bytes");
    case Outcome::other_term:
      return aborted("decided in another term than " + std::to_string(resolution.term));
    case Outcome::busy:
      return failed_precondition(resolution.why.empty() ? "another change is under way" : resolution.why);
    case Outcome::invalid:
      return invalid_argument(resolution.why);
    case Outcome::uncertain:
      return uncertain("leadership ended");
  }
  return internal_error("an outcome that nobody knows");
}

template <typename T>
void move_some(std::deque<T>& from, std::deque<T>& to, size_t most) {
  if (from.size() <= most) return to.swap(from);
  const auto end = from.begin() + static_cast<std::ptrdiff_t>(most);
  std::move(from.begin(), end, std::back_inserter(to));
  from.erase(from.begin(), end);
}

}  // namespace

void RaftLoop::connect(NodeId self, ApplyLoop& apply, TransferLoop& transfer) {
  self_ = self;
  apply_ = &apply;
  transfer_ = &transfer;
}

void RaftLoop::make_core(CoreState state) {
  CoreConfig config{.id = self_,
                    .seed = options_.seed != 0 ? options_.seed : get<uint64_t>(Uuid::random().bytes().data()),
                    .heartbeat_ticks = options_.heartbeat_ticks,
                    .election_ticks = options_.election_ticks,
                    .tick = options_.tick,
                    .max_entry_bytes = options_.max_entry_bytes,
                    .append_bytes = options_.append_bytes,
                    .window_messages = options_.window_messages,
                    .window_bytes = options_.window_bytes,
                    .max_uncommitted_bytes = options_.max_uncommitted_bytes,
                    .lease_reads = options_.lease_reads};
  applied_ = state.snapshot_index;
  last_write_seq_ = state.write_seq;
  writes_.clear();
  is_storage_slow_ = false;
  core_ = std::make_unique<Core>(config, std::move(state));
  show_membership();
  show();
}

bool RaftLoop::is_alone() const {
  const Membership& now = core_->membership();
  const auto is_voter = [](const Member& member) { return member.suffrage == Suffrage::voter; };
  return now.outgoing.empty() && std::ranges::count_if(now.members, is_voter) == 1 &&
         std::ranges::any_of(now.members, [&](const Member& m) { return m.id == self_ && is_voter(m); });
}

void RaftLoop::begin(CoreState state) {
  make_core(std::move(state));
  last_tick_ = awake_or_not();
  const MutexLock lock(mutex_);
  if (is_alone()) inbox_.control.push_back(Campaign{});  // nobody else to wait for
  is_refusing_ = is_closed_ = false;
}

void RaftLoop::begin_cluster(std::vector<Member> voters, Consensus::StatusDone done) {
  DROVER_ASSERT_ON(thread);
  if (beginning_) return done(failed_precondition("this server begins a cluster already"));
  Recovered recovered;
  const CoreStatus status = core_->status();
  recovered.state.hard_state = {.term = status.term, .vote = status.vote};
  recovered.state.write_seq = last_write_seq_;
  if (const Status begun = recovered.begin_cluster(std::move(voters), log_); !begun.ok()) return done(begun);
  beginning_ = Beginning{.state = std::move(recovered.state), .done = std::move(done)};
  log_.submit(*std::move(recovered.first_write));
}

// ---- [any] ----

void RaftLoop::propose(Request request) {
  const uint64_t bytes = bytes_of(request);
  Status refused;
  bool may_wake = true;
  uint64_t Stats::*cause = nullptr;
  if (bytes > options_.max_entry_bytes + kEntryHeaderBytes) {
    refused = resource_exhausted("the command has " + std::to_string(bytes - kEntryHeaderBytes) +
                                 " bytes, max_entry_bytes is " + std::to_string(options_.max_entry_bytes));
    cause = &Stats::proposals_too_large;
  } else if (board_.pending_bytes + bytes > options_.max_uncommitted_bytes) {
    refused = resource_exhausted("the log is " + std::to_string(board_.pending_bytes) +
                                 " bytes behind (max_uncommitted_bytes): try again later");
    cause = &Stats::proposals_backlog;
  } else if (board_.unapplied_bytes > options_.max_unapplied_bytes) {
    refused = resource_exhausted("applying is " + std::to_string(board_.unapplied_bytes) +
                                 " bytes behind (max_unapplied_bytes): try again later");
    cause = &Stats::proposals_backlog;
  } else if (request.deadline <= clock_.steady()) {
    refused = deadline_exceeded("the deadline had passed before the command entered the log");
    cause = &Stats::proposals_expired;
  }
  if (bytes > options_.warn_entry_bytes && refused.ok()) {
    log::warn("raft", "a large command enters the log", {{"bytes", bytes}});
  }
  {
    const MutexLock lock(mutex_);
    if (is_refusing_ || board_.role != Role::leader) {
      refused = unavailable(is_refusing_ ? "not leader: this server is not running" : "not the leader");
      cause = &Stats::proposals_not_leader;
    } else if (request.only_in_term != 0 && request.only_in_term != board_.term) {
      refused = aborted("decided in term " + std::to_string(request.only_in_term) + ", this is term " +
                        std::to_string(board_.term));
      cause = &Stats::proposals_not_leader;
    }
    if (refused.ok()) {
      board_.pending_bytes += bytes;
      inbox_.proposals.push_back(std::move(request));
      may_wake = !waits_gathering_;
    } else if (!is_closed_) {
      inbox_.calls.push_back([done = request.done, refused] { done(refused); });
      request.done = nullptr;
    }
  }
  if (may_wake) wake_.notify_one();
  if (refused.ok()) return;
  board_.update_stats([&](Stats& stats) { ++(stats.*cause); });
  if (request.done) request.done(refused);  // no thread is left to post to
}

void RaftLoop::read(SteadyTime deadline, Consensus::IndexDone done) {
  {
    const MutexLock lock(mutex_);
    if (!is_closed_) {
      inbox_.reads.push_back({.deadline = deadline, .done = std::move(done)});
      done = nullptr;
    }
  }
  wake_.notify_one();
  if (done) done(unavailable("not leader: this server is not running"));
}

void RaftLoop::ask(std::function<Input(uint64_t)> make, SteadyTime deadline, Consensus::StatusDone done) {
  const bool is_posted = post([this, make = std::move(make), deadline, done] {
    const uint64_t token = next_token_++;
    asked_.emplace(token, Asked{.deadline = deadline, .done = done});
    core_->step(make(token));
  });
  if (!is_posted) done(unavailable("not leader: this server is not running"));
}

bool RaftLoop::post(std::function<void()> call) {
  {
    const MutexLock lock(mutex_);
    if (is_closed_) return false;
    inbox_.calls.push_back(std::move(call));
  }
  wake_.notify_one();
  return true;
}

void RaftLoop::push(Input input) {
  {
    const MutexLock lock(mutex_);
    if (is_closed_) return;
    inbox_.control.push_back(std::move(input));
  }
  wake_.notify_one();
}

void RaftLoop::push(Message message) {
  const bool is_bulky = message.type == MessageType::append || message.type == MessageType::append_answer;
  {
    const MutexLock lock(mutex_);
    if (is_closed_) return;
    if (is_bulky) {
      const uint64_t bytes = message_bytes(message);
      if (queued_message_bytes_ + bytes > kQueuedMessageBytes) return;  // the sender will probe again
      queued_message_bytes_ += bytes;
      inbox_.messages.push_back(std::move(message));
    } else {
      inbox_.control.push_back(Receive{std::move(message)});
    }
  }
  wake_.notify_one();
}

void RaftLoop::durable(uint64_t write_seq) {
  {
    const MutexLock lock(mutex_);
    DROVER_CHECK(write_seq > inbox_.durable_seq);  // I10
    inbox_.durable_seq = write_seq;
  }
  wake_.notify_one();
}

void RaftLoop::applied() {
  { const MutexLock lock(mutex_); }  // [raft] is either before its look at the board, or waiting
  wake_.notify_one();
}

void RaftLoop::refuse() {
  const MutexLock lock(mutex_);
  is_refusing_ = true;
}

void RaftLoop::close() {
  const MutexLock lock(mutex_);
  is_refusing_ = is_closed_ = true;
  wake_.notify_one();
}

bool RaftLoop::is_closed() const {
  const MutexLock lock(mutex_);
  return is_closed_;
}

void RaftLoop::abandon(const Status& why) {
  Inbox rest;
  {
    const MutexLock lock(mutex_);
    std::swap(rest, inbox_);
  }
  for (const auto& call : rest.calls) call();
  if (beginning_) std::exchange(beginning_, std::nullopt)->done(why);
  for (Request& request : rest.proposals) request.done(why);
  for (Read& read : rest.reads) read.done(why);
  for (auto& [token, read] : std::exchange(asked_reads_, {})) read.done(why);
  for (auto& [index, read] : std::exchange(ready_reads_, {})) read.done(why);
  for (auto& [token, asked] : std::exchange(asked_, {})) asked.done(why);
}

// ---- [raft] ----

bool RaftLoop::has_work() const {
  return inbox_.has_news() || (!inbox_.proposals.empty() && !gathers()) || board_.applied >= awaited_;
}

// While a write is out the log begins no other one: what is proposed meanwhile shares the next, and one message to each
// peer.
bool RaftLoop::gathers() const {
  return !is_closed_ && !writes_.empty() && writes_.back().first > inbox_.durable_seq &&
         clock_.steady() < writes_.back().second + kGatherTime;
}

RaftLoop::Inbox RaftLoop::take() {
  Inbox taken;
  const MutexLock lock(mutex_);
  taken.calls.swap(inbox_.calls);
  taken.control.swap(inbox_.control);
  taken.reads.swap(inbox_.reads);
  if (!gathers()) move_some(inbox_.proposals, taken.proposals, kProposalsARound);
  taken.durable_seq = std::exchange(inbox_.durable_seq, 0);
  move_some(inbox_.messages, taken.messages, kMessagesARound);
  for (const Message& message : taken.messages) queued_message_bytes_ -= message_bytes(message);
  return taken;
}

bool RaftLoop::step() {
  DROVER_ASSERT_ON(thread);
  // Read before the inbox: when the board shows an installed snapshot, [apply] has already put its news in there.
  const Index applied = board_.applied;
  Inbox inbox = take();
  const bool had_work = inbox.has_news() || !inbox.proposals.empty() || board_.applied >= awaited_;
  const SteadyTime now = clock_.steady();
  for (const auto& call : inbox.calls) call();
  if (beginning_) {
    if (inbox.durable_seq < beginning_->state.write_seq) {
      turn_away(std::move(inbox));
      return had_work;
    }
    make_core(std::move(beginning_->state));
    // Asked of the core that is no more.
    for (auto& [token, asked] : std::exchange(asked_, {})) asked.done(unavailable("not the leader"));
    for (auto& [token, read] : std::exchange(asked_reads_, {})) read.done(unavailable("not the leader"));
    if (is_alone()) core_->step(Campaign{});
    std::exchange(beginning_, std::nullopt)->done(ok_status());
  } else if (inbox.durable_seq != 0) {
    core_->step(LogDurable{inbox.durable_seq});
    while (!writes_.empty() && writes_.front().first <= inbox.durable_seq) writes_.pop_front();
  }
  for (Input& input : inbox.control) {
    note_contact(input, now);
    core_->step(std::move(input));
  }
  for (Message& message : inbox.messages) {
    Input input = Receive{std::move(message)};
    note_contact(input, now);
    core_->step(std::move(input));
  }
  if (applied > applied_) core_->step(AppliedTo{applied_ = applied});
  if (!inbox.proposals.empty()) submit(std::move(inbox.proposals), now);
  for (Read& read : inbox.reads) {
    const uint64_t token = next_token_++;
    asked_reads_.emplace(token, std::move(read));
    core_->step(ReadIndex{.token = token, .now = awake_or_not()});
  }
  tick(awake_or_not());  // after the mail: a process that was paused must not call an election before it has read it
  carry_out(core_->take_effects());
  resolve_reads();
  announce();
  expire(now);
  return had_work;
}

// While a cluster is begun nobody leads: messages may be lost, callers are told.
void RaftLoop::turn_away(Inbox inbox) {
  for (Request& request : inbox.proposals) {
    board_.pending_bytes -= bytes_of(request);
    request.done(unavailable("not the leader"));
  }
  for (Read& read : inbox.reads) read.done(unavailable("not the leader"));
}

void RaftLoop::wait() {
  MutexLock lock(mutex_);
  waits_gathering_ = gathers();
  // By duration: the clock may be one that runs differently from the condition variable's.
  auto left = std::min(last_tick_ + options_.tick - awake_or_not(), next_deadline() - clock_.steady());
  if (waits_gathering_) left = std::min(left, writes_.back().second + kGatherTime - clock_.steady());
  wake_.wait_for(lock, std::clamp<std::chrono::nanoseconds>(left, std::chrono::nanoseconds(0), options_.tick),
                 [&]() DROVER_REQUIRES(mutex_) { return has_work() || is_closed_; });
  waits_gathering_ = false;
}

SteadyTime RaftLoop::next_deadline() const {
  SteadyTime deadline = waiters_.next_deadline();
  for (const auto& [token, read] : asked_reads_) deadline = std::min(deadline, read.deadline);
  for (const auto& [index, read] : ready_reads_) deadline = std::min(deadline, read.deadline);
  for (const auto& [token, asked] : asked_) deadline = std::min(deadline, asked.deadline);
  return deadline;
}

void RaftLoop::note_contact(const Input& input, SteadyTime now) {
  const Receive* received = std::get_if<Receive>(&input);
  if (!received) return;
  const Message& message = received->message;
  if (message.type != MessageType::append && message.type != MessageType::heartbeat) return;
  if (message.term < board_.term) return;
  const MutexLock lock(board_.mutex);
  board_.leader_contact = now;
}

void RaftLoop::submit(std::deque<Request> requests, SteadyTime now) {
  Propose propose;
  uint64_t expired = 0;
  for (Request& request : requests) {
    const uint64_t bytes = bytes_of(request);
    if (request.deadline <= now) {
      board_.pending_bytes -= bytes;
      ++expired;
      request.done(deadline_exceeded("the deadline passed before the command entered the log"));
      continue;
    }
    const uint64_t token = next_token_++;
    propose.batch.push_back({.token = token,
                             .type = request.type,
                             .payload = std::move(request.payload),
                             .only_in_term = request.only_in_term});
    waiters_.add(token, {std::move(request.done), bytes, now, request.deadline});
  }
  core_->step(std::move(propose));
  if (expired != 0) board_.update_stats([&](Stats& stats) { stats.proposals_expired += expired; });
}

// Adds two clocks that are read one after the other, so the sum could appear to go back.
SteadyTime RaftLoop::awake_or_not() {
  if (!options_.suspended) return clock_.steady();
  return newest_time_ = std::max(newest_time_, clock_.steady() + options_.suspended());
}

void RaftLoop::tick(SteadyTime now) {
  const auto due = (now - last_tick_) / options_.tick;
  if (due <= 0) return;
  last_tick_ += due * options_.tick;
  // A long pause counts as one election timeout at most.
  for (int64_t i = std::min<int64_t>(due, options_.election_ticks); i > 0; --i) core_->step(Tick{.now = now});
  const auto patience = options_.election_ticks * options_.tick;
  const bool is_slow = !writes_.empty() && clock_.steady() - writes_.front().second > patience;
  if (is_slow != is_storage_slow_) {
    is_storage_slow_ = is_slow;
    core_->step(StorageSlow{is_slow});
    if (is_slow) {
      log::warn("raft", "a write to the log takes longer than an election timeout, this server gives up leading",
                {{"write_seq", writes_.front().first}});
    }
  }
  show();
  if (options_.on_tick) options_.on_tick();
}

void RaftLoop::carry_out(Effects effects) {
  // Before the log is told to forget what [apply] may be reading.
  if (effects.install) apply_->install({.index = effects.install->index, .term = effects.install->term});
  if (effects.write) {
    last_write_seq_ = effects.write->write_seq;
    writes_.emplace_back(last_write_seq_, clock_.steady());
    const bool has_membership = effects.write->membership.has_value();
    for (const RoleChange& change : effects.roles) {
      if (change.role != Role::leader || (board_.role == Role::leader && change.term == board_.term)) continue;
      const auto first = std::ranges::find(effects.write->entries, change.term, &Entry::term);
      if (first != effects.write->entries.end()) term_first_ = first->index;
    }
    log_.submit(*std::move(effects.write));
    if (has_membership) show_membership();
  }
  for (Message& message : effects.send) transport_.send(std::move(message));
  for (const RoleChange& change : effects.roles) change_role(change);
  std::vector<std::pair<Index, uint64_t>> committed;
  for (Resolution& resolution : effects.resolved) resolve(std::move(resolution), committed);
  // The ticks have shown more where it is known to be committed before it is durable here.
  board_.commit = std::max(board_.commit.load(), effects.apply_to);
  // A leader that goes out of office with what it has committed must wait for its own disk: there is nothing to apply
  // yet.
  if (effects.apply_to != 0 || !committed.empty()) apply_->commit(effects.apply_to, std::move(committed));
  for (const LogRead& want : effects.log_reads) transfer_->read(want);
  for (const SnapshotSend& want : effects.snapshots) transfer_->send(want, board_.term);
  for (const ReadReady& ready : effects.reads) {
    auto node = asked_reads_.extract(ready.token);
    if (node.empty()) continue;  // its deadline has passed
    if (ready.outcome != Outcome::committed) {
      node.mapped().done(unavailable("not the leader"));
      continue;
    }
    ready_reads_.emplace(ready.index, std::move(node.mapped()));
  }
}

void RaftLoop::resolve(Resolution resolution, std::vector<std::pair<Index, uint64_t>>& committed) {
  if (auto node = asked_.extract(resolution.token); !node.empty()) {
    node.mapped().done(refusal(resolution));
    return;
  }
  if (resolution.outcome == Outcome::committed) {
    const uint64_t bytes = waiters_.bytes_of(resolution.token);
    if (bytes == 0) return;  // a membership change whose caller has gone
    board_.pending_bytes -= bytes;
    board_.unapplied_bytes += bytes;
    committed.emplace_back(resolution.index, resolution.token);
    return;
  }
  std::optional<Waiters::Waiter> waiter = waiters_.take(resolution.token);
  if (!waiter) return;
  board_.pending_bytes -= waiter->bytes;
  if (waiter->done) waiter->done(refusal(resolution));
}

void RaftLoop::change_role(const RoleChange& change) {
  if (change.role != Role::leader || change.term != board_.term) {
    leadership_.request_stop();
    is_announced_ = true;
  }
  if (board_.role == Role::leader && change.role != Role::leader) transfer_->end_sending();
  const bool is_news = change.role != board_.role || change.term != board_.term;
  board_.term = change.term;
  board_.role = change.role;
  {
    const MutexLock lock(board_.mutex);
    board_.leader = {.id = change.leader};
    const auto& members = board_.membership.members;
    const auto found = std::ranges::find(members, change.leader, &Member::id);
    if (found != members.end()) board_.leader = *found;
    if (change.role != Role::leader) board_.peers.clear();
  }
  if (change.role == Role::leader) {
    leadership_ = std::stop_source();
    is_announced_ = false;
  }
  if (is_news) {
    log::info("raft", "the role changed",
              {{"role", to_string(change.role)},
               {"term", change.term},
               {"leader", change.leader.to_string()},
               {"reason", change.reason}});
  }
}

void RaftLoop::resolve_reads() {
  uint64_t count = 0;
  while (!ready_reads_.empty() && ready_reads_.begin()->first <= board_.applied) {
    auto node = ready_reads_.extract(ready_reads_.begin());
    node.mapped().done(node.key());
    ++count;
  }
  Index awaited = ready_reads_.empty() ? UINT64_MAX : ready_reads_.begin()->first;
  if (!is_announced_) awaited = std::min(awaited, term_first_);
  awaited_ = awaited;
  if (count != 0) board_.update_stats([&](Stats& stats) { stats.reads += count; });
}

void RaftLoop::announce() {
  if (is_announced_ || board_.role != Role::leader || board_.applied < term_first_) return;
  is_announced_ = true;
  if (ready_reads_.empty()) awaited_ = UINT64_MAX;
  for (const Consensus::Leadership& subscriber : subscribers_) subscriber(board_.term, leadership_.get_token());
  correct_address();
}

// Others find a server by its address in the membership.
void RaftLoop::correct_address() {
  const auto& members = core_->membership().members;
  const auto own = std::ranges::find(members, self_, &Member::id);
  if (own == members.end() || own->address == options_.address || options_.address.empty()) return;
  ChangeMembership change{.edits = {{.kind = MemberEdit::Kind::add_voter, .id = self_, .address = options_.address}},
                          .token = next_token_++};
  core_->step(std::move(change));
  carry_out(core_->take_effects());
}

void RaftLoop::expire(SteadyTime now) {
  uint64_t expired = 0;
  for (Consensus::ProposeDone& done : waiters_.take_expired(now)) {
    done(uncertain("the deadline passed"));
    ++expired;
  }
  const auto expire_read = [&](auto& entry) {
    if (entry.second.deadline > now) return false;
    entry.second.done(deadline_exceeded("the deadline passed before the state had caught up"));
    return true;
  };
  std::erase_if(asked_reads_, expire_read);
  std::erase_if(ready_reads_, expire_read);
  std::erase_if(asked_, [&](auto& entry) {
    if (entry.second.deadline > now) return false;
    entry.second.done(deadline_exceeded("the deadline passed; the change may still happen"));
    return true;
  });
  if (expired != 0) board_.update_stats([&](Stats& stats) { stats.proposals_expired += expired; });
}

void RaftLoop::subscribe(Consensus::Leadership on_gain) {
  DROVER_ASSERT_ON(thread);
  if (board_.role == Role::leader && is_announced_ && !leadership_.stop_requested()) {
    on_gain(board_.term, leadership_.get_token());
  }
  subscribers_.push_back(std::move(on_gain));
}

}  // namespace drover::raft

#include "tests/simulation/cluster/bare_node.h"

#include <algorithm>
#include <utility>

namespace drover::simulation {
namespace {

// Notes the outcome of each token in the trace.
void note_outcome(Trace& trace, int node, const raft::Resolution& resolution) {
  trace.note("a request is resolved as {} at {} of term {}", node, static_cast<uint64_t>(resolution.outcome),
             resolution.index, resolution.term);
}

}  // namespace

void BareNode::close() {
  core_.reset();
  log_.reset();
  snapshots_.reset();
  inbox_.clear();
  tokens_.clear();
  writes_.clear();
  reads_.clear();
  outstanding_.clear();
  is_drain_due_ = is_draining_ = is_slow_ = is_apply_due_ = is_snapshotting_ = false;
  installs_.clear();
  install_at_ = 0;
  missed_ticks_ = 0;
}

// It reads its mail before it learns how late it is, and then at most one election timeout is made up for.
void BareNode::continued() {
  drain();
  const int due = std::min(missed_ticks_, static_cast<int>(world_.configuration.election_ticks));
  missed_ticks_ = 0;
  for (int i = 0; i < due && is_up(); ++i) post(raft::Tick{clock_.steady(world_.loop.now())});
}

void BareNode::tick() {
  world_.loop.after(clock_.duration(world_.configuration.tick), [this, life = life_] {
    if (life != life_) return;
    tick();
    if (is_paused()) {
      ++missed_ticks_;
      return;
    }
    const Micros now = clock_.local(world_.loop.now());
    const Micros patience = world_.configuration.tick * world_.configuration.election_ticks;
    const bool is_slow = !outstanding_.empty() && now - outstanding_.front().second > patience;
    if (is_slow != is_slow_) {
      is_slow_ = is_slow;
      world_.trace.note("its disk is slow: {}", number_, is_slow);
      post(raft::StorageSlow{is_slow});
    }
    if (is_up()) post(raft::Tick{clock_.steady(world_.loop.now())});
  });
}

// ---- inputs and effects ----

void BareNode::post(raft::Input input) {
  inbox_.push_back(std::move(input));
  if (is_drain_due_ || is_draining_ || is_paused()) return;
  if (world_.configuration.inbox_delay == 0) return drain();
  is_drain_due_ = true;
  later(random_.exponential(world_.configuration.inbox_delay), [this] {
    is_drain_due_ = false;
    drain();
  });
}

void BareNode::drain() {
  if (!is_up() || is_draining_) return;
  is_draining_ = true;
  const uint64_t life = life_;
  std::vector<raft::Input> inputs;
  while (life == life_ && !inbox_.empty()) {
    inputs.swap(inbox_);
    for (raft::Input& input : inputs) {
      world_.conduct.before(number_, input, core_->status());
      core_->step(std::move(input));
      world_.conduct.after(number_, core_->status(), core_->membership());
      if (++steps_ % world_.configuration.check_every == 0) core_->check();
      if (inputs.size() > 1) note_commit();
    }
    inputs.clear();
    handle(core_->take_effects());
  }
  if (life == life_) is_draining_ = false;
}

// A leader may commit and step down before its effects are taken.
void BareNode::note_commit() { world_.invariants.committing(number_, core_->status(), core_->membership()); }

void BareNode::handle(raft::Effects effects) {
  Invariants& invariants = world_.invariants;
  const raft::CoreStatus status = core_->status();
  if (is_cut_ && !status.is_damaged) {
    repaired();
    if (log_->recovered().is_damaged) log_->mark_whole();
  }
  for (const raft::RoleChange& change : effects.roles) {
    world_.trace.note(change.role == raft::Role::leader     ? Sentence("leads term {}, follows n{}")
                      : change.role == raft::Role::follower ? Sentence("follows in term {}, leader n{}")
                                                            : Sentence("is a candidate in term {}, leader n{}"),
                      number_, change.term, static_cast<uint64_t>(number_of(change.leader)));
    if (change.role == raft::Role::leader) invariants.leads(number_, change.term);
  }
  if (effects.write) {
    const bool has_led =
        std::ranges::none_of(effects.roles, [](const auto& change) { return change.role == raft::Role::leader; });
    invariants.submitted(number_, *effects.write, status.role == raft::Role::leader && has_led);
  }
  world_.conduct.effects(number_, effects, status, core_->membership(), !installs_.empty());
  if (effects.write) submit(*std::move(effects.write));
  invariants.stepped(number_, status, core_->membership());
  for (raft::Message& message : effects.send) {
    const int to = number_of(message.to);
    invariants.sending(number_, message);
    world_.trace.note("sends {} to n{}: term {}, index {}", number_, static_cast<uint64_t>(message.type),
                      static_cast<uint64_t>(to), message.term, message.log_index);
    if (to >= 0 && static_cast<size_t>(to) < world_.nodes->size())
      world_.network->send(number_, to, std::move(message));
  }
  for (const raft::Resolution& resolution : effects.resolved) resolve(resolution);
  if (effects.install) install(*effects.install);
  if (effects.apply_to > apply_to_) {
    apply_to_ = effects.apply_to;
    invariants.may_apply(number_, apply_to_, status.role == raft::Role::leader);
    apply_soon();
  }
  for (const raft::ReadReady& ready : effects.reads) read_ready(ready);
  for (const raft::LogRead& wanted : effects.log_reads) read_for_peer(wanted);
  for (const raft::SnapshotSend& wanted : effects.snapshots) send_snapshot(wanted.to);
}

void BareNode::peer_changed(int peer, bool is_reachable) {
  if (!is_up()) return;
  if (is_reachable) {
    post(raft::PeerReconnected{id_of(peer)});
  } else {
    post(raft::PeerUnreachable{id_of(peer)});
  }
}

// ---- requests ----

void BareNode::serve(const Request& request) {
  const uint64_t token = world_.next_token++;
  if (request.kind == Kind::read) {
    tokens_[token] = {Purpose::read, request, world_.invariants.acknowledged()};
    return post(raft::ReadIndex{token, clock_.steady(world_.loop.now())});
  }
  tokens_[token] = {Purpose::write, request};
  auto payload = std::make_shared<const std::string>(encode_command(request));
  post(raft::Propose{{{.token = token, .payload = std::move(payload)}}});
}

void BareNode::change_membership(const std::vector<raft::MemberEdit>& edits) {
  const uint64_t token = world_.next_token++;
  tokens_[token] = {.purpose = Purpose::membership};
  world_.invariants.requested(edits);
  post(raft::ChangeMembership{edits, token});
}

void BareNode::transfer(raft::NodeId to) {
  const uint64_t token = world_.next_token++;
  tokens_[token] = {.purpose = Purpose::transfer};
  world_.trace.note("is asked to hand leadership to n{}", number_, static_cast<uint64_t>(number_of(to)));
  post(raft::TransferLeadership{to, token});
}

void BareNode::resolve(const raft::Resolution& resolution) {
  const auto found = tokens_.find(resolution.token);
  if (found == tokens_.end()) {
    return world_.invariants.fail("tokens", "n" + std::to_string(number_) + " resolves token " +
                                                std::to_string(resolution.token) + " twice, or nobody asked");
  }
  const Token token = std::move(found->second);
  tokens_.erase(found);
  note_outcome(world_.trace, number_, resolution);
  if (token.purpose != Purpose::write) return;
  if (resolution.outcome == raft::Outcome::committed) {
    writes_.emplace(resolution.index, token.request);
  } else if (resolution.outcome == raft::Outcome::uncertain) {
    answer(token.request, {.outcome = Answer::Outcome::uncertain});
  } else if (resolution.outcome == raft::Outcome::too_large) {
    answer(token.request, {.outcome = Answer::Outcome::impossible});
  } else {
    answer(token.request, {.outcome = Answer::Outcome::refused, .leader = number_of(status().leader)});
  }
}

void BareNode::read_ready(const raft::ReadReady& ready) {
  const auto found = tokens_.find(ready.token);
  if (found == tokens_.end() || found->second.purpose != Purpose::read) {
    return world_.invariants.fail("tokens", "n" + std::to_string(number_) + " answers read " +
                                                std::to_string(ready.token) + " twice, or nobody asked");
  }
  const Token token = std::move(found->second);
  tokens_.erase(found);
  if (ready.outcome != raft::Outcome::committed) {
    return answer(token.request, {.outcome = Answer::Outcome::refused, .leader = number_of(status().leader)});
  }
  world_.trace.note("may read at {}", number_, ready.index);
  world_.invariants.read(number_, ready.index, token.floor);
  reads_.emplace(ready.index, std::pair(token.request, token.floor));
  answer_reads();
}

void BareNode::answer_reads() {
  while (!reads_.empty() && reads_.begin()->first <= machine_.applied_index()) {
    const Request request = std::move(reads_.begin()->second.first);
    reads_.erase(reads_.begin());
    answer(request, {.value = machine_.read(request.key), .index = machine_.applied_index()});
  }
}

// ---- applying ----

void BareNode::apply_soon() {
  if (is_apply_due_ || machine_.applied_index() >= apply_to_) return;
  if (world_.configuration.apply_delay == 0) return apply_now();
  is_apply_due_ = true;
  later(random_.exponential(world_.configuration.apply_delay), [this] {
    is_apply_due_ = false;
    apply_now();
  });
}

void BareNode::apply_now() {
  if (!installs_.empty()) return;
  if (machine_.applied_index() >= apply_to_) return;  // a snapshot came first
  const raft::Index from = machine_.applied_index() + 1;
  const auto batch = static_cast<raft::Index>(world_.configuration.apply_batch);
  const Result<std::vector<raft::Entry>> entries = log_->read(from, std::min(apply_to_, from + batch - 1), 1 << 20);
  if (!entries.ok()) {
    if (entries.status().code() == Code::data_loss) return later(0, [this] { end_of_storage(); });
    // The disk does not give it back now; a server would end here as well. It tries again.
    world_.trace.note("cannot read entry {} to apply it", number_, from);
    is_apply_due_ = true;
    return later(10'000, [this] {
      is_apply_due_ = false;
      apply_now();
    });
  }
  std::vector<Result<std::string>> answers;
  execute(*entries, answers);
  for (size_t i = 0; i < entries->size(); ++i) {
    const raft::Entry& entry = (*entries)[i];
    applied_term_ = entry.term;
    if (entry.type == raft::EntryType::membership) {
      applied_membership_ = *raft::decode_membership(entry.bytes());
      applied_membership_.index = entry.index;
    }
    if (auto write = writes_.extract(entry.index)) {
      answer(write.mapped(), {.value = *answers[i], .index = entry.index});
    }
  }
  world_.trace.note("has applied up to {}", number_, machine_.applied_index());
  post(raft::AppliedTo{machine_.applied_index()});
  if (!is_up()) return;
  answer_reads();
  const auto threshold = static_cast<raft::Index>(world_.configuration.snapshot_entries);
  if (threshold != 0 && machine_.applied_index() >= snapshot_index_ + threshold) take_snapshot();
  apply_soon();
}

std::string BareNode::unfinished() const {
  if (machine_.index() < core_->status().commit_index) return "has committed entries that are not applied";
  if (!tokens_.empty()) return "has " + std::to_string(tokens_.size()) + " requests that were never resolved";
  if (!reads_.empty() || !writes_.empty()) return "has requests that were resolved and never answered";
  return {};
}

}  // namespace drover::simulation

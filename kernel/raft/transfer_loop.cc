#include "kernel/raft/transfer_loop.h"

#include <algorithm>
#include <utility>

#include "drover/log.h"
#include "kernel/raft/apply_loop.h"
#include "kernel/raft/raft_loop.h"

namespace drover::raft {

void TransferLoop::connect(NodeId self, RaftLoop& raft, ApplyLoop& apply) {
  self_ = self;
  raft_ = &raft;
  apply_ = &apply;
}

template <typename Change>
void TransferLoop::enqueue(Change change) {
  const MutexLock lock(mutex_);
  change(inbox_);
  wake_.notify_one();
}

void TransferLoop::read(LogRead want) {
  enqueue([&](Inbox& inbox) { inbox.reads.push_back(want); });
}

void TransferLoop::send(SnapshotSend want, Term leader_term) {
  enqueue([&](Inbox& inbox) { inbox.orders.push_back({want, leader_term}); });
}

void TransferLoop::end_sending() {
  enqueue([](Inbox& inbox) {
    inbox.orders.clear();
    inbox.is_sending_over = true;
  });
}

void TransferLoop::receive(BulkMessage message) {
  enqueue([&](Inbox& inbox) {
    if (inbox.bulk.size() < kMostQueued) inbox.bulk.push_back(std::move(message));  // the sender tries again
  });
}

void TransferLoop::close() {
  const MutexLock lock(mutex_);
  is_closed_ = true;
  wake_.notify_one();
}

bool TransferLoop::wait() {
  const SteadyTime until = next_time();
  MutexLock lock(mutex_);
  const auto has_work = [&]() DROVER_REQUIRES(mutex_) { return !inbox_.empty() || is_closed_; };
  if (until == SteadyTime::max()) {
    wake_.wait(lock, has_work);
  } else {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock_.steady());
    wake_.wait_for(lock, std::clamp<std::chrono::milliseconds>(left, std::chrono::milliseconds(0), kRetry), has_work);
  }
  return !is_closed_;
}

bool TransferLoop::step() {
  DROVER_ASSERT_ON(thread);
  Inbox inbox;
  {
    const MutexLock lock(mutex_);
    std::swap(inbox, inbox_);
  }
  const bool had_work = !inbox.empty();
  if (inbox.is_sending_over) sending_.clear();
  for (const LogRead& want : inbox.reads) read_entries(want);
  for (const Order& order : inbox.orders) begin_sending(order);
  for (BulkMessage& message : inbox.bulk) {
    if (const auto* ack = std::get_if<SnapshotAck>(&message)) take(*ack);
    if (auto* chunk = std::get_if<SnapshotChunk>(&message)) take(std::move(*chunk));
  }
  return pump_all(clock_.steady()) || had_work;
}

void TransferLoop::read_entries(const LogRead& want) {
  EntriesRead answer{.to = want.to, .from = want.from};
  if (Result<std::vector<Entry>> entries = log_.read(want.from, want.upto, want.max_bytes); entries.ok()) {
    answer.entries = *std::move(entries);
  } else if (entries.status().code() != Code::out_of_range) {
    log::error("raft", "old entries could not be read for a server that is behind, it gets a snapshot",
               {{"error", entries.status().message()}});
    apply_->want_snapshot([](const Result<SnapshotInfo>&) {});  // one that reaches beyond what cannot be read
  }
  raft_->push(std::move(answer));
}

// ---- sending ----

void TransferLoop::begin_sending(const Order& order) {
  const SteadyTime now = clock_.steady();
  for (const SnapshotInfo& newest : snapshots_.list()) {
    Result<std::unique_ptr<SnapshotReader>> reader = snapshots_.open_to_send(newest);
    if (!reader.ok()) {
      log::error("raft", "a snapshot cannot be sent, looking for an older one", {{"error", reader.status().message()}});
      replace_unreadable(newest, reader.status());
      continue;
    }
    log::info("raft", "sending a snapshot", {{"to", order.want.to.to_string()}, {"index", newest.index}});
    sending_.insert_or_assign(
        order.want.to,
        Sending{.reader = *std::move(reader), .leader_term = order.leader_term, .last_progress = now, .last_send = {}});
    return;
  }
  apply_->want_snapshot([](const Result<SnapshotInfo>&) {});  // for the next time that it asks
  raft_->push(SnapshotSent{.to = order.want.to, .index = 0, .is_ok = false});
}

void TransferLoop::take(const SnapshotAck& ack) {
  const auto found = sending_.find(ack.from);
  if (found == sending_.end()) return;
  Sending& sending = found->second;
  const SnapshotInfo& info = sending.reader->info();
  if (ack.index != info.index || ack.term != info.term) return;
  if (ack.is_refused) replace_unreadable(info, snapshots_.verify(info).status());
  if (ack.is_done || ack.is_refused) return finish_sending(ack.from, ack.is_done);
  const SteadyTime now = clock_.steady();
  if (ack.offset > sending.furthest) {
    sending.furthest = ack.offset;
    sending.last_progress = now;
  }
  // Sending goes on from the answered offset, even if that is further back: the receiver began anew.
  const bool is_first = !std::exchange(sending.is_answered, true);
  if (is_first || ack.offset > sending.acked) sending.acked = std::min(ack.offset, sending.reader->total_bytes());
  if (is_first) sending.sent = sending.acked;
  sending.sent = std::max(sending.sent, sending.acked);
}

void TransferLoop::finish_sending(NodeId to, bool is_ok) {
  const auto node = sending_.extract(to);
  const Index index = node.mapped().reader->info().index;
  if (is_ok) board_.update_stats([](Stats& stats) { ++stats.snapshots_sent; });
  log::info("raft", is_ok ? "a snapshot has arrived" : "sending a snapshot was given up",
            {{"to", to.to_string()}, {"index", index}});
  raft_->push(SnapshotSent{.to = to, .index = index, .is_ok = is_ok});
}

// Otherwise a follower that is behind would wait until the log has grown enough for the next one. A damaged snapshot is
// of no use to this server's next start either; one that cannot be read now may be read then.
void TransferLoop::replace_unreadable(const SnapshotInfo& snapshot, const Status& status) {
  if (status.ok()) return;
  const bool is_damaged = status.code() == Code::data_loss;
  const Status aside = is_damaged ? snapshots_.set_aside(snapshot) : unavailable("not damaged, as far as is known");
  log::error("raft", "a snapshot cannot be read, another one is taken",
             {{"error", status.message()}, {"set_aside", aside.to_string()}});
  if (is_damaged) {
    const MutexLock lock(board_.mutex);
    if (board_.newest.index == snapshot.index) board_.newest = {};
  }
  apply_->want_snapshot([](const Result<SnapshotInfo>&) {});
}

bool TransferLoop::pump_all(SteadyTime now) {
  std::vector<NodeId> given_up;
  bool has_sent = false;
  for (auto& [to, sending] : sending_) {
    if (now - sending.last_progress > kPatience) {
      given_up.push_back(to);
    } else {
      has_sent |= pump(to, sending, now);
    }
  }
  for (NodeId to : given_up) finish_sending(to, false);
  return has_sent || !given_up.empty();
}

bool TransferLoop::pump(NodeId to, Sending& sending, SteadyTime now) {
  const SnapshotReader& reader = *sending.reader;
  const auto send = [&](std::string bytes) {
    const uint64_t size = bytes.size();
    sending.last_send = now;
    transport_.send_bulk(SnapshotChunk{.from = self_,
                                       .to = to,
                                       .leader_term = sending.leader_term,
                                       .index = reader.info().index,
                                       .term = reader.info().term,
                                       .manifest_bytes = reader.manifest_bytes(),
                                       .total_bytes = reader.total_bytes(),
                                       .offset = sending.sent,
                                       .bytes = std::move(bytes)});
    sending.sent += size;
    rate_free_at_ =
        std::max(rate_free_at_, now) +
        std::chrono::nanoseconds(size * 1'000'000'000 / std::max<uint64_t>(options_.snapshot_rate_bytes, 1));
  };
  if (now - sending.last_send >= kRetry) {  // the start, or nothing was heard: ask, and go on from there
    sending.is_answered = false;
    sending.sent = sending.acked;
    send({});
    return true;
  }
  bool has_sent = false;
  while (sending.is_answered && sending.sent < reader.total_bytes() && sending.sent < sending.acked + kWindow &&
         rate_free_at_ <= now) {
    Result<std::string> bytes = reader.read(sending.sent, kChunk);
    if (!bytes.ok()) {
      replace_unreadable(reader.info(), bytes.status());
      sending.last_progress = now - 2 * kPatience;  // given up in the next round
      return true;
    }
    send(*std::move(bytes));
    has_sent = true;
  }
  return has_sent;
}

SteadyTime TransferLoop::next_time() const {
  SteadyTime next = SteadyTime::max();
  for (const auto& [to, sending] : sending_) {
    next = std::min(next, sending.last_send + kRetry);
    const bool is_held_by_rate =
        sending.is_answered && sending.sent < sending.reader->total_bytes() && sending.sent < sending.acked + kWindow;
    if (is_held_by_rate) next = std::min(next, rate_free_at_);
  }
  return next;
}

// ---- receiving ----

void TransferLoop::take(SnapshotChunk chunk) {
  if (chunk.leader_term < board_.term) return;  // a leader of the past
  const SnapshotInfo info{.index = chunk.index, .term = chunk.term};
  if (snapshots_.was_received(info)) return arrived(chunk, snapshots_.describe(info));
  if (!receiving_ || receiving_->index() != chunk.index || receiving_->term() != chunk.term) {
    receiving_.reset();  // its leftovers go first: the name may be the same
    Result<std::unique_ptr<SnapshotReceiver>> receiver =
        snapshots_.receive(chunk.index, chunk.term, chunk.manifest_bytes, chunk.total_bytes);
    if (!receiver.ok()) return refuse(chunk, receiver.status());
    receiving_ = *std::move(receiver);
  }
  if (chunk.offset == receiving_->offset() && !chunk.bytes.empty()) {
    if (const Status written = receiving_->write(chunk.bytes); !written.ok()) return refuse(chunk, written);
  }
  if (!receiving_->is_whole()) return answer(chunk, {.offset = receiving_->offset()});
  Result<SnapshotInfo> whole = receiving_->finish();
  receiving_.reset();
  arrived(chunk, std::move(whole));
}

void TransferLoop::arrived(const SnapshotChunk& chunk, Result<SnapshotInfo> whole) {
  if (!whole.ok()) return refuse(chunk, whole.status());
  raft_->push(SnapshotArrived{.from = chunk.from,
                              .leader_term = chunk.leader_term,
                              .index = whole->index,
                              .term = whole->term,
                              .membership = whole->membership});
  answer(chunk, {.is_done = true});
}

void TransferLoop::refuse(const SnapshotChunk& chunk, const Status& why) {
  log::error("raft", "a snapshot of the leader could not be kept",
             {{"from", chunk.from.to_string()}, {"index", chunk.index}, {"error", why.message()}});
  receiving_.reset();
  answer(chunk, {.is_refused = true});
}

void TransferLoop::answer(const SnapshotChunk& chunk, SnapshotAck ack) {
  ack.from = self_;
  ack.to = chunk.from;
  ack.index = chunk.index;
  ack.term = chunk.term;
  transport_.send_bulk(std::move(ack));
}

}  // namespace drover::raft

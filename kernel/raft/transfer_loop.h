// [transfer]: the bulky traffic between servers. Reads old entries for followers that are behind, sends snapshots in
// chunks, receives them. Open files pin a snapshot: one that is replaced meanwhile is still sent to its end.
//
//   sender:   ask ─▶ chunks, at most kWindow beyond the last ack, at most the rate ─▶ done, or given up after kPatience
//   receiver: chunk at the wanted offset ─▶ written, acked ─▶ whole: verified, durable, told to the core, acked as done
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "drover/mutex.h"
#include "kernel/raft/board.h"
#include "kernel/raft/core/core.h"
#include "kernel/raft/driver.h"
#include "kernel/raft/log.h"
#include "kernel/raft/snapshot_store.h"
#include "kernel/raft/transport.h"

namespace drover::raft {

class ApplyLoop;
class RaftLoop;

class TransferLoop {
 public:
  static constexpr uint64_t kChunk = 1 << 20;
  static constexpr uint64_t kWindow = 8 * kChunk;
  static constexpr size_t kMostQueued = 64;             // chunks and acks that wait here
  static constexpr std::chrono::seconds kRetry{1};      // without an ack: asks how far the receiver is
  static constexpr std::chrono::seconds kPatience{15};  // without progress: given up

  TransferLoop(const Options& options, const Clock& clock, Log& log, SnapshotStore& snapshots, Transport& transport,
               Board& board)
      : options_(options), clock_(clock), log_(log), snapshots_(snapshots), transport_(transport), board_(board) {}

  void connect(NodeId self, RaftLoop& raft, ApplyLoop& apply);
  void read(LogRead want);                         // [raft]
  void send(SnapshotSend want, Term leader_term);  // [raft]
  void end_sending();                              // leadership is over [raft]
  void receive(BulkMessage message);               // [any]

  bool step();  // whether there was anything to do
  bool wait();  // until there is, or a time is up; false when closed
  void close();

  ThreadChecker thread{"transfer"};  // bound where the loop has a thread of its own

 private:
  struct Order {
    SnapshotSend want;
    Term leader_term = 0;
  };
  struct Sending {
    std::unique_ptr<SnapshotReader> reader;
    Term leader_term = 0;
    uint64_t acked = 0;
    uint64_t sent = 0;
    bool is_answered = false;  // since it was asked how far it is
    uint64_t furthest = 0;
    SteadyTime last_progress{};
    SteadyTime last_send{};
  };
  struct Inbox {
    std::deque<LogRead> reads;
    std::deque<Order> orders;
    std::deque<BulkMessage> bulk;
    bool is_sending_over = false;
    bool empty() const { return reads.empty() && orders.empty() && bulk.empty() && !is_sending_over; }
  };

  template <typename Change>
  void enqueue(Change change);
  void read_entries(const LogRead& want);
  void begin_sending(const Order& order);
  bool pump(NodeId to, Sending& sending, SteadyTime now);
  void finish_sending(NodeId to, bool is_ok);
  void replace_unreadable(const SnapshotInfo& snapshot, const Status& status);
  void take(const SnapshotAck& ack);
  void take(SnapshotChunk chunk);
  void arrived(const SnapshotChunk& chunk, Result<SnapshotInfo> whole);
  void refuse(const SnapshotChunk& chunk, const Status& why);
  void answer(const SnapshotChunk& chunk, SnapshotAck ack);
  bool pump_all(SteadyTime now);
  SteadyTime next_time() const;

  const Options& options_;
  const Clock& clock_;
  Log& log_;
  SnapshotStore& snapshots_;
  Transport& transport_;
  Board& board_;
  NodeId self_;
  RaftLoop* raft_ = nullptr;
  ApplyLoop* apply_ = nullptr;

  // [transfer]
  std::map<NodeId, Sending> sending_;
  std::unique_ptr<SnapshotReceiver> receiving_;
  SteadyTime rate_free_at_{};  // when the rate allows the next chunk

  Mutex mutex_;  // a leaf
  CondVar wake_;
  Inbox inbox_ DROVER_GUARDED_BY(mutex_);
  bool is_closed_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace drover::raft

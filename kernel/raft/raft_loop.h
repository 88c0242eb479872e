// [raft]: drains the inbox into the core and carries out its effects, one round at a time.
//
//   control ─┐                         ┌─▶ log (submit)        ┌─ [log] says durable
//   messages ┼─▶ core.step … ─▶ effects ┼─▶ transport (send)    │
//   proposals┘   (in this order,       ├─▶ apply (commit)      ├─ [apply] says applied
//                with a budget)        └─▶ transfer (send, read)└─ [transfer] says arrived, sent, read
//
// Everything public is [any] but step() and wait(), which belong to the one thread, or to the simulator.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <unordered_map>
#include <utility>
#include <vector>

#include "drover/mutex.h"
#include "kernel/raft/board.h"
#include "kernel/raft/core/core.h"
#include "kernel/raft/driver.h"
#include "kernel/raft/log.h"
#include "kernel/raft/transport.h"

namespace drover::raft {

class ApplyLoop;
class TransferLoop;

class RaftLoop {
 public:
  struct Request {  // a proposal on its way into the log
    EntryType type = EntryType::command;
    std::shared_ptr<const std::string> payload{};
    Term only_in_term = 0;
    SteadyTime deadline = SteadyTime::max();
    Consensus::ProposeDone done{};
  };

  RaftLoop(const Options& options, const Clock& clock, Log& log, Transport& transport, Board& board, Waiters& waiters)
      : options_(options), clock_(clock), log_(log), transport_(transport), board_(board), waiters_(waiters) {}

  // Before anything runs.
  void connect(NodeId self, ApplyLoop& apply, TransferLoop& transfer);
  void begin(CoreState state);

  void propose(Request request);
  void read(SteadyTime deadline, Consensus::IndexDone done);
  // Makes an input that comes back by token; `done` runs exactly once.
  void ask(std::function<Input(uint64_t token)> make, SteadyTime deadline, Consensus::StatusDone done);
  bool post(std::function<void()> call);  // false once closed
  void push(Input input);
  void push(Message message);
  void durable(uint64_t write_seq);
  // [apply] calls applied() when the board shows at least awaited().
  Index awaited() const { return awaited_; }
  void applied();

  bool step();  // whether there was anything to do
  void wait();  // until there is
  bool is_closed() const;
  void refuse();  // no more proposals
  void close();   // nothing new gets in
  // After the last step: tells everybody who still waits.
  void abandon(const Status& why);

  // [raft], or before begin().
  void subscribe(Consensus::Leadership on_gain);
  // Writes the first entry of a new cluster; the core is made anew behind it once it is durable. Requires: an empty
  // log.
  void begin_cluster(std::vector<Member> voters, Consensus::StatusDone done);
  void end_leadership() { leadership_.request_stop(); }

  ThreadChecker thread{"raft"};  // bound where the loop has a thread of its own

 private:
  struct Read {
    Index index = 0;
    SteadyTime deadline;
    Consensus::IndexDone done;
  };
  struct Asked {
    SteadyTime deadline;
    Consensus::StatusDone done;
  };
  struct Inbox {
    std::deque<std::function<void()>> calls;
    std::deque<Input> control;
    std::deque<Message> messages;
    std::deque<Request> proposals;
    std::deque<Read> reads;
    uint64_t durable_seq = 0;

    bool has_news() const {
      return !(calls.empty() && control.empty() && messages.empty() && reads.empty() && durable_seq == 0);
    }
  };

  void make_core(CoreState state);
  bool is_alone() const;
  bool has_work() const DROVER_REQUIRES(mutex_);
  bool gathers() const DROVER_REQUIRES(mutex_);
  Inbox take();
  void turn_away(Inbox inbox);
  void note_contact(const Input& input, SteadyTime now);
  void submit(std::deque<Request> proposals, SteadyTime now);
  SteadyTime awake_or_not();  // the time by which ticks and leases go
  void tick(SteadyTime now);
  void carry_out(Effects effects);
  void resolve(Resolution resolution, std::vector<std::pair<Index, uint64_t>>& committed);
  void change_role(const RoleChange& change);
  void resolve_reads();
  void announce();
  void correct_address();
  void expire(SteadyTime now);
  void show_membership();
  void show();
  SteadyTime next_deadline() const;

  const Options& options_;
  const Clock& clock_;
  Log& log_;
  Transport& transport_;
  Board& board_;
  Waiters& waiters_;
  NodeId self_;
  ApplyLoop* apply_ = nullptr;
  TransferLoop* transfer_ = nullptr;

  // [raft]
  std::unique_ptr<Core> core_;
  struct Beginning {
    CoreState state;
    Consensus::StatusDone done;
  };
  std::optional<Beginning> beginning_;  // its write is out: until then nothing is heard or said
  uint64_t next_token_ = 1;
  std::map<NodeId, std::string> addresses_;  // of everybody who was ever a member
  std::unordered_map<uint64_t, Read> asked_reads_;
  std::multimap<Index, Read> ready_reads_;
  std::map<uint64_t, Asked> asked_;
  uint64_t last_write_seq_ = 0;
  std::deque<std::pair<uint64_t, SteadyTime>> writes_;  // out, with when they went
  bool is_storage_slow_ = false;
  SteadyTime last_tick_{};
  SteadyTime newest_time_{};  // that awake_or_not() has shown
  Index applied_ = 0;
  Index term_first_ = 0;  // the entry that opened this leadership
  bool is_announced_ = true;
  std::stop_source leadership_;
  std::vector<Consensus::Leadership> subscribers_;

  std::atomic<Index> awaited_{UINT64_MAX};

  mutable Mutex mutex_;  // a leaf
  CondVar wake_;
  Inbox inbox_ DROVER_GUARDED_BY(mutex_);
  uint64_t queued_message_bytes_ DROVER_GUARDED_BY(mutex_) = 0;
  bool waits_gathering_ DROVER_GUARDED_BY(mutex_) = false;  // a proposal alone does not wake [raft]
  bool is_refusing_ DROVER_GUARDED_BY(mutex_) = true;  // until begin()
  bool is_closed_ DROVER_GUARDED_BY(mutex_) = true;    // until begin()
};

}  // namespace drover::raft

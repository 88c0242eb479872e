// Hands evaluations to the scheduler's workers: by priority, one in flight for each job, each until it is done.
//
//   waiting ──due──▶ ready ──dequeue──▶ unacked ──ack──▶ gone
//      ▲               ▲                  │ nack, or no answer in time
//      └──── delay ────┴──────────────────┴──▶ failed (after the delivery limit)
//
// Pure: time comes in with each call. Owned by EvalQueue, which guards it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "drover/clock.h"
#include "drover/result.h"
#include "drover/v1/evaluation.pb.h"

namespace drover::scheduler {

struct BrokerOptions {
  std::chrono::nanoseconds nack_timeout = std::chrono::seconds(60);
  std::chrono::nanoseconds first_nack_delay = std::chrono::seconds(1);
  std::chrono::nanoseconds nack_delay = std::chrono::seconds(20);  // times the deliveries so far
  int delivery_limit = 3;
};

struct Moment {
  SteadyTime steady;
  int64_t wall_ns = 0;  // for what is due at a time of day
};

struct Delivery {
  v1::Evaluation eval;
  std::string token;
  // An evaluation whose plan was refused in part is decided again: how often that was without any of it being done,
  // and which index shows why.
  int attempts = 0;
  uint64_t index = 0;
};

class Broker {
 public:
  explicit Broker(const BrokerOptions& options) : options_(options) {}

  // An evaluation that is known already is left as it is; one that is in flight comes again after its ack.
  void enqueue(const v1::Evaluation& eval, Moment now);
  // `types`: of evaluations; empty: all. `token`: names this delivery; new for each call.
  std::optional<Delivery> dequeue(const std::set<std::string>& types, std::string token, Moment now);
  // One whose row is gone; one that is in flight is left to its answer.
  void forget(const std::string& id);
  // One that is in no table yet is handed out at once, so that nobody else looks at its job meanwhile. Nothing when
  // another of the job is ready or in flight.
  std::optional<Delivery> deliver(const v1::Evaluation& eval, std::string token, Moment now);
  // Errors: not_found when the evaluation is not in flight under that token.
  Status ack(const std::string& id, const std::string& token, Moment now);
  Status nack(const std::string& id, const std::string& token, Moment now);
  bool outstanding(const std::string& id, const std::string& token) const;
  // The time in which an answer must come starts over.
  Status extend(const std::string& id, const std::string& token, Moment now);
  // No answer is due until it is extended: its plan is in other hands, which always answer.
  Status rest(const std::string& id, const std::string& token);
  // Some evaluation can be handed out; the leader has something to take.
  bool has_ready() const;
  bool has_chores() const { return !failed_.empty() || !cancelable_.empty(); }
  // How many are in flight.
  size_t unacked() const { return unacked_.size(); }

  // Makes ready what is due and takes back what was not answered in time.
  void tick(Moment now);
  std::optional<SteadyTime> next_deadline() const;

  // Those delivered too often; they are forgotten here.
  std::vector<v1::Evaluation> take_failed();
  // Those that a more recent evaluation of the same job has made needless; at most `limit`.
  std::vector<v1::Evaluation> take_cancelable(size_t limit);

  void flush();

  struct Stats {
    size_t ready = 0, unacked = 0, pending = 0, waiting = 0, cancelable = 0;
    struct ByType {
      size_t ready = 0, unacked = 0;
    };
    std::map<std::string, ByType> types;
  };
  Stats stats() const;

 private:
  using JobName = std::pair<std::string, std::string>;
  struct ReadyOrder {  // the highest priority first, then the oldest
    int32_t priority;
    uint64_t create_index;
    std::string id;
    bool operator<(const ReadyOrder& other) const;
  };
  enum class Where { waiting, ready, pending, unacked };
  struct Entry {
    v1::Evaluation eval;
    Where where = Where::waiting;
    int deliveries = 0;
    std::string token;
    SteadyTime deadline;  // waiting: when it is due; unacked: when it is taken back
    std::optional<v1::Evaluation> again;
  };

  static JobName job_of(const v1::Evaluation& eval) { return {eval.namespace_(), eval.job_id()}; }
  static ReadyOrder order_of(const v1::Evaluation& eval) { return {eval.priority(), eval.create_index(), eval.id()}; }
  void make_ready(Entry& entry);
  void wait(Entry& entry, SteadyTime until);
  enum class Others { become_needless, wait_on };
  // The newest of those behind goes on; what becomes of the others.
  void release_job(const JobName& job, Others others = Others::become_needless);
  Delivery hand_out(Entry& entry, std::string token, Moment now);
  static bool is_held(const Entry& entry, const std::string& token) {
    return entry.where == Where::unacked && entry.token == token;
  }
  Entry* in_flight(const std::string& id, const std::string& token);
  Status answer_by(const std::string& id, const std::string& token, SteadyTime deadline);

  const BrokerOptions options_;
  std::unordered_map<std::string, Entry> entries_;
  std::map<std::string, std::set<ReadyOrder>> ready_;  // by type
  std::map<JobName, std::string> active_;              // the one ready or in flight
  std::map<JobName, std::set<std::string>> pending_;   // behind it
  std::set<std::pair<SteadyTime, std::string>> waiting_;
  std::set<std::pair<SteadyTime, std::string>> unacked_;
  std::vector<v1::Evaluation> failed_;
  std::vector<v1::Evaluation> cancelable_;
};

}  // namespace drover::scheduler

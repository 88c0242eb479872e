// Where plans meet: one thread checks each against the newest state and the plans in flight, and puts what fits into
// the log, several plans in one entry when several wait. Nobody waits for the log: many entries are in flight.
//
//   submit ──▶ queue ──check──▶ entry in flight ──answer of the log──▶ done
//                 │ nothing of it fits            │ fails
//                 └──────────▶ done               └──undone──▶ done
//
// A plan that fits whole takes the end of its evaluation into the same entry: both are there or none is.
//
// submit [any]; run [plans], one thread while this server leads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "columns.h"
#include "drover/clock.h"
#include "drover/mutex.h"
#include "drover/plugin.h"
#include "eval_queue.h"
#include "plan.h"
#include "rejections.h"

namespace drover::v1 {
class HostVolumesClaimed;
class PlanApplied;
class PlansPacked;
}  // namespace drover::v1

namespace drover::scheduler::packing {
struct Lookup;
}  // namespace drover::scheduler::packing

namespace drover::scheduler {

class PlanApplier {
 public:
  // Entries that may be in flight at one time.
  static constexpr size_t kMostEntries = 64;

  // `find_claims`: on host volumes, of what a command places; empty: there are none.
  using FindClaims = std::function<v1::HostVolumesClaimed(const v1::PlanApplied& command)>;
  PlanApplier(Host& host, SharedColumns& columns, EvalQueue& evals, RejectionOptions rejections = {},
              FindClaims find_claims = {})
      : host_(host), columns_(columns), evals_(evals), rejections_(rejections), find_claims_(std::move(find_claims)) {}

  struct Outcome {
    bool full = true;       // everything was done, the end of the evaluation with it
    bool progress = false;  // some of the plan was
    uint64_t index = 0;     // a snapshot of this index shows why the rest was not
  };
  struct Submission {
    WeighedPlan plan;
    std::vector<v1::Evaluation> end;  // that the evaluation leaves behind, itself among them, once the plan is whole
    bool is_part = false;             // there is more to do: the outcome is not full, and the evaluation goes on
    std::string eval_id, token;       // of the delivery it was made for
    int32_t priority = 0;             // of its evaluation
    uint64_t term = 0;                // of consensus, from before the snapshot that it was decided on
    // The job comes with the plan, in an entry of their own: when the log refuses the job, no other plan fails with it.
    std::optional<v1::JobRegistered> registration = {};
    // Called once, before run() returns at the latest, or at once when it has returned; short. Errors: aborted when the
    // delivery was taken back or the term is over; what the log said; cancelled once stop was requested. [plans]
    std::function<void(Result<Outcome>)> done;
  };
  void submit(Submission submission);

  void run(std::stop_token stop);
  // One round of run() with what there is now; waits for nothing.
  void turn(std::stop_token stop);

 private:
  struct Answer {
    InFlight::Entry entry;
    Result<Applied> applied;
  };
  // Holds what other threads hand to this one; answers of the log may come when the applier is gone.
  struct Inbox {
    Mutex mutex;
    CondVarAny changed;
    std::vector<Submission> plans DROVER_GUARDED_BY(mutex);
    std::vector<Answer> answers DROVER_GUARDED_BY(mutex);
    size_t enough DROVER_GUARDED_BY(mutex) = 1;     // plans to wake the applier for
    bool closed DROVER_GUARDED_BY(mutex) = false;  // run() has returned
  };
  struct Waiting {
    std::function<void(Result<Outcome>)> done;
    Outcome outcome;
  };
  struct Flight {
    std::vector<Waiting> waiting;
    SteadyTime proposed;
    uint64_t term = 0;
    std::shared_ptr<v1::PlansPacked> packed;  // null: it was proposed as it is
    Status failure;  // until it is undone
  };
  struct Work {
    std::vector<Submission> plans;
    std::vector<Answer> answers;
  };

  Work next(std::stop_token stop);
  void gather(MutexLock& lock, const std::stop_token& stop) DROVER_REQUIRES(inbox_->mutex);
  Work take_work(bool has_room, const std::stop_token& stop) DROVER_REQUIRES(inbox_->mutex);
  void carry_out(Work work, std::stop_token stop);
  bool has_room() const { return flights_.size() < kMostEntries; }
  std::vector<Submission> take_plans() DROVER_REQUIRES(inbox_->mutex);
  void apply(std::vector<Submission> plans, std::stop_token stop);
  std::optional<CheckedPlan> check(Submission& submission, InFlight::Entry entry, uint64_t term, uint64_t& index,
                                   std::stop_token stop);
  void propose(v1::PlanApplied command, InFlight::Entry entry, uint64_t term, bool may_pack);
  void propose(std::string_view command, std::string payload, InFlight::Entry entry, uint64_t term);
  packing::Lookup lookup_in(const ReadView& view) const;
  bool propose_plainly(Flight& flight, InFlight::Entry entry);
  void take(Answer answer);
  void finish_undone(std::stop_token stop);
  void note_refused(const CheckedPlan& checked);
  void close(const std::string& node_id);

  Host& host_;
  SharedColumns& columns_;
  EvalQueue& evals_;
  Rejections rejections_;
  const FindClaims find_claims_;               // [plans], as the following
  std::map<InFlight::Entry, Flight> flights_;  // by entry
  size_t failed_ = 0;                          // of them that wait to be undone
  SteadyTime packs_again_{};                   // entries are not packed before
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
};

}  // namespace drover::scheduler

// Puts the reports of many nodes into the log together, and tells each node's call what became of its own part.
// Nobody waits: the log answers the calls. [any], but for start().
#pragma once

#include "drover/mutex.h"
#include "drover/plugin.h"
#include "drover/proposer.h"
#include "reporting/report_queue.h"

namespace drover::v1 {
enum NodeStatus : int;
}  // namespace drover::v1

namespace drover::scheduler {

// Why a node's report was not taken. `status`: the node's; unspecified when there is no such node.
Status refused_report(const std::string& node_id, v1::NodeStatus status);

class ReportMerger final : public Proposer {
 public:
  // Before the first call.
  void start(Host& host) { host_ = &host; }
  // Puts into the log what is gathered; what comes later goes there at once.
  void stop();

  // Beside the errors of the log: those of refused_report, when the node went down meanwhile or is gone.
  void propose(std::string payload, SteadyTime deadline, uint64_t only_in_term,
               std::function<void(Result<Applied>)> done) override;

 private:
  void write(ReportEntry entry);
  void write_gathered();

  Host* host_ = nullptr;
  Mutex mutex_;
  ReportQueue queue_ DROVER_GUARDED_BY(mutex_);
  bool is_awaited_ DROVER_GUARDED_BY(mutex_) = false;  // write_gathered will run
  bool is_stopped_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace drover::scheduler

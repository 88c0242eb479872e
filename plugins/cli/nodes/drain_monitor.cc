#include <map>
#include <optional>

#include "drover/api/allocations.pb.h"
#include "drover/api/nodes.pb.h"
#include "drover/model/allocation.h"
#include "drover/model/job.h"
#include "node_drain.h"
#include "output.h"

namespace drover::cli {
namespace {

class DrainMonitor {
 public:
  DrainMonitor(Run& run, const std::string& node_id, bool ignore_system)
      : run_(run), id_(id_text(node_id)), ignore_system_(ignore_system) {
    node_request_.set_node_id(node_id);
    allocs_request_.set_node_id(id_);
  }

  int follow() {
    say("Ctrl-C to stop monitoring: will not cancel the node drain");
    uint64_t seen = 0;
    while (true) {
      // Waits at the server for a change of an allocation; the drain itself ends with the last of them.
      auto allocs =
          run_.client.call<v1::Allocations::OfNode>(allocs_request_, {{"index", std::to_string(seen)}, {"wait", "1s"}});
      if (!allocs) return run_.fail("Error monitoring drain", allocs.status());
      int left = 0;
      for (const v1::AllocationWithJob& each : allocs->message.allocations()) {
        show(each.allocation());
        seen = std::max(seen, each.allocation().modify_index());
        left += counts(each);
      }
      auto node = run_.client.call<v1::Nodes::Get>(node_request_);
      if (!node) return run_.fail("Error monitoring drain", node.status());
      if (node->message.node().node().drain()) {
        began_ = true;
      } else {
        return finish(node->message.node().node(), left);
      }
    }
  }

 private:
  void say(const std::string& words) { run_.out << full_time(now_ns()) << ": " << words << std::endl; }

  bool counts(const v1::AllocationWithJob& each) const {
    return !client_terminal(each.allocation()) && !(ignore_system_ && runs_everywhere(each.job()));
  }

  void show(const v1::Allocation& alloc) {
    auto& known = known_[alloc.id()];
    const std::string name = "Alloc \"" + id_text(alloc.id()) + "\"";
    const std::string status = word(alloc.client_status());
    const bool migrates = alloc.desired_transition().migrate();
    const bool stops = server_terminal(alloc);
    if (known) {
      if (migrates && !known->migrates) say(name + " marked for migration");
      if (stops && !known->stops) say(name + " draining");
      if (status != known->status) say(name + " status " + known->status + " -> " + status);
    }
    known = Known{status, migrates, stops};
  }

  int finish(const v1::Node& node, int left) {
    if (!began_ && node.last_drain().status() != v1::DRAIN_STATUS_COMPLETE) {
      say("No drain strategy set for node " + id_);
      return 0;
    }
    if (node.last_drain().status() == v1::DRAIN_STATUS_CANCELED) {
      say("Drain of node " + id_ + " was canceled");
      return 0;
    }
    say("Drain complete for node " + id_);
    if (left == 0) say("All allocations on node \"" + id_ + "\" have stopped");
    return 0;
  }

  struct Known {
    std::string status;
    bool migrates, stops;
  };
  Run& run_;
  const std::string id_;
  const bool ignore_system_;
  v1::NodeRequest node_request_;
  v1::OfNodeRequest allocs_request_;
  std::map<std::string, std::optional<Known>> known_;
  bool began_ = false;
};

}  // namespace

int monitor_drain(Run& run, const std::string& node_id, bool ignore_system) {
  leave_on_interrupt();
  return DrainMonitor(run, node_id, ignore_system).follow();
}

}  // namespace drover::cli

// The allocations that one simulated node knows, and the reports it makes of them.
//
//   listed ──fetched──▶ starting ──start_after──▶ running ──run_for, or the servers stop it──▶ ended
//                                                  │  ▲ report_every
//                                                  └──┘
//
// Pure: the caller says what time it is.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drover/clock.h"
#include "settings.h"

namespace drover::v1 {
class Allocation;
class FetchAllocationsResponse;
class SyncNodeServicesRequest;
class WatchAllocationsResponse;
}  // namespace drover::v1

namespace drover::nodesim {

class AllocationBook {
 public:
  explicit AllocationBook(const Course& course) : course_(course) {}

  // The servers' list: forgets what they no longer list. Returns the allocations to fetch.
  std::vector<std::string> listed(const v1::WatchAllocationsResponse& list);
  // False when the answer lacks something of that list: the server is behind the one that gave it.
  bool fetched(const v1::FetchAllocationsResponse& answer, SteadyTime now);

  // When there is something to report; nothing when nothing will be.
  std::optional<SteadyTime> due() const;
  // Takes every step that is due. Returns what to report; `wall_ns` stamps it.
  std::vector<v1::Allocation> take(SteadyTime now, int64_t wall_ns);
  // These reports did not arrive: they are due again.
  void failed(const std::vector<v1::Allocation>& reports, SteadyTime again);
  // Every running allocation is due for a report.
  void report_all(SteadyTime now);

  size_t running() const { return running_; }

  // True when other services are to be said than at the last question.
  bool services_changed() { return std::exchange(services_changed_, false); }
  // Adds the services of what runs.
  void say_services(v1::SyncNodeServicesRequest& out) const;

 private:
  enum class Phase : uint8_t { starting, running, ended };
  struct Entry {
    uint64_t index = 0;  // of the last change by a server that the node has seen
    Phase phase = Phase::starting;
    bool is_deployed = false;           // its health counts
    std::vector<std::string> tasks;     // names
    std::shared_ptr<const v1::SyncNodeServicesRequest> services{};  // null: it has none
    int64_t started = 0, finished = 0;  // nanoseconds since 1970
    std::optional<SteadyTime> step;     // when it goes to the next phase
    std::optional<SteadyTime> report;   // when it is reported as it is
  };
  void go_on(Entry& entry, SteadyTime now, int64_t wall_ns);
  static v1::Allocation report_of(const std::string& id, const Entry& entry);

  const Course& course_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, uint64_t> wanted_;  // of the last list: the index that a fetched one has at least
  size_t running_ = 0;
  bool services_changed_ = false;
};

}  // namespace drover::nodesim

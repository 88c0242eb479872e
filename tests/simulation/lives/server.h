// A server in one thread: the tables, handlers and leader's work of five plugins over a log in memory, with a clock
// that the model owns.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "part.h"
#include "random.h"
#include "rows.h"
#include "sdk/testing/fake_host.h"

namespace drover::lives {

class ModelClock final : public Clock {
 public:
  int64_t wall_ns() const override { return kStart + since_.count(); }
  // Behind the machine's own, so that no wait for a time of this clock lasts.
  SteadyTime steady() const override { return SteadyTime(std::chrono::seconds(1)) + since_; }
  void advance(std::chrono::nanoseconds by) { since_ += by; }
  std::chrono::nanoseconds since() const { return since_; }

 private:
  static constexpr int64_t kStart = 1'700'000'000'000'000'000;
  std::chrono::nanoseconds since_{};
};

class ModelHost final : public testing::FakeHost {
 public:
  Clock& clock() override { return time; }
  // The log keeps its order: what was held before is committed before.
  using FakeHost::propose;
  Result<Applied> propose(std::string_view command, std::string payload, SteadyTime deadline,
                          uint64_t only_in_term) override {
    FakeHost::release(std::numeric_limits<size_t>::max());
    return FakeHost::propose(command, std::move(payload), deadline, only_in_term);
  }
  ModelClock time;
};

class Server {
 public:
  // Leads at once.
  Server();

  ModelHost& host() { return host_; }
  int64_t now() { return host_.clock().wall_ns(); }
  template <typename Response, typename Request>
  Result<Response> call(const std::string& method, const Request& request) {
    return host_.answer<Response>(method, request, {.name_space = "default"});
  }

  // Every part does what is due, `many` evaluations among it; then hears what has changed. Returns true when there may
  // be more to do.
  bool turn(int many);
  // Takes the changes since the last call into `rows`, entry by entry.
  bool next_commit(Rows& rows, Commit& commit);
  // Another server led for a moment, or this one again: it begins with what the log holds. Of the entries that were not
  // committed it keeps the oldest `kept`.
  void change_leader(size_t kept);

 private:
  // A subscription that is asked only when there is something.
  struct Feed {
    std::unique_ptr<ChangeSubscription> changes;
    uint64_t seen = 0;
  };
  void lead();
  std::shared_ptr<const ChangeBatch> next(Feed& feed);

  ModelHost host_;
  std::vector<std::unique_ptr<Part>> parts_;
  Feed feed_, rows_feed_;
};

}  // namespace drover::lives

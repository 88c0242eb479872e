// The machines of a life and what runs on them: each learns its allocations from the server, lets them live for seeded
// times, stops what it is told to stop, and reports. It may fall silent, while what it runs lives on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "random.h"
#include "server.h"

namespace drover::lives {

// How things go at present.
struct Weather {
  int fails_one_in = 6;      // of the allocations, at some time; 0: none
  int unhealthy_one_in = 8;  // of those that a deployment judges; 0: none
};

class Machine {
 public:
  Machine(Server& server, Random& random, const std::string& name, int64_t cpu, bool is_of_kind_a);

  // All that is due: registers, beats, learns, starts, ends, stops and reports. Returns true when something was
  // written.
  bool act(const Weather& weather);
  void silence() { is_silent_ = true; }
  void speak() { is_silent_ = false; }
  bool is_silent() const { return is_silent_; }
  // It starts anew: what it ran has ended, and nobody was told.
  void crash();
  // The machine is taken away for good.
  void remove() { is_removed_ = true; }
  bool is_removed() const { return is_removed_; }
  const std::string& id() const { return node_.id(); }
  const std::string& name() const { return node_.name(); }

 private:
  // One allocation here.
  struct Run {
    v1::ClientStatus status = v1::CLIENT_STATUS_PENDING;
    int64_t starts_at = 0, ends_at = 0, judged_at = 0, stops_at = 0;  // 0: not
    v1::ClientStatus end = v1::CLIENT_STATUS_COMPLETE;                // at ends_at
    bool becomes_healthy = true;
    std::string deployment;  // that judges it
    std::optional<bool> healthy;
    int64_t started_at = 0, finished_at = 0;
    bool is_news = true;  // the server has not heard it
  };

  bool beat();
  void learn(const Weather& weather);
  void begin(const v1::Allocation& alloc, const Weather& weather);
  void judge(const v1::Allocation& alloc, Run& run, const Weather& weather);
  void live();
  bool report();

  Server& server_;
  Random& random_;
  v1::Node node_;
  bool is_registered_ = false, is_silent_ = false, is_removed_ = false, was_silent_ = false;
  int64_t next_beat_ = 0;
  uint64_t learned_ = 0;  // index of the newest change that it has seen
  std::map<std::string, Run> runs_;
  std::map<std::string, uint64_t> seen_;
};

}  // namespace drover::lives

// How many workers a server has while it leads, and for jobs of which types: as its configuration says, or as an
// operator said since, until the server ends. [any]
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/clock.h"
#include "drover/mutex.h"
#include "drover/uuid.h"

namespace drover::scheduler {

// The types of jobs that this server schedules while it leads; none named: all. [any]
using TypesNow = std::function<std::set<std::string>()>;

class Workers {
 public:
  struct Settings {
    int count = 1;
    std::set<std::string> types = {};  // of jobs that are scheduled; empty: all
  };
  struct Member {
    Uuid id;
    int64_t started_ns = 0;
    std::set<std::string> types;
    bool is_busy = false;
  };
  // One worker's life: until `stop`. It says when it begins with an evaluation, and when it is done with it.
  using Life = std::function<void(const std::set<std::string>& types, const std::function<void(bool)>& is_busy,
                                  std::stop_token stop)>;

  Workers() = default;
  explicit Workers(Settings settings) : settings_(std::move(settings)) {}

  Settings settings() const;
  void change(Settings settings);
  // Those that are there now; none while this server does not lead.
  std::vector<Member> members() const;

  // Has as many live as the settings say until `stop`, on threads of their own. A change ends them, each with what it
  // works on, and others take their place.
  void run(Clock& clock, const Life& life, std::stop_token stop);

 private:
  void note(size_t worker, bool is_busy);

  mutable Mutex mutex_;
  CondVarAny changed_;
  Settings settings_ DROVER_GUARDED_BY(mutex_);
  uint64_t changes_ DROVER_GUARDED_BY(mutex_) = 0;
  std::vector<Member> members_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::scheduler

// Goes on, while this server leads, with the steps of volumes of which nobody knows what came, and forgets the claims
// of jobs that are gone.
#pragma once

#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/mutex.h"
#include "drover/plugin.h"
#include "server/steps.h"
#include "server/tables.h"

namespace drover::host_volumes {

class Keeper {
 public:
  Keeper(const Tables& tables, Steps& steps) : tables_(tables), steps_(steps) {}
  void start(Host& host) { host_ = &host; }
  // Until a stop is requested. [the leading thread]
  void run(const std::stop_token& stop);
  // One look at all volumes and claims. [the same]
  void sweep(uint64_t term, const std::stop_token& stop);

 private:
  struct Attempts {
    uint64_t step_index = 0;
    int count = 0;
    SteadyTime next{};
  };
  bool is_due(const v1::DynamicHostVolume& row);
  void go_on(const v1::DynamicHostVolume& row, uint64_t term, const std::stop_token& stop);
  void find_open(const ReadView& view);
  void forget_claims(const ReadView& view, uint64_t term);

  const Tables& tables_;
  Steps& steps_;
  Host* host_ = nullptr;
  std::map<std::string, Attempts> attempts_;  // by volume
  std::vector<std::string> open_;             // keys of rows at a step that is not done
  // The indexes of the tables at the last look: what has not changed since is not read again.
  uint64_t volumes_seen_ = 0, claims_seen_ = 0;
};

}  // namespace drover::host_volumes

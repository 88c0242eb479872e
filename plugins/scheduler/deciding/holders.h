// Which allocations keep their places, and who holds a name of a group where several had it. Pure; one owner.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "disconnects.h"

namespace drover::scheduler {

bool ran_successfully(const v1::Allocation& alloc);

enum class Stays { yes, no, failed };
// Whether an allocation on a node that is well keeps its place, before anybody asks whether it is tried again.
Stays stays(const v1::Allocation& alloc, bool is_batch);

// The holder of a name has not failed, else it is the newest. Canaries that are judged stand beside those that they may
// replace; once promoted they may be older than the last one of the former version. Requires: what is added outlives
// it.
class Holders {
 public:
  // Requires: `is_judged_canary` can be called as long as this lives.
  Holders(bool is_batch, uint64_t job_create_index, std::function<bool(const v1::Allocation&)> is_judged_canary)
      : is_batch_(is_batch), job_create_index_(job_create_index), is_judged_canary_(std::move(is_judged_canary)) {}

  void add(const Allocs& allocs);
  // True when it failed, and another has its place by now; or it is of an earlier job with that name.
  bool is_history(const v1::Allocation& alloc) const;

 private:
  using Name = std::pair<std::string_view, bool>;
  Name name_of(const v1::Allocation& alloc) const { return {alloc.name(), is_judged_canary_(alloc)}; }
  bool is_of_job(const v1::Allocation& alloc) const { return alloc.job_create_index() == job_create_index_; }

  const bool is_batch_;
  const uint64_t job_create_index_;
  const std::function<bool(const v1::Allocation&)> is_judged_canary_;
  std::map<Name, std::tuple<bool, uint64_t, std::string_view>> holders_;  // well, created, identifier
};

}  // namespace drover::scheduler

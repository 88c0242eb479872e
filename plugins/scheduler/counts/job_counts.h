// Keeps the numbers of a job (JobCounts) as its allocations and evaluations come, change and go. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace drover::v1 {
class Allocation;
class Evaluation;
class JobCounts;
enum ClientStatus : int;
enum EvalStatus : int;
}  // namespace drover::v1

namespace drover::scheduler {

// The share of an allocation, or of an evaluation, in its job's numbers.
class CountedAlloc {
 public:
  CountedAlloc() = default;  // none
  explicit CountedAlloc(const v1::Allocation& alloc);
  void add_to(v1::JobCounts& counts, int32_t sign) const;

 private:
  bool exists_ = false;
  bool is_live_ = false;
  uint64_t job_create_index_ = 0;
  std::string group_;
  v1::ClientStatus status_{};
};

class CountedEval {
 public:
  CountedEval() = default;  // none
  explicit CountedEval(const v1::Evaluation& eval);
  void add_to(v1::JobCounts& counts, int32_t sign) const;

 private:
  std::string id_;
  v1::EvalStatus status_{};
};

// Takes over how much an evaluation that has looked left unplaced. An older one's word does not replace a newer one's.
void take_queued(v1::JobCounts& counts, const v1::Evaluation& eval);

}  // namespace drover::scheduler

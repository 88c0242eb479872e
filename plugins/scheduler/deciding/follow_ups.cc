#include "follow_ups.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace drover::scheduler {
namespace {

// Allocations due within this of each other share one evaluation.
constexpr int64_t kWindow = 5'000'000'000;

}  // namespace

void FollowUps::add(const std::vector<Later>& later, const char* trigger, const char* why) {
  for (const Later& one : later) {
    if (one.due != Later::kNever) all_.push_back({one, trigger, why});
  }
}

bool FollowUps::write(const AllocIndex& allocs) {
  std::ranges::sort(all_, {}, [](const One& one) {
    return std::tuple(std::string_view(one.trigger), one.later.due, std::string_view(one.later.alloc_id));
  });
  const One* first = nullptr;  // of those that share the present evaluation
  std::string eval_id;
  for (const One& one : all_) {
    if (!first || std::string_view(first->trigger) != one.trigger || one.later.due - first->later.due >= kWindow) {
      first = &one;
      eval_id = changes_.evaluate_at(one.later.due, one.trigger, one.why).id();
    }
    changes_.change(*allocs.at(one.later.alloc_id)).set_followup_eval_id(eval_id);
  }
  return !all_.empty();
}

}  // namespace drover::scheduler

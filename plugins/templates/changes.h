// What follows when templates of a task have come out otherwise, and when. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "drover/clock.h"

namespace drover::v1 {
class ChangeScript;
class Template;
}  // namespace drover::v1

namespace drover::templates {

struct Actions {
  bool restart = false;                           // then nothing else is done
  std::set<std::string> signals;                  // each once
  std::vector<const v1::ChangeScript*> scripts;   // of the templates, which outlive this
  std::chrono::nanoseconds splay{};               // the longest of the templates that act
  bool empty() const { return !restart && signals.empty() && scripts.empty(); }
};
Actions actions_for(std::span<const v1::Template* const> changed);

// How long what a template reads must stay as it is before the template is written again: at least `min` without a
// further change, at most `max` from the first.
struct Wait {
  std::chrono::nanoseconds min{}, max{};
};

// The changes of one task's files that were seen and not yet acted on.
class Quiescence {
 public:
  void changed(SteadyTime now) {
    last_ = now;
    if (!first_) first_ = now;
  }
  // When to act; nothing while nothing has changed.
  std::optional<SteadyTime> due(const Wait& wait) const;
  void acted() { first_.reset(); }

 private:
  std::optional<SteadyTime> first_;
  SteadyTime last_{};
};

}  // namespace drover::templates

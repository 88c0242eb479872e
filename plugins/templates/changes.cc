#include "changes.h"

#include <algorithm>

#include "drover/v1/task.pb.h"

namespace drover::templates {

Actions actions_for(std::span<const v1::Template* const> changed) {
  Actions actions;
  for (const v1::Template* each : changed) {
    const std::string& mode = each->change_mode();
    if (mode == "noop") continue;
    actions.splay = std::max<std::chrono::nanoseconds>(actions.splay, std::chrono::nanoseconds(each->splay()));
    if (mode == "signal") {
      actions.signals.insert(each->change_signal());
    } else if (mode == "script") {
      actions.scripts.push_back(&each->change_script());
    } else {
      actions.restart = true;
    }
  }
  return actions;
}

std::optional<SteadyTime> Quiescence::due(const Wait& wait) const {
  if (!first_) return std::nullopt;
  return std::min(last_ + wait.min, *first_ + std::max(wait.min, wait.max));
}

}  // namespace drover::templates

// All parts of one task's isolation, in the order in which they were set up.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "drover/isolation.h"

namespace drover {

using IsolationParts = std::vector<std::unique_ptr<IsolationPart>>;

// The part of the launcher's orders that locks the process in.
inline Confinement& confinement_of(Launcher::Start& start) {
  if (!start.confinement) start.confinement.emplace();
  return *start.confinement;
}

// Constant once made. [any]
class IsolationSet {
 public:
  using States = std::map<std::string, std::string>;  // by the part's name; empty: the task has nothing of it

  // All parts or, with an error, none.
  static Result<IsolationSet> set_up(const IsolationParts& parts, const driver::TaskConfig& task,
                                     const IsolationNeeds& needs);
  static Result<IsolationSet> recover(const IsolationParts& parts, const driver::TaskConfig& task,
                                      const States& states);

  void apply(Launcher::Start& start) const;
  const Cgroup* cgroup() const;  // null: no part holds the task's processes
  Status tear_down() const;      // all of them; the first error
  States states() const;

 private:
  Status add(std::string_view name, Result<std::unique_ptr<TaskIsolation>> made);

  std::vector<std::pair<std::string, std::unique_ptr<TaskIsolation>>> made_;  // null: nothing for this task
};

}  // namespace drover

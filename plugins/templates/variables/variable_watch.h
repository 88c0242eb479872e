// Variables that templates of this node read: each is watched once, however many templates read it with the same right.
//
//   used ──▶ asked of the servers ──answer──▶ known ──blocking read──▶ known, changed …      nobody uses it: gone
//
// The servers are asked with the node's proof, on behalf of an allocation that uses the variable.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

#include "drover/mutex.h"
#include "drover/node_calls.h"
#include "drover/plugin.h"

namespace drover::templates {

struct VariableQuery {
  std::string name_space;  // empty: the allocation's
  std::string path;        // of a list: the prefix
  bool is_list = false;
  auto operator<=>(const VariableQuery&) const = default;
};

// Who reads: a task, in the words by which the servers decide what it may.
struct VariableReader {
  Uuid allocation;
  std::string name_space, job, group, task;
};

struct VariableSeen {
  uint64_t change = 0;    // grows when what follows changes; 0: no server has answered yet
  bool is_found = false;  // of a list: it is not empty
  std::shared_ptr<const nlohmann::json> value;     // the items, or the list of variables
  std::shared_ptr<const nlohmann::json> metadata;  // of one variable
  Status error;
};

class VariableWatch;

// A template's hold on a watched variable. [any]
class VariableUse {
 public:
  VariableUse(std::shared_ptr<VariableWatch> watch, Uuid allocation);
  ~VariableUse();
  VariableUse(const VariableUse&) = delete;
  VariableSeen seen() const;
  // Waits for the first answer, at most so long.
  VariableSeen wait(std::chrono::nanoseconds patience) const;

 private:
  const std::shared_ptr<VariableWatch> watch_;
  const Uuid allocation_;
};

// [any]
class VariableWatches {
 public:
  // The host outlives the watches.
  void start(Host& host) { host_ = &host; }
  // Nothing is asked any more.
  void stop() { stop_.request_stop(); }
  // Begins to watch it where nobody does.
  std::shared_ptr<VariableUse> use(const VariableReader& reader, const VariableQuery& query);

 private:
  Host* host_ = nullptr;
  std::stop_source stop_;
  Mutex mutex_;
  std::map<std::string, std::weak_ptr<VariableWatch>> watches_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::templates

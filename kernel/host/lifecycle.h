// One life for all plugins: declare → start → lead ⇄ → stop, in the order of their requirements and back.
//
// Every step has a deadline; late plugins are named. A plugin that fails to declare or start ends the agent's start.
// [main], leadership from [raft].
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "drover/clock.h"
#include "drover/mutex.h"
#include "drover/plugin.h"
#include "drover/result.h"

namespace drover::host {

enum class Stage : uint8_t { loaded, declared, started, leading, stopped };
std::string_view to_string(Stage stage);

class Lifecycle {
 public:
  struct Member {
    std::string name;
    std::unique_ptr<Plugin> plugin;
  };
  Lifecycle(std::vector<Member> members, Clock& clock);
  ~Lifecycle();  // stops

  Status declare(const std::function<Status(const std::string& name, Plugin& plugin)>& each);
  // The hosts outlive the lifecycle.
  Status start(const std::function<Host&(const std::string& name)>& host_of);
  // This server leads from now until the token is stopped.
  void lead(std::stop_token until);
  // The agent goes on purpose; everything still runs. Calls the plugins in reverse order of start: those that were
  // started later count on the others. Each has its own time.
  void leave();
  // Stops in reverse order. Returns the names of those that missed the deadline; they are left alone, never destroyed.
  std::vector<std::string> stop(std::chrono::nanoseconds time);

  struct State {
    std::string name;
    Stage stage;
  };
  std::vector<State> states() const;  // [any]
  // True when its handlers may be called, also for a name that is no member: it has nothing to start. [any]
  bool has_started(std::string_view name) const;

 private:
  struct Entry;
  void set_stage(Entry& entry, Stage stage);

  Clock& clock_;
  mutable Mutex mutex_;  // over the entries' stages, too
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<std::thread> leaders_ DROVER_GUARDED_BY(mutex_);
  bool stopped_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace drover::host

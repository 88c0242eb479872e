// Which tasks use which image, and the end of those that nobody uses any more.
//
//   used ──last task gone──▶ unused ──image_delay──▶ removed from the engine
//     ▲────── a new use ────────┘
//
// A file has the images that were used, so that those of tasks that ended before a restart, or with it, go as well:
// after it all of them are unused until a task that is found again uses them. [any]
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "drover/mutex.h"
#include "engine/engine.h"

namespace drover::docker {

// The decision alone. Pure.
class ImageUses {
 public:
  void use(const std::string& image, const std::string& task);
  // The image is unused from `now` on when it was the last one.
  void release(const std::string& image, const std::string& task, SteadyTime now);
  // Takes out those that are unused since `before`.
  std::vector<std::string> unused_since(SteadyTime before);
  std::vector<std::string> all() const;
  // When the next one of these is due, if there is one: the time since which it is unused.
  std::optional<SteadyTime> oldest_unused() const;

 private:
  std::map<std::string, std::set<std::string>> tasks_;
  std::map<std::string, SteadyTime> unused_;
};

class ImageKeeper {
 public:
  // `delay`: nothing, images stay for ever. `file`: empty, nothing is kept over a restart.
  ImageKeeper(Engine& engine, std::optional<std::chrono::nanoseconds> delay, std::string file);
  ~ImageKeeper() { stop(); }

  void use(const std::string& image, const std::string& task);
  void release(const std::string& image, const std::string& task);
  void stop();

 private:
  void run(const std::stop_token& stop);
  void load();
  void save(const std::vector<std::string>& images) const;
  void remove(const std::string& image, const std::stop_token& stop);

  Engine& engine_;
  const std::optional<std::chrono::nanoseconds> delay_;
  const std::string file_;
  Mutex mutex_;
  CondVarAny changed_;
  ImageUses uses_ DROVER_GUARDED_BY(mutex_);
  std::vector<std::string> saved_ DROVER_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace drover::docker

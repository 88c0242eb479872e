// The memory of the plugin, on disk: DIR/state.json, replaced as a whole. Instances that share the folder take turns
// by a lock on DIR/lock, so that a controller here and nodes elsewhere know the same.
#pragma once

#include <functional>
#include <string>

#include "drover/fd.h"
#include "drover/mutex.h"
#include "drover/result.h"

namespace drover::hostpath {

class State;

class Store {
 public:
  explicit Store(std::string folder) : folder_(std::move(folder)) {}
  // Makes the folder where there is none. Before anything else. Errors: with the path.
  Status open();

  // Changes the state as a whole, or, when `change` fails, not at all. What it wrote is on disk when this returns.
  // Errors also: data_loss when the file cannot be read. [any]
  Status change(const std::function<Status(State&)>& change);
  Status read(const std::function<Status(const State&)>& look);  // [any]

 private:
  Result<std::string> text() const;
  Status load(State& state) const;
  Status save(const State& state) const;

  const std::string folder_;
  Fd handle_, lock_file_;
  Mutex mutex_;  // among threads; the file's lock is among processes
};

}  // namespace drover::hostpath

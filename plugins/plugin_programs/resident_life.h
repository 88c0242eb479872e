// A plugin inside the agent, over the stable ABI: it is made ready once and answers until the agent stops. A plugin
// that does not become ready stays away until then.
#pragma once

#include <functional>

#include "drover/mutex.h"
#include "drover/stable_plugin.h"
#include "plugin_life.h"
#include "resident_host.h"

namespace drover::plugin_programs {

class ResidentLife final : public PluginLife {
 public:
  struct Options {
    std::string name;
    StablePlugin::Entry* entry;
    std::shared_ptr<Grants> grants;
    Caller* caller = nullptr;
    std::function<Status(std::shared_ptr<Channel>)> prepare;
    std::function<void()> lost;
  };
  explicit ResidentLife(Options options);
  ~ResidentLife() override { stop(); }

  void start() override;
  void stop() override;
  Status restart() override;
  Result<std::shared_ptr<Channel>> channel(const std::shared_ptr<Channel>& former, SteadyTime deadline,
                                           const std::stop_token& stop) const override;
  bool wait_gone(const std::shared_ptr<Channel>& channel, SteadyTime deadline) const override;
  bool wait_first(SteadyTime) const override { return true; }
  View view() const override;

 private:
  Status open();

  const Options options_;
  const ResidentHost calls_;
  const drover_endpoint host_;
  mutable Mutex mutex_;                                                       // a leaf
  std::shared_ptr<class ResidentChannel> channel_ DROVER_GUARDED_BY(mutex_);  // null before start and after stop
  Supervision::State state_ DROVER_GUARDED_BY(mutex_) = Supervision::State::starting;
  std::string problem_ DROVER_GUARDED_BY(mutex_);
  int64_t since_ DROVER_GUARDED_BY(mutex_) = 0;
};

}  // namespace drover::plugin_programs

// The devices of this node: asks the device plugins what there is, tells who must know, has instances reserved for
// tasks.
//
//   plugins ──fingerprint──▶ inventory ──changed──▶ registration ──▶ servers
//   task starts ──reserve──▶ nobody here holds them any more ──▶ the plugins whose instances it was given
//   task ends ──release──▶
//
// The servers give an instance to the next allocation as soon as the former one is told to stop; here it is waited for
// until the former task is gone.
//
// Owned by the plugin. Thread "devices"; everything public may be called from any thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "drover/device_plugin.h"
#include "drover/mutex.h"
#include "drover/plugin.h"
#include "drover/plugin_source.h"
#include "drover/v1/allocation.pb.h"
#include "node_devices/device_groups.h"

namespace drover::agent {

class Devices {
 public:
  explicit Devices(Host& host) : host_(host) {}
  ~Devices() { stop(); }

  // `changed`: the inventory is another one; must not block.
  void start(std::function<void()> changed);
  void stop();  // idempotent

  // Waits until every plugin that is there has spoken, the deadline is over, or stop is requested.
  void wait_first(SteadyTime deadline, const std::stop_token& stop) const;
  // The node's resources, with `devices` only.
  v1::NodeResources resources() const;

  // Returns what a task needs to use the instances that it was given; they are its own until release(). Waits a
  // moment for a task that is ending with one of them, and for a plugin on its way back. Errors: unavailable when one
  // is held or nobody has them at the moment; cancelled; else what the plugin says, or what is wrong with its answer.
  Result<device::ContainerReservation> reserve(const std::string& holder, const v1::AllocatedTaskResources& given,
                                               const std::stop_token& stop = {});
  // A task of a former agent goes on with them.
  void hold(const std::string& holder, const v1::AllocatedTaskResources& given);
  void release(const std::string& holder);  // idempotent

  // The plugins' present counts. A plugin that does not answer is left out.
  std::vector<v1::DeviceGroupStats> stats() const;

 private:
  struct Asked {
    std::string name;
    DevicePlugin* plugin;
    SteadyTime due{};       // of those in this process; the others say themselves when something is new
    bool is_here = false;   // in this process
    bool has_said = false;  // anything at all
    device::FingerprintResponse said{};
    std::string problem{};  // logged last
  };

  void run(const std::stop_token& stop);
  void find_plugins();
  void ask(Asked& asked);
  void publish();
  Status take(const std::string& holder, const v1::AllocatedTaskResources& given, const std::stop_token& stop);
  Result<device::ContainerReservation> ask_owners(const v1::AllocatedTaskResources& given, const std::stop_token& stop);
  DevicePlugin* owner_of(const std::string& group) const DROVER_REQUIRES(mutex_);

  Host& host_;
  std::function<void()> changed_callback_;
  ThreadChecker own_thread_{"devices"};
  std::vector<Asked> plugins_;         // the thread's own
  std::vector<std::string> problems_;  // the thread's own; logged last
  mutable Mutex mutex_;
  mutable CondVarAny changed_;
  DeviceInventory inventory_ DROVER_GUARDED_BY(mutex_);
  std::vector<NamedPlugin<DevicePlugin>> owners_ DROVER_GUARDED_BY(mutex_);  // by their place in the inventory
  // By group and instance.
  std::map<std::pair<std::string, std::string>, std::string> holders_ DROVER_GUARDED_BY(mutex_);
  bool have_all_said_ DROVER_GUARDED_BY(mutex_) = false;
  bool is_woken_ DROVER_GUARDED_BY(mutex_) = false;
  bool is_stopping_ DROVER_GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace drover::agent

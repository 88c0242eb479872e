// Plugins without fault, in memory, for tests of the conformance kit, and what the kit tries them with. A driver's
// tasks live in a world that outlasts every instance, as processes outlast a plugin.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "drover/auth_method.h"
#include "drover/check_provider.h"
#include "drover/conformance.h"
#include "drover/device_plugin.h"
#include "drover/service_provider.h"
#include "drover/task_driver.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::faulty {

struct WorldTask {
  driver::TaskConfig config;
  std::string kind;
  int64_t started_at = 0;  // nanoseconds since 1970
  SteadyTime ends_at = SteadyTime::max();
  std::optional<driver::ExitResult> result;  // guarded by the world's mutex
  int64_t ended_at = 0;                      // guarded by the world's mutex
  std::jthread writer;                       // of "talking"
};

// A call that is being answered.
struct OpenCall {
  std::string task_id;
  std::stop_source end;
};

// The world outside of every instance. Methods are called by their last word. [any]
struct World {
  std::mutex mutex;
  std::condition_variable_any changed;
  // All that follows is guarded by mutex.
  std::map<std::string, std::shared_ptr<WorldTask>> tasks;
  int instances = 0;  // made so far
  std::multimap<std::string, OpenCall> in_flight;
  std::set<std::string> crashed_in;      // methods that an end broke off
  std::map<std::string, size_t> counts;  // for faults that remember

  // Ends a task from outside. Requires: the mutex is held.
  void end(WorldTask& task, int exit_code, int signal);
};
using WorldPtr = std::shared_ptr<World>;

// `is_whole`: with commands and networks.
std::unique_ptr<TaskDriver> reference_driver(const WorldPtr& world, bool is_whole);
// Three files of every machine, in two groups.
std::unique_ptr<DevicePlugin> reference_device();
// Its one type, "told", comes out as the option `result` says.
std::unique_ptr<CheckProvider> reference_checks();
// Publishes into the option `folder` of its configuration: a file a node, a line an instance.
std::unique_ptr<ServiceProvider> reference_services();
// Knows the users of its Config, {"Users": {"ada": "password"}}, by "ada:password"; a visit of its URL gives a code.
std::unique_ptr<AuthMethod> reference_auth();

// `folder` is there, for what is published.
conformance::Setup reference_setup(const PluginKind& kind, const std::string& folder);

}  // namespace drover::faulty

// What the parts of the agent share while it runs. Owned by the plugin; constant after start, or synchronises itself.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent_store.h"
#include "client_config.h"
#include "devices.h"
#include "drover/plugin.h"
#include "drover/task_driver.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "environment.h"
#include "log_collector.h"

namespace drover::agent {

struct Client {
  Host& host;
  AgentStore& store;
  LogCollector& logs;
  Devices& devices;
  ClientConfig config;
  Variables host_environment;
  NodeIdentity identity;
  // This node as it was last described to the servers. [any]
  std::function<std::shared_ptr<const v1::Node>()> node;
  // An allocation's client status or task states have changed. [any]
  std::function<void(Uuid allocation, bool urgent)> changed;
  // A task runs on this driver, whose events shall be followed. May be empty. [any]
  std::function<void(const std::string& name, TaskDriver& driver)> follow_events{};

  SteadyTime now() const { return host.clock().steady(); }
  int64_t wall_ns() const { return host.clock().wall_ns(); }
};

// An allocation with its job, as the servers described them last.
struct AllocSpec {
  v1::Allocation allocation;
  v1::Job job;

  const v1::TaskGroup* group() const {
    for (const v1::TaskGroup& group : job.task_groups()) {
      if (group.name() == allocation.task_group()) return &group;
    }
    return nullptr;
  }
};

}  // namespace drover::agent

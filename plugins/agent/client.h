// Shared by the parts of the agent while it runs. Owned by the plugin; constant after start, or synchronises itself.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "agent_store.h"
#include "client_config.h"
#include "drover/plugin.h"
#include "drover/task_driver.h"
#include "drover/task_environment.h"
#include "drover/thread_pool.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "hooks/hook_table.h"
#include "logs/log_collector.h"
#include "node_devices/devices.h"
#include "node_meta/node_meta.h"
#include "node_proof/node_proof.h"

namespace drover::agent {

class AllocRunner;

struct Client {
  Host& host;
  AgentStore& store;
  LogCollector& logs;
  Devices& devices;
  NodeMeta& meta;
  NodeProof& proof;
  ThreadPool& pool;  // for strands
  HookTable hooks{};
  ClientConfig config;
  Variables host_environment;
  NodeIdentity identity;
  // This node as it was last described to the servers. [any]
  std::function<std::shared_ptr<const v1::Node>()> node;
  // The servers do not believe this node's proof; may be empty. [any]
  std::function<void()> doubted{};
  // An allocation's client status or task states have changed. [any]
  std::function<void(Uuid allocation, bool urgent)> changed;
  // An allocation of this node; null: it is not here. [any]
  std::function<std::shared_ptr<AllocRunner>(const Uuid& id)> find_alloc;
  // Makes room for an allocation that is about to start. May be empty. [any]
  std::function<void(int64_t disk_mb, std::stop_token stop)> make_room{};
  // A task runs on this driver, whose events shall be followed. May be empty. [any]
  std::function<void(const std::string& name, TaskDriver& driver)> follow_events{};

  SteadyTime now() const { return host.clock().steady(); }
  int64_t wall_ns() const { return host.clock().wall_ns(); }
};

}  // namespace drover::agent

// The kernel as one plugin sees it, and what all of them share.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drover/agent_config.h"
#include "drover/config.h"
#include "drover/metrics.h"
#include "drover/plugin.h"
#include "drover/thread_pool.h"
#include "kernel/host/command_table.h"
#include "kernel/raft/raft.h"
#include "kernel/rpc/method_table.h"
#include "kernel/state/store.h"

namespace drover::host {

// Named implementations of extension points. Filled while plugins are declared, constant afterwards.
class ExtensionTable {
 public:
  Status add(std::string_view plugin, std::string point, std::string name, void* implementation);
  void* find(std::string_view point, std::string_view name) const;
  std::vector<std::string> names(std::string_view point) const;
  template <typename T>
  std::vector<T*> all() const {
    std::vector<T*> found;
    for (const std::string& name : names(T::kExtensionPoint))
      found.push_back(static_cast<T*>(find(T::kExtensionPoint, name)));
    return found;
  }

 private:
  struct Extension {
    std::string plugin;
    void* implementation;
  };
  std::map<std::pair<std::string, std::string>, Extension, std::less<>> extensions_;
};

// The tables that collect the plugins' declarations.
struct LaterTable {
  std::string name;
  std::optional<TableId>* id;
};
struct Registry {
  state::Store& store;
  CommandTable& commands;
  rpc::MethodTable& methods;
  ExtensionTable& extensions;
  DeclaredBlocks& configuration;
  std::vector<LaterTable>* later = nullptr;  // to be filled in when all have declared
};
std::unique_ptr<Declarations> make_declarations(const std::string& plugin, const Registry& registry);

// Everything a PluginHost reaches. Members are set before the first plugin starts and outlive all of them.
struct Shared {
  AgentInfo info;
  ConfigBlock configuration;
  std::string configuration_json;
  Clock* clock = nullptr;
  Metrics* metrics = nullptr;
  Caller* caller = nullptr;
  raft::Consensus* consensus = nullptr;                            // null on a pure client
  std::function<std::string(std::string_view command)> who_lacks;  // a server that could not apply it; empty: none
  state::Store* store = nullptr;
  ThreadPool* pool = nullptr;
  const ExtensionTable* extensions = nullptr;
  const rpc::MethodTable* methods = nullptr;
  std::function<RaftInfo()> raft_info;
  RaftControl* raft_control = nullptr;  // null on a pure client
  std::function<void(Uuid node, std::string secret)> identify_node;
  std::function<std::optional<Uuid>()> local_node;
};

// Puts a command of that plugin into the log. Errors: as Host::propose; failed_precondition when some server could not
// apply it.
void propose(Shared& shared, std::string_view plugin, std::string_view command, std::string payload,
             SteadyTime deadline, uint64_t only_in_term, std::function<void(Result<Applied>)> done);

// Options: the plugin's own name selects its `plugin "name" { config {} }` block.
std::unique_ptr<Host> make_plugin_host(const std::string& plugin, Shared& shared,
                                       std::unique_ptr<LocalStore> local_store);

}  // namespace drover::host

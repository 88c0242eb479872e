// A plugin of the exact tier: what it declares, and the life the kernel gives it.
//
//   declared ──start──▶ started ──lead──▶ leading ──stop token──▶ started ──stop──▶ stopped
//
//   declare   tables, commands, methods, extension points, configuration; nothing runs yet. [main]
//   start     state has been restored; handlers may be called as soon as it returns. [main]
//   lead      this server has become leader; called on a thread of its own, returns soon after `stop` was requested.
//   leave     this agent goes on purpose (leave_on_interrupt, leave_on_terminate): it still takes part; before stop.
//   stop      orderly; returns when nothing of the plugin runs any more. The log names what misses the deadline.
//
// The exact tier is C++ loaded only into the build it was made for: DROVER_MODULE (drover/module.h) writes the ELF note
// with the tag that is compared before any of its code runs (docs/life.md, "The life of a plugin").
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "drover/clock.h"
#include "drover/methods.h"
#include "drover/raft.h"
#include "drover/result.h"
#include "drover/tables.h"
#include "drover/uuid.h"

namespace drover {

class ConfigBlock;    // drover/config.h
struct ConfigSchema;  // drover/config.h
class Metrics;        // drover/metrics.h

// All that an apply function may look at beside the rows. Deterministic: no clock, no randomness, no I/O. [apply]
class ApplyContext {
 public:
  virtual ~ApplyContext() = default;
  virtual uint64_t index() const = 0;    // of the entry being applied
  virtual WriteTransaction& rows() = 0;  // reads all tables, writes the plugin's own
  // Applies a command of another plugin as part of this one: same index, same transaction, all or nothing.
  virtual Status also(std::string_view command, std::string_view payload) = 0;
};

template <typename Command>
Status also(ApplyContext& context, const Command& command) {
  return context.also(Command::descriptor()->full_name(), serialize(command));
}

// Returns the answer to the proposer (a serialized message, often empty) or the error that left nothing changed.
using ApplyFunction = std::function<Result<std::string>(std::string_view command, ApplyContext& context)>;

namespace detail {
template <typename T>
struct ApplyTraits;
template <typename Owner, typename Cmd>
struct ApplyTraits<Result<std::string> (Owner::*)(Cmd&, ApplyContext&) const> {
  using Command = std::remove_const_t<Cmd>;
};
}  // namespace detail

// Takes the declarations of a plugin. All calls during Plugin::declare; names must be new.
class Declarations {
 public:
  virtual ~Declarations() = default;

  virtual Result<TableId> table(TableSpec spec) = 0;
  // A table of another plugin, for reading. The manifest must require that plugin's capability.
  virtual Result<TableId> other_table(std::string_view name) = 0;
  // The same of a plugin that may come later, or not at all: `id` is filled in when all plugins have declared, before
  // the first entry of the log is applied, and stays empty when nobody declares that table. Apply functions may ask it;
  // what a plugin finds in start it does not have yet while the log is read. Requires: `id` outlives the declarations.
  virtual Status later_table(std::string_view name, std::optional<TableId>& id) {
    if (const auto found = other_table(name)) id = *found;
    return ok_status();
  }
  // A command of the log, by the full name of its message. The name means the same for ever.
  virtual Status command(std::string name, ApplyFunction apply) = 0;
  // Handlers for every method of a service whose .proto this plugin carries.
  virtual Status service(std::string_view full_name, std::vector<MethodBinding> methods) = 0;
  // The options of a block of the agent's configuration ("client"; "plugin" for this plugin's own block).
  virtual Status configuration(std::string block, ConfigSchema schema) = 0;
  // Something others look up by extension point and name: a task driver, a subcommand, a job parser.
  virtual Status extension(std::string point, std::string name, void* implementation) = 0;

  // A typed table, by the function that gives all keys of a message (Table::spec).
  template <typename Message>
  Result<Table<Message>> table(std::string name, std::vector<IndexSpec> indexes, typename Table<Message>::Keys keys) {
    const size_t count = indexes.size();
    DROVER_TRY(const TableId id, table(Table<Message>::spec(std::move(name), std::move(indexes), keys)));
    return Table<Message>(id, count, std::move(keys));
  }
  // A command by its apply function, Result<std::string> added(const Added&, ApplyContext&) const, which may also take
  // a message that it can change:
  //   declare.command<&Commands::added>(commands);
  // `owner` points to what has that function, and outlives the plugin or is held by the pointer.
  template <auto Function, typename Pointer>
  Status command(Pointer owner) {
    using Command = typename detail::ApplyTraits<decltype(Function)>::Command;
    return command(Command::descriptor()->full_name(),
                   [owner = std::move(owner)](std::string_view bytes, ApplyContext& context) -> Result<std::string> {
                     DROVER_TRY(Command parsed, parse_message<Command>(bytes));
                     return ((*owner).*Function)(parsed, context);
                   });
  }
  // declare.extend<TaskDriver>("raw_exec", *driver_): T::kExtensionPoint names the point.
  template <typename T>
  Status extend(std::string name, T& implementation) {
    return extension(std::string(T::kExtensionPoint), std::move(name), static_cast<void*>(&implementation));
  }
};

// The agent this process is. Constant after start.
struct AgentInfo {
  std::string name;
  std::string region;
  std::string datacenter;
  std::string version;
  std::string data_dir;  // absolute
  bool dev_mode = false;
  bool server = false;
  bool client = false;
  std::string bind_address;
  std::string http_address;    // "host:port" to listen on; port 0 takes a free one
  std::string advertise_http;  // "host:port" told to others
  std::string advertise_rpc;
  std::string serf_address;    // "host:port" to listen on for gossip between servers; port 0 takes a free one
  std::string advertise_serf;  // "host:port" told to other servers
  Uuid server_id;
  int64_t started_at = 0;  // nanoseconds since 1970
};

// Commits, in order, from the one after the snapshot it was opened with.
class ChangeSubscription {
 public:
  virtual ~ChangeSubscription() = default;
  struct Resync {};   // fell too far behind: take a new snapshot and subscribe again
  struct Timeout {};  // the deadline passed, or stop was requested
  using Event = std::variant<std::shared_ptr<const ChangeBatch>, Resync, Timeout>;
  virtual Event next(SteadyTime deadline, std::stop_token stop) = 0;
};

// Small private key-value space on this machine's disk: survives restarts, is not replicated. [any]
class LocalStore {
 public:
  virtual ~LocalStore() = default;
  virtual Result<std::optional<std::string>> get(std::string_view key) = 0;
  struct Write {
    std::string key;
    std::optional<std::string> value;  // empty: delete
  };
  // Atomic and durable when it returns.
  virtual Status write(std::span<const Write> writes) = 0;
  virtual Result<std::vector<std::pair<std::string, std::string>>> list(std::string_view prefix) = 0;
};

// The kernel, as one plugin sees it. Lives as long as the plugin. [any]
class Host {
 public:
  virtual ~Host() = default;
  virtual const AgentInfo& agent() const = 0;
  virtual Clock& clock() = 0;
  virtual Caller& caller() = 0;
  virtual Metrics& metrics() = 0;
  virtual LocalStore& local_store() = 0;
  // The checked configuration block of that name ("" for the top level), or null when the operator wrote none.
  virtual const ConfigBlock* configuration(std::string_view block) const = 0;
  // The whole checked configuration as JSON with secrets blanked, for people to look at.
  virtual std::string configuration_json() const = 0;

  // Puts a command into the log; `done` runs once it is applied here, or cannot be. Handlers of kind WRITE return their
  // command instead. A caller that decided on a snapshot names the term in which it was taken, `only_in_term`: in
  // another one the command is refused, so that nothing decided under an earlier leadership slips into a later one.
  // 0: any term. Errors: unavailable when this server is not the leader; aborted when the term is another one (decide
  // again); deadline_exceeded leaves it open whether the command was applied; else what the apply function returned.
  virtual void propose(std::string_view command, std::string payload, SteadyTime deadline, uint64_t only_in_term,
                       std::function<void(Result<Applied>)> done) = 0;
  // The same, waiting. Requires: a thread that may wait, as Caller::call_and_wait.
  virtual Result<Applied> propose(std::string_view command, std::string payload, SteadyTime deadline,
                                  uint64_t only_in_term = 0) = 0;
  // The present term of consensus. A snapshot that is read after it is at least as new as the one that its leader
  // began with.
  virtual uint64_t term() const = 0;

  virtual std::shared_ptr<const ReadView> snapshot() = 0;
  // A snapshot that reflects at least `index`.
  virtual Result<std::shared_ptr<const ReadView>> snapshot_at(uint64_t index, SteadyTime deadline,
                                                              std::stop_token stop) = 0;
  // A snapshot, and the commits that follow it and change one of these tables; none named: all commits. Others cost the
  // follower nothing; its batches hold the changes of other tables in the same commit, too.
  virtual std::pair<std::shared_ptr<const ReadView>, std::unique_ptr<ChangeSubscription>> follow(
      std::vector<TableId> tables) = 0;
  virtual Result<TableId> find_table(std::string_view name) const = 0;

  virtual RaftInfo raft() const = 0;
  // Null on a pure client.
  virtual RaftControl* raft_control() = 0;
  // Says which node this agent is: calls directed at it are answered in this process from now on, and servers elsewhere
  // can call back over a connection that this agent opens to them. The secret proves it (sixteen bytes), or the node's
  // identity; the latest counts when the connection is opened again.
  virtual void identify_node(Uuid node, std::string secret) = 0;
  // The node of identify_node, once it is known.
  virtual std::optional<Uuid> local_node() const = 0;

  // Runs `task` on a thread where it may wait, now or after a delay. Dropped, not run, once the agent is stopping.
  virtual void post(std::function<void()> task) = 0;
  virtual void post_after(std::chrono::nanoseconds delay, std::function<void()> task) = 0;

  // The methods that this process answers, "/drover.v1.Jobs/Register".
  virtual std::vector<std::string> methods() const = 0;

  // Implementations of an extension point, by name; null when there is none of that name.
  virtual void* find_extension(std::string_view point, std::string_view name) const = 0;
  virtual std::vector<std::string> extension_names(std::string_view point) const = 0;

  template <typename T>
  T* extension(std::string_view name) const {
    return static_cast<T*>(find_extension(T::kExtensionPoint, name));
  }
  template <typename T>
  std::vector<std::string> extensions() const {
    return extension_names(T::kExtensionPoint);
  }
  template <typename Command>
  Result<Applied> propose(const Command& command, SteadyTime deadline, uint64_t only_in_term = 0) {
    return propose(Command::descriptor()->full_name(), serialize(command), deadline, only_in_term);
  }
};

class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual Status declare(Declarations& declare) = 0;
  virtual Status start(Host& host) = 0;
  virtual void lead(std::stop_token stop) { (void)stop; }
  virtual void leave(SteadyTime deadline) { (void)deadline; }
  // How long leave() may take. After start.
  virtual std::chrono::nanoseconds leave_time() const { return std::chrono::seconds(10); }
  virtual void stop(SteadyTime deadline) = 0;
};

}  // namespace drover

// The agent around the router: who leads, which node runs here, the way into the log. Implemented by the composition
// root, faked in tests. [any]
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "drover/clock.h"
#include "drover/methods.h"
#include "drover/result.h"
#include "drover/uuid.h"

namespace drover::rpc {

class Environment {
 public:
  virtual ~Environment() = default;
  virtual std::string region() const = 0;
  virtual std::string server_name() const = 0;  // of this process in a call's path; empty on a pure client
  virtual bool is_server() const = 0;
  virtual bool has_started(std::string_view plugin) const = 0;
  virtual bool is_leader() const = 0;
  // A leader answers reads only after everything of earlier terms has been applied.
  virtual bool is_ready() const = 0;
  // `done` hears, exactly once and on any thread, whether this server leads beyond doubt and has applied all that was
  // acknowledged before this call. Errors: unavailable, deadline_exceeded.
  virtual void confirm_leadership(SteadyTime deadline, std::function<void(Status)> done) = 0;
  // The present term of consensus.
  virtual uint64_t term() const = 0;
  // Stopped as soon as this server no longer leads; stopped already where it does not lead.
  virtual std::stop_token leadership() const = 0;
  // Puts a command of that plugin into the log, for this term only. `done` runs exactly once, on any thread, and must
  // not block. Errors: as Host::propose.
  virtual void propose(std::string_view plugin, std::string_view command, std::string payload, SteadyTime deadline,
                       uint64_t only_in_term, std::function<void(Result<Applied>)> done) = 0;
  // Where another server leads; empty where this one does, or none is known. A call is never forwarded to its own
  // server, even if it becomes the leader between two questions.
  virtual std::string leader_address() const = 0;
  virtual std::string any_server_address() const = 0;  // for a pure client; empty: none known
  // The address of the server of this region with that name or identifier, or of the "leader". Empty for this
  // server; nothing when none is known.
  virtual std::optional<std::string> server_address(std::string_view server) const = 0;
  // The address of a living server of this region that is neither this one nor named in `path`, or empty.
  virtual std::string unvisited_server(const std::vector<std::string>& path) const = 0;
  virtual std::optional<Uuid> local_node() const = 0;         // the node whose agent runs in this process
  virtual std::chrono::nanoseconds last_contact() const = 0;  // since the leader was heard; zero on the leader
  // The node that runs what `id` names. Errors: not_found, in the words of the plugin that should know it.
  virtual Result<Uuid> locate(std::string_view id) const = 0;
};

}  // namespace drover::rpc

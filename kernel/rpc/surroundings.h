// What the router must know of the world around it. Implemented by the composition root, faked in tests. [any]
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "drover/clock.h"
#include "drover/result.h"
#include "drover/uuid.h"

namespace drover::rpc {

class Surroundings {
 public:
  virtual ~Surroundings() = default;
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
  virtual std::string leader_address() const = 0;             // empty: nobody known
  virtual std::string any_server_address() const = 0;         // for a pure client; empty: none known
  virtual std::optional<Uuid> local_node() const = 0;         // the node whose agent runs in this process
  virtual std::chrono::nanoseconds last_contact() const = 0;  // since the leader was heard; zero on the leader
  // The node that runs what `id` names (an allocation), if anybody here can tell.
  virtual std::optional<Uuid> locate(std::string_view id) const = 0;
};

}  // namespace drover::rpc

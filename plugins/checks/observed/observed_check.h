// The checks of an allocation as the node runs them: references filled in, addresses found, identified. Pure.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "check_state.h"
#include "drover/hook.h"
#include "drover/task_environment.h"

namespace drover::v1 {
class CheckType;
class ServiceCheck;
}  // namespace drover::v1

namespace drover::checks {

inline constexpr const char* kScript = "script";  // the type that runs inside a task

struct ObservedCheck {
  std::string id;  // in hexadecimal; the same for the same check of an allocation as long as it stays what it is
  std::shared_ptr<const v1::ServiceCheck> check;  // references filled in
  std::string service;
  std::string task;    // whose service it is; empty: the group's
  std::string inside;  // the task in which a script runs, and which is restarted; empty: none, all
  std::string address;
  uint32_t port = 0;
  std::string problem;  // why it cannot be run; empty: it can
  Tolerance tolerance = Tolerance::warnings;
  std::string provider;     // of the service
  std::string registry_id;  // that the provider's registry knows it by
  bool is_remote = false;   // the registry runs it
  std::chrono::nanoseconds interval{}, timeout{};
  Thresholds thresholds;
  std::optional<RestartRule> restart;
};

// True when the same is asked, at the same place and as often: a run of one says what a run of the other would.
bool runs_alike(const ObservedCheck& one, const ObservedCheck& other);

// True when the registry of that provider of services runs checks of that type.
using RunsRemotely = std::function<bool(const std::string& provider, const std::string& type)>;

// The surroundings of an allocation. Borrowed.
struct ObservedPlace {
  const AllocSpec& spec;
  const v1::NetworkStatus* network = nullptr;  // that the tasks share; null: none
  const Variables& node;                       // node_variables()
  RunsRemotely runs_remotely = {};             // empty: never
};

// All of them, those of services of the group first.
std::vector<ObservedCheck> observe(const ObservedPlace& place);

// The options of a check as its provider gets them: what the check says under the names of the type's schema, and its
// block `config`. Errors: invalid_argument naming the option.
Result<std::string> encode_options(const v1::ServiceCheck& check, const v1::CheckType& type);

}  // namespace drover::checks

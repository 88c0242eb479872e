// The steps that make Consul say of this node's services what it wants. Pure.
//
//   wanted, known ──▶ deregister the unknown ──▶ register the missing and the different ──▶ the same for checks
//
// Its own are services whose identifier begins with kServicePrefix and whose meta names the node, and the checks of
// those that begin with kCheckPrefix. Nothing else is touched.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "services/registration.h"

namespace drover::consul {

struct Wanted {
  std::string node_id;
  std::map<std::string, WantedService> services;  // by identifier
};

struct Known {
  std::map<std::string, KnownService> services;  // by identifier
  std::map<std::string, KnownCheck> checks;
};

// This process remembers so much of what it wanted before.
struct Remembered {
  std::map<std::string, std::vector<std::string>> tags;  // of the services that it has wanted
  bool is_young = false;  // it began so lately that its own that it does not know may be wanted yet
};

struct Operation {
  enum class Kind : uint8_t { deregister_service, register_service, deregister_check, register_check };
  Kind kind;
  std::string id;       // of the service or the check
  std::string service;  // of the service it is about
  std::string body;     // of a registration
};

std::vector<Operation> plan(const Wanted& wanted, const Known& known, const Remembered& before);

// True for a service of the node.
bool is_own(const KnownService& service, const std::string& node_id);

}  // namespace drover::consul

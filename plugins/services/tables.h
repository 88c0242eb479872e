// The table of registrations and what the log's commands do to it. Deterministic. [apply]
#pragma once

#include <chrono>
#include <optional>

#include "drover/plugin.h"
#include "drover/tables.h"

namespace drover::v1 {
class ServiceRegistration;
}

namespace drover::services {

struct Tables {
  Table<v1::ServiceRegistration> services;
  // Those of the plugins nodes, scheduler and jobs, which come later; none where a plugin is not loaded.
  std::optional<TableId> nodes = {}, allocs = {}, jobs = {};
};

// Nodes say their services as often where there are few nodes (rules.h).
inline constexpr std::chrono::seconds kLeastSyncTime{30};

// The status of a registration whose checks fail.
inline constexpr std::string_view kCritical = "critical";
inline constexpr std::string_view kUnknown = "service registration not found";

Status declare_tables(Declarations& declare, Tables& tables);

}  // namespace drover::services

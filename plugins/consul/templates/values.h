// Consul's answers as the values that templates see. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>

namespace drover::consul {

// Pairs with their keys below the prefix, {Path, Key, Value, …}.
nlohmann::json below_prefix(const nlohmann::json& pairs, const std::string& prefix);

// The instances in an answer about a service's health that do as wanted; none wanted: all.
nlohmann::json instances_of(const nlohmann::json& answer, const std::set<std::string>& statuses, bool is_sorted);

// The worst of an instance's checks: "maintenance", "critical", "warning", "passing".
std::string worst_of(const nlohmann::json& checks);

}  // namespace drover::consul

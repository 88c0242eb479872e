// Namespaces, as those ask about them who keep something in one. Pure. [any]
//
// A namespace that has no row is not there, but for "default", which every cluster has.
#pragma once

#include <optional>
#include <string_view>

#include "drover/tables.h"

namespace drover::v1 {
class Namespace;
}  // namespace drover::v1

namespace drover {

inline constexpr std::string_view kDefaultNamespace = "default";

// True for 1 to 128 letters, digits and -.
bool is_namespace_name(std::string_view name);

// "default" as it is until somebody changes it.
v1::Namespace default_namespace();

// The namespace of that name; nothing when it is not there. `table`: "namespaces"; none where its plugin is not loaded,
// and then there is "default" alone.
std::optional<v1::Namespace> find_namespace(const ReadView& view, const std::optional<TableId>& table,
                                            std::string_view name);
// The same question where only the answer counts.
bool has_namespace(const ReadView& view, const std::optional<TableId>& table, std::string_view name);

// The keys that begin with the namespace: its rows in "jobs" and "variables", and in kEvalsByJob and kAllocsByJob its
// evaluations and allocations.
KeyRange of_namespace(std::string_view name);

}  // namespace drover

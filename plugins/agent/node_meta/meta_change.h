// A node's metadata: what its configuration says, and what was changed since. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "drover/result.h"
#include "drover/task_environment.h"

namespace drover::agent {

// Values by key; nothing: the key is unset, whatever the configuration says.
using MetaChanges = std::map<std::string, std::optional<std::string>, std::less<>>;

// Reads `{"rack": "r2", "old": null}`. Errors: invalid_argument for anything else, for no key at all, and for one that
// jobs could not name.
Result<MetaChanges> parse_meta(std::string_view json);
std::string meta_json(const MetaChanges& changes);

// The changes that hold after `next`. A key that is unset is forgotten where the configuration does not say it either.
MetaChanges changed_meta(MetaChanges changes, const MetaChanges& next, const Variables& configured);

// The node's metadata.
Variables merged_meta(const Variables& configured, const MetaChanges& changes);

}  // namespace drover::agent

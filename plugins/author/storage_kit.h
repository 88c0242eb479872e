// Storage plugins, which speak CSI and no protocol of ours, have a kit of their own: the program drover-csi-test.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drover/command.h"
#include "drover/result.h"

namespace drover::author {

// The kit's own words of `plugin test -kind csi …`; nothing when another kind of plugin is tested. Pure. Errors:
// invalid_argument for a kind that is not said this way.
Result<std::optional<std::vector<std::string>>> storage_words(std::span<const std::string> arguments);

// Becomes the kit. Returns an exit code only when there is none.
int become_storage_kit(const std::vector<std::string>& words, CommandHost& host);

}  // namespace drover::author

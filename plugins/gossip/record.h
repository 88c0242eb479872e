// A member as it travels. Pure.
#pragma once

#include <optional>

#include "core.h"

namespace drover::gossip {

v1::Record to_record(const Member& member);
// Nothing when it is malformed: no identifier, an unknown state, texts that are too long.
std::optional<Member> from_record(const v1::Record& record);

}  // namespace drover::gossip

// Identifiers of what one decision makes. Each follows from the one before, so that the log need not name them all:
// the first four bytes, taken as a number, advance by a fixed step; twelve bytes are the decision's own, of which ten
// follow from its evaluation's identifier. The step spreads them, so that the short forms that people type differ
// early, and no two of a decision are ever alike. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace drover::scheduler::packing {

// The identifier that comes `steps` after this one. Requires: 16 bytes.
std::string id_after(std::string_view id, uint32_t steps = 1);
// How many steps lead from one to the other; nothing when none do.
std::optional<uint32_t> steps_between(std::string_view id, std::string_view later);

// Consecutive numbers for identifiers that follow each other, and what these have in common. Requires: 16 bytes.
uint32_t ordinal_of(std::string_view id);
std::string_view tail_of(std::string_view id);

// How many bytes of an identifier are by chance, where the rest follows from an evaluation.
inline constexpr size_t kChanceBytes = 6;
// The rest: ten bytes.
std::string rest_of(std::string_view eval_id);

// Gives the identifiers after `first`, one a call.
std::function<std::string()> ids_from(std::string first);

}  // namespace drover::scheduler::packing

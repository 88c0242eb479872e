// All claims with what decisions about them need to know. Functions of a snapshot.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "claims/next_step.h"
#include "tables.h"

namespace drover::v1 {
class CsiClaimMove;
}

namespace drover::volumes {

// A volume of a storage: the plugin, and the storage's own name of it. Several volumes here may mean the same one.
using Remote = std::pair<std::string, std::string>;

std::map<Remote, std::vector<ClaimFacts>> claim_groups(const ReadView& view, const Tables& tables);

// The claim's way from its step to another one.
v1::CsiClaimMove move_of(const v1::CsiClaim& claim, v1::CsiClaimStep to);
// A step for which nobody is asked: moving or freeing.
v1::CsiClaimMove written(const std::vector<ClaimFacts>& facts, const NextStep& step);

// True when a failed attempt at attaching ends the claim, since it would fail again. Not so not_found, which is also said
// where nobody was asked because there is no way to the node; for the same reason undoing is done by no error. Pure.
bool is_final(Code code);

}  // namespace drover::volumes

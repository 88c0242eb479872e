// After a refusal: whether the token was one at all. The text of a refusal does not say, so it is asked. [any]
#pragma once

#include <memory>
#include <string>

#include "session.h"

namespace drover::api {

// Counts a token that is none against the place, soon. `kept`: lives until then, and `shared` with it.
void note_refusal(const SessionShared& shared, std::string place, std::string token, std::shared_ptr<void> kept);

}  // namespace drover::api

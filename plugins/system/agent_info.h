// Status and health as the API shows them. Functions of what the host says.
#pragma once

#include "drover/plugin.h"
#include "system.pb.h"

namespace drover::system {

std::string stats_json(Host& host);
// Errors with HTTP status 500 and the health as JSON text when a role is not well.
Result<v1::HealthResponse> health_of(const Host& host, const v1::HealthRequest& request, bool node_is_known);

}  // namespace drover::system

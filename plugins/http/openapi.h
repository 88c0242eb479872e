// The HTTP API as an OpenAPI 3 document, made of the declarations of the methods that are routed. Pure.
#pragma once

#include <string>
#include <string_view>

#include "routes.h"

namespace drover::api {

// As JSON. The comments of the declarations describe the operations and messages of the public API (api_descriptors.h);
// those of other plugins have no comments.
std::string openapi_document(const Routes& routes, std::string_view version);

}  // namespace drover::api

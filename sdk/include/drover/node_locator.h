// Which node runs an allocation: lets the router send a call there that names only the allocation. [any]
#pragma once

#include <string_view>

#include "drover/result.h"
#include "drover/uuid.h"

namespace drover {

class NodeLocator {
 public:
  static constexpr std::string_view kExtensionPoint = "node_locator";
  virtual ~NodeLocator() = default;
  // `id` is what the request carries (sixteen bytes). Errors: not_found, in the words that the API's clients expect.
  virtual Result<Uuid> locate(std::string_view id) const = 0;
};

}  // namespace drover

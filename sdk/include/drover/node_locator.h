// Which node runs an allocation: lets the router send a call there that names only the allocation. [any]
#pragma once

#include <optional>
#include <string_view>

#include "drover/uuid.h"

namespace drover {

class NodeLocator {
 public:
  static constexpr std::string_view kExtensionPoint = "node_locator";
  virtual ~NodeLocator() = default;
  // `id` is what the request carries (sixteen bytes). Nothing when this locator does not know it.
  virtual std::optional<Uuid> locate(std::string_view id) const = 0;
};

}  // namespace drover

// Text from elsewhere, as people may see it. [any]
#pragma once

#include <string>
#include <string_view>

namespace drover {

// One line that says nothing to a terminal: control characters, those of Unicode's second block as well, become escapes
// as JSON has them, and bytes that are no UTF-8 become U+FFFD. "a\nb" → "a\\nb"
std::string printable(std::string_view text);

}  // namespace drover

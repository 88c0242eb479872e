// Times as Go writes them: by a layout that shows how 2006-01-02 15:04:05 -0700 MST would look. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace drover::templates {

inline constexpr std::string_view kRfc3339 = "2006-01-02T15:04:05Z07:00";

// `at_ns`: since 1970, in the machine's time zone.
std::string time_text(int64_t at_ns, std::string_view layout);

}  // namespace drover::templates

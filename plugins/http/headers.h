// The headers that every answer has. Pure.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace drover::api {

using Headers = std::vector<std::pair<std::string, std::string>>;

// A browser takes an answer for what its header says, keeps none of it and tells no other site where it was.
// `max_age_s`: how long caches may keep this answer; 0: not at all. The configured ones take the place of these.
Headers common_headers(unsigned max_age_s, const std::map<std::string, std::string>& configured);

}  // namespace drover::api

// Which object a person means by the beginning of an identifier, whatever kind of object that is. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "drover/result.h"

namespace drover::cli {

struct Meant {
  std::string command;  // that shows an object of this kind: "node status"
  std::string id;
};

// `matches`: what a search found, by context. What bears the whole identifier goes before what only begins so, and of
// several of one kind their own command tells. Errors: not_found; invalid_argument, with the matches of all kinds.
Result<Meant> meant_by(const std::string& typed, const std::map<std::string, std::vector<std::string>>& matches);

}  // namespace drover::cli

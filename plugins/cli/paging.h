// Lists that come in pages: the flags that ask for one, and how to ask for the next.
#pragma once

#include <string>
#include <vector>

#include "cli_command.h"

namespace drover::cli {

// Appends -filter, -per-page and -page-token, and the flags of an object. `example`: of a filter.
std::vector<Flag> with_page_flags(std::vector<Flag> flags, const std::string& example);
// The parameters of the request for what those flags say.
Parameters page_of(const Arguments& arguments);
// The command for the page that begins at the token, with the other flags as they were given. A -token is left out: it
// is a secret.
std::string next_page_command(const Arguments& arguments, const std::string& command, const std::string& next_token);
// Says how to ask for the next page; nothing is printed when there is none.
void print_next_page(Run& run, const std::string& command, const std::string& next_token);

}  // namespace drover::cli

// The list of nodes, as several commands print it.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <string>
#include <vector>

#include "cli_command.h"

namespace drover::v1 {
class NodeListStub;
}

namespace drover::cli {

// Rows for format_list, with their header.
std::vector<std::vector<std::string>> node_rows(const google::protobuf::RepeatedPtrField<v1::NodeListStub>& nodes,
                                                bool verbose);

// The flags -filter, -per-page and -page-token of a list, and what they ask for. `example`: of a filter.
std::vector<Flag> with_page_flags(std::vector<Flag> flags, const std::string& example);
Parameters page_of(const Arguments& arguments);
// How to ask for the next page; nothing is printed when there is none.
void print_next_page(Run& run, const std::string& command, const std::string& next_token);

}  // namespace drover::cli

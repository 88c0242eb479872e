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

struct NodeColumns {
  bool verbose = false;  // whole identifiers, addresses and versions
  bool os = false;
};
// Rows for format_list, with their header.
std::vector<std::vector<std::string>> node_rows(const google::protobuf::RepeatedPtrField<v1::NodeListStub>& nodes,
                                                NodeColumns columns);

}  // namespace drover::cli

#include "nodes/node_list.h"

#include "drover/api/nodes.pb.h"
#include "output.h"

namespace drover::cli {

std::vector<std::vector<std::string>> node_rows(const google::protobuf::RepeatedPtrField<v1::NodeListStub>& nodes,
                                                bool verbose) {
  std::vector<std::vector<std::string>> rows;
  if (verbose) {
    rows.push_back({"ID", "DC", "Name", "Class", "Address", "Version", "Drain", "Eligibility", "Status"});
  } else {
    rows.push_back({"ID", "DC", "Name", "Class", "Drain", "Eligibility", "Status"});
  }
  for (const v1::NodeListStub& node : nodes) {
    std::vector<std::string> row = {id_text(node.id(), verbose), node.datacenter(), node.name(), node.node_class()};
    if (verbose) row.insert(row.end(), {node.address(), node.version()});
    row.insert(row.end(), {yes_no(node.drain()), node.scheduling_eligibility(), word(node.status())});
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace drover::cli

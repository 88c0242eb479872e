#include "nodes/node_list.h"

#include "drover/api/nodes.pb.h"
#include "output.h"

namespace drover::cli {

std::vector<std::vector<std::string>> node_rows(const google::protobuf::RepeatedPtrField<v1::NodeListStub>& nodes,
                                                NodeColumns columns) {
  std::vector<std::vector<std::string>> rows = {{"ID", "DC", "Name", "Class"}};
  if (columns.os) rows[0].push_back("OS");
  if (columns.verbose) rows[0].insert(rows[0].end(), {"Address", "Version"});
  rows[0].insert(rows[0].end(), {"Drain", "Eligibility", "Status"});
  for (const v1::NodeListStub& node : nodes) {
    std::vector<std::string> row = {id_text(node.id(), columns.verbose), node.datacenter(), node.name(),
                                    node.node_class()};
    if (columns.os) {
      const auto os = node.attributes().find("os.name");
      row.push_back(os == node.attributes().end() ? "" : os->second);
    }
    if (columns.verbose) row.insert(row.end(), {node.address(), node.version()});
    row.insert(row.end(), {yes_no(node.drain()), node.scheduling_eligibility(), word(node.status())});
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace drover::cli

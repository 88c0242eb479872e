#include "nodes/node_list.h"

#include "drover/api/nodes.pb.h"
#include "object_output.h"
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

std::vector<Flag> with_page_flags(std::vector<Flag> flags, const std::string& example) {
  flags.push_back(with_value("filter", "", "Filter expression: '" + example + "'"));
  flags.push_back(with_value("per-page", "", "Page size"));
  flags.push_back(with_value("page-token", "", "Where the page begins"));
  return with_object_flags(std::move(flags));
}

Parameters page_of(const Arguments& arguments) {
  Parameters wishes;  // as they were typed: the server says what is wrong with them
  for (const auto& [flag, parameter] :
       {std::pair("filter", "filter"), {"per-page", "per_page"}, {"page-token", "next_token"}}) {
    if (arguments.is_set(flag)) wishes.emplace(parameter, arguments.value(flag));
  }
  return wishes;
}

void print_next_page(Run& run, const std::string& command, const std::string& next_token) {
  if (next_token.empty()) return;
  run.out << "\nResults have been paginated. To get the next page run:\n\ndrover " << command;
  for (const char* flag : {"filter", "per-page"}) {
    if (!run.arguments.is_set(flag)) continue;
    const std::string value = run.arguments.value(flag);
    run.out << " -" << flag << " " << (value.find(' ') == std::string::npos ? value : "'" + value + "'");
  }
  run.out << " -page-token " << next_token << "\n";
}

}  // namespace drover::cli

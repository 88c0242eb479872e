#include "services/service_text.h"

#include "drover/api/services.pb.h"
#include "output.h"

namespace drover::cli {
namespace {

template <typename Tags>
std::string tag_list(const Tags& tags) {
  return "[" + joined(tags, ",") + "]";
}

std::string address_of(const v1::ServiceRegistration& row) {
  if (row.port() == 0) return row.address();
  const bool is_v6 = row.address().find(':') != std::string::npos;
  return (is_v6 ? "[" + row.address() + "]" : row.address()) + ":" + std::to_string(row.port());
}

}  // namespace

void keep_service(v1::ListServicesResponse& services, const std::string& name) {
  v1::ListServicesResponse kept;
  for (const v1::NamespaceServices& each : services.namespaces()) {
    for (const v1::ServiceStub& stub : each.services()) {
      if (stub.service_name() != name) continue;
      v1::NamespaceServices& out = *kept.add_namespaces();
      out.set_namespace_(each.namespace_());
      *out.add_services() = stub;
    }
  }
  services = std::move(kept);
}

std::vector<std::vector<std::string>> service_rows(const v1::ListServicesResponse& services, bool with_namespace) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back(with_namespace ? std::vector<std::string>{"Service Name", "Namespace", "Tags"}
                                : std::vector<std::string>{"Service Name", "Tags"});
  for (const v1::NamespaceServices& each : services.namespaces()) {
    for (const v1::ServiceStub& stub : each.services()) {
      std::vector<std::string> row{stub.service_name()};
      if (with_namespace) row.push_back(each.namespace_());
      row.push_back(tag_list(stub.tags()));
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

std::vector<std::vector<std::string>> instance_rows(const v1::ServiceRegistrationsResponse& instances) {
  std::vector<std::vector<std::string>> rows = {{"Job ID", "Address", "Tags", "Node ID", "Alloc ID"}};
  for (const v1::ServiceRegistration& row : instances.services()) {
    rows.push_back({row.job_id(), address_of(row), tag_list(row.tags()), id_text(row.node_id(), false),
                    id_text(row.alloc_id(), false)});
  }
  return rows;
}

std::string instance_blocks(const v1::ServiceRegistrationsResponse& instances) {
  std::string text;
  for (const v1::ServiceRegistration& row : instances.services()) {
    std::vector<std::pair<std::string, std::string>> pairs = {{"ID", row.id()},
                                                              {"Service Name", row.service_name()},
                                                              {"Namespace", row.namespace_()},
                                                              {"Job ID", row.job_id()},
                                                              {"Alloc ID", id_text(row.alloc_id())},
                                                              {"Node ID", id_text(row.node_id())},
                                                              {"Datacenter", row.datacenter()},
                                                              {"Address", address_of(row)},
                                                              {"Tags", tag_list(row.tags())}};
    if (!row.status().empty()) pairs.emplace_back("Status", row.status());
    text += (text.empty() ? "" : "\n") + format_pairs(pairs);
  }
  return text;
}

}  // namespace drover::cli

#include "services/service_query.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "drover/api/services.pb.h"
#include "drover/keys.h"

namespace drover::templates {
namespace {

bool is_word(std::string_view text, std::string_view further) {
  const auto is_good = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           further.find(c) != std::string_view::npos;
  };
  return !text.empty() && std::ranges::all_of(text, is_good);
}

nlohmann::json service_of(const v1::ServiceRegistration& row) {
  std::vector<std::string> tags(row.tags().begin(), row.tags().end());
  std::ranges::sort(tags);
  return {{"ID", row.id()},
          {"Name", row.service_name()},
          {"Node", Uuid::from_bytes(row.node_id()).to_string()},
          {"Address", row.address()},
          {"Port", row.port()},
          {"Datacenter", row.datacenter()},
          {"Tags", tags},
          {"JobID", row.job_id()},
          {"AllocID", Uuid::from_bytes(row.alloc_id()).to_string()}};
}

Seen seen_of(nlohmann::json rows) {
  Seen seen;
  seen.is_found = !rows.empty();
  seen.value = std::make_shared<const nlohmann::json>(std::move(rows));
  return seen;
}

Result<Seen> read_instances(std::string_view body) {
  DROVER_TRY(const auto answer, parse_message<v1::ServiceRegistrationsResponse>(body));
  nlohmann::json rows = nlohmann::json::array();
  for (const v1::ServiceRegistration& row : answer.services()) rows.push_back(service_of(row));
  return seen_of(std::move(rows));
}

Result<Seen> read_names(std::string_view body) {
  DROVER_TRY(const auto answer, parse_message<v1::ListServicesResponse>(body));
  nlohmann::json rows = nlohmann::json::array();
  for (const v1::NamespaceServices& each : answer.namespaces()) {
    for (const v1::ServiceStub& stub : each.services())
      rows.push_back({{"Name", stub.service_name()}, {"Tags", std::vector(stub.tags().begin(), stub.tags().end())}});
  }
  return seen_of(std::move(rows));
}

}  // namespace

Result<ServiceWish> parse_service(std::string_view text) {
  const Status refused = invalid_argument("nomad.service: invalid format: \"" + std::string(text) + "\"");
  ServiceWish wish;
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    wish.query.region = text.substr(at + 1);
    if (!is_word(wish.query.region, "")) return refused;
    text = text.substr(0, at);
  }
  if (const size_t dot = text.rfind('.'); dot != std::string_view::npos) {  // tags may have dots, names have none
    wish.tag = text.substr(0, dot);
    if (!is_word(wish.tag, ".")) return refused;
    text = text.substr(dot + 1);
  }
  wish.query.name = text;
  if (!is_word(wish.query.name, "/")) return refused;
  return wish;
}

Result<ServiceWish> parse_services(std::string_view text) {
  ServiceWish wish;
  if (text.empty()) return wish;
  wish.query.region = text.substr(1);
  if (text.front() != '@' || !is_word(wish.query.region, ""))
    return invalid_argument("nomad.services: invalid format: \"" + std::string(text) + "\"");
  return wish;
}

std::string name_of(const ServiceWish& wish) {
  const ServiceQuery& query = wish.query;
  const std::string region = query.region.empty() ? "" : "@" + query.region;
  if (query.name.empty()) return "nomad.services" + (region.empty() ? "" : "(" + region + ")");
  return "nomad.service(" + (wish.tag.empty() ? "" : wish.tag + ".") + query.name + region +
         (query.choose.empty() ? "" : ":" + query.choose) + ")";
}

ServerQuestion question_of(const ServiceQuery& query) {
  const bool is_list = query.name.empty();
  return {.method = is_list ? "/drover.v1.Services/List" : "/drover.v1.Services/Get",
          .key = KeyBuilder().text(query.name_space).text(query.region).text(query.name).text(query.choose).take(),
          .request =
              [query, is_list](const NodeProofOf&, const Uuid&, QueryOptions& options) {
                if (!query.region.empty()) options.region = query.region;
                options.name_space = query.name_space;
                options.stale = true;
                if (is_list) return std::string();
                v1::GetServiceRequest request;
                request.set_service_name(query.name);
                request.set_choose(query.choose);
                return serialize(request);
              },
          .read = is_list ? read_names : read_instances};
}

}  // namespace drover::templates

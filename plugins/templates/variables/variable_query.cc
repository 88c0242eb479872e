#include "variables/variable_query.h"

#include <nlohmann/json.hpp>

#include "drover/keys.h"
#include "drover/v1/node_variables.pb.h"

namespace drover::templates {
namespace {

using nlohmann::json;

json described(const v1::VariableMetadata& variable) {
  return {{"Namespace", variable.namespace_()},     {"Path", variable.path()},
          {"CreateIndex", variable.create_index()}, {"ModifyIndex", variable.modify_index()},
          {"CreateTime", variable.create_time()},   {"ModifyTime", variable.modify_time()}};
}

Result<Seen> read_one(std::string_view bytes) {
  DROVER_TRY(const auto response, parse_message<v1::NodeVariableResponse>(bytes));
  Seen seen;
  seen.is_found = response.has_variable();
  json items = json::parse(response.items(), nullptr, /*allow_exceptions=*/false);
  seen.value = std::make_shared<const json>(items.is_object() ? std::move(items) : json::object());
  seen.metadata = std::make_shared<const json>(described(response.variable()));
  return seen;
}

Result<Seen> read_list(std::string_view bytes) {
  DROVER_TRY(const auto response, parse_message<v1::NodeVariablesResponse>(bytes));
  json list = json::array();
  for (const v1::VariableMetadata& variable : response.variables()) list.push_back(described(variable));
  Seen seen;
  seen.is_found = !list.empty();
  seen.value = std::make_shared<const json>(std::move(list));
  return seen;
}

}  // namespace

Result<VariableQuery> read_variable_query(std::string_view text, bool is_list, std::string_view region) {
  const size_t at = text.find('@');
  VariableQuery query{.name_space = "", .path = std::string(text.substr(0, at)), .is_list = is_list};
  if (at == std::string_view::npos) return query;
  const std::string_view place = text.substr(at + 1);
  const size_t dot = place.find('.');
  query.name_space = place.substr(0, dot);
  if (dot == std::string_view::npos || place.substr(dot + 1) == region) return query;
  return invalid_argument("variables of another region, \"" + std::string(place.substr(dot + 1)) + "\", are not read");
}

ServerQuestion question_of(const VariableReader& reader, const VariableQuery& query) {
  return {.method = query.is_list ? "/drover.v1.NodeVariables/List" : "/drover.v1.NodeVariables/Read",
          .key = KeyBuilder()
                     .text(reader.name_space)
                     .text(reader.job)
                     .text(reader.group)
                     .text(reader.task)
                     .text(query.name_space)
                     .text(query.path)
                     .take(),
          .request =
              [task = reader.task, query](const NodeProofOf& node, const Uuid& allocation, QueryOptions&) {
                v1::NodeVariableRequest request;
                request.set_node_id(node.id.bytes());
                request.set_secret_id(node.secret);
                request.set_alloc_id(allocation.bytes());
                request.set_task(task);
                request.set_namespace_(query.name_space);
                request.set_path(query.path);
                return serialize(request);
              },
          .read = query.is_list ? read_list : read_one,
          .may_be_refused = true};
}

}  // namespace drover::templates

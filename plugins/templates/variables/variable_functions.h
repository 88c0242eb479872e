// nomadVar, nomadVarExists, nomadVarList, nomadVarListSafe: for one run of one template. One thread.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "functions/table.h"
#include "variables/variable_query.h"

namespace drover::templates {

class VariableFunctions {
 public:
  // The reads outlive the functions. `region`: this agent's.
  VariableFunctions(ServerReads& reads, VariableReader reader, std::string region)
      : reads_(reads), reader_(std::move(reader)), region_(std::move(region)) {}

  static bool has(std::string_view name);
  Result<Value> call(std::string_view name, Arguments arguments);
  // A method of what nomadVar gave (Keys, Values, Tuples, ItemsMap, Metadata, Parent) or of an item of it (Key, Value,
  // Metadata, Parent). Null: no such method.
  Value method(const Value& value, std::string_view name) const;

  // Names of what the template waits for, "nomad.var.block(PATH)" or "nomad.var.list(PREFIX)".
  const std::set<std::string>& missing() const { return missing_; }

 private:
  Result<Seen> look(const VariableQuery& query);
  Value method_of_items(const Value& items, const json& metadata, std::string_view name) const;

  ServerReads& reads_;
  const VariableReader reader_;
  const std::string region_;
  std::set<std::string> missing_;
  struct Given {
    Value items;
    std::shared_ptr<const json> metadata;
  };
  std::vector<Given> given_;  // by nomadVar
};

}  // namespace drover::templates

// nomadVar, nomadVarExists, nomadVarList, nomadVarListSafe: for one run of one template. One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "functions/table.h"
#include "variables/variable_watch.h"

namespace drover::templates {

// How the template's task reads; null: it cannot.
using UseVariable = std::function<std::shared_ptr<VariableUse>(const VariableQuery&)>;

// "path[@namespace[.region]]". Errors: invalid_argument; another region is not read.
Result<VariableQuery> read_variable_query(std::string_view text, bool is_list, std::string_view region);

class VariableFunctions {
 public:
  // `patience`: how long the first answer of the servers may take.
  VariableFunctions(const UseVariable& use, std::string region, std::chrono::nanoseconds patience)
      : use_(use), region_(std::move(region)), patience_(patience) {}

  static bool has(std::string_view name);
  Result<Value> call(std::string_view name, Arguments arguments);
  // Of what nomadVar gave, and of an item of it: Keys, Values, Tuples, ItemsMap, Metadata, Parent; Key, Value. Null: no
  // such method.
  Value method(const Value& value, std::string_view name) const;

  // What was read, in the change that was seen, and what the template waits for.
  struct Used {
    std::shared_ptr<VariableUse> use;
    uint64_t change = 0;
  };
  const std::map<VariableQuery, Used>& used() const { return used_; }
  const std::set<std::string>& missing() const { return missing_; }

 private:
  Result<VariableSeen> look(const VariableQuery& query);
  Value method_of_items(const Value& items, const json& metadata, std::string_view name) const;

  const UseVariable& use_;
  const std::string region_;
  const std::chrono::nanoseconds patience_;
  std::map<VariableQuery, Used> used_;
  std::set<std::string> missing_;
  struct Given {
    Value items;
    std::shared_ptr<const json> metadata;
  };
  std::vector<Given> given_;  // by nomadVar
};

}  // namespace drover::templates

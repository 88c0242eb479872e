// The functions that a template of a task may call: the pure ones, and those that look at the task, its
// files, the servers and the time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "drover/task_environment.h"
#include "functions/table.h"
#include "services/service_query.h"
#include "sources/sources.h"
#include "variables/variable_functions.h"

namespace drover::templates {

// The world as one template sees it while it is run. Outlives the functions.
struct World {
  const Variables& environment;  // of the task
  const Variables& node;         // node_variables()
  int64_t now_ns;                // since 1970
  std::function<Result<std::string>(const std::string& path)> read_file;
  ServerReads::Watch watch = {};        // how the task reads what the servers know; null: it cannot
  VariableReader reader = {};           // the task
  std::string region = {};              // of this agent
  std::chrono::nanoseconds patience{};  // how long servers may take to answer for the first time
  const HookedTask* task = nullptr;     // whose template it is; null: functions of sources cannot be called
  const Sources* sources = nullptr;     // null: there are none
  const ServerReads::All* held = nullptr;  // what the run before looked at; null: there was none
};

// True for a name that templates may call, also where the call is refused then. `sources`: null: there are none.
bool is_job_function(std::string_view name, const Sources* sources);

// For one run of one template. One thread.
class JobFunctions final : public text_template::Functions {
 public:
  // `denied`: refused when they are called; outlives this.
  JobFunctions(const World& world, const std::set<std::string, std::less<>>& denied)
      : world_(world),
        denied_(denied),
        reads_(world.watch, world.patience, world.held),
        variables_(reads_, world.reader, world.region) {}

  bool has(std::string_view name) const override { return is_job_function(name, world_.sources); }
  Result<Value> call(std::string_view name, Arguments arguments) override;
  Value method(const Value& value, std::string_view name) override { return variables_.method(value, name); }

  // The paths that `file` was asked for.
  const std::set<std::string>& files() const { return files_; }
  // The answers that were looked at.
  const ServerReads::All& reads() const { return reads_.all(); }
  // Names of what is not there, "file(PATH)", "nomad.service(NAME)" …: what was made of it is empty.
  std::set<std::string> missing() const;

 private:
  Result<Value> env(Arguments arguments);
  Result<Value> env_or_default(Arguments arguments);
  Result<Value> must_env(Arguments arguments);
  Result<Value> file(Arguments arguments);
  Result<Value> service(Arguments arguments);
  Result<Value> services(Arguments arguments);
  Value rows_for(const ServiceWish& wish);
  Result<Value> of_source(const Sources::Found& found, std::string_view name, Arguments arguments);
  Result<Value> timestamp(Arguments arguments);
  Result<Value> scratch(std::string_view method, Arguments arguments);
  const std::string* variable(const std::string& name) const;

  const World& world_;
  const std::set<std::string, std::less<>>& denied_;
  std::set<std::string> files_, missing_;
  std::map<std::string, Value> scratch_;
  ServerReads reads_;
  VariableFunctions variables_;
};

}  // namespace drover::templates

#include "tables.h"

#include <algorithm>

#include "drover/schema.h"
#include "drover/v1/commands.pb.h"
#include "periodic.pb.h"

namespace drover::periodic {
namespace {

class Commands {
 public:
  explicit Commands(Table<v1::PeriodicLaunch> launches) : launches_(std::move(launches)) {}

  Result<std::string> launched(const v1::PeriodicLaunched& command, ApplyContext& context) const {
    DROVER_RETURN_IF_ERROR(also(context, command.child()));
    const auto before = launches_.get(context.rows(), job_key(command.namespace_(), command.job_id()));
    v1::PeriodicLaunch row;
    row.set_namespace_(command.namespace_());
    row.set_job_id(command.job_id());
    row.set_launch(std::max(command.launch(), before ? before->launch() : 0));
    row.set_create_index(before ? before->create_index() : context.index());
    row.set_modify_index(context.index());
    DROVER_RETURN_IF_ERROR(launches_.put(context.rows(), row));
    return std::string();
  }

  Result<std::string> forgotten(const v1::PeriodicForgotten& command, ApplyContext& context) const {
    for (const auto& job : command.jobs()) launches_.erase(context.rows(), job_key(job.namespace_(), job.job_id()));
    return std::string();
  }

 private:
  const Table<v1::PeriodicLaunch> launches_;
};

}  // namespace

Result<Table<v1::PeriodicLaunch>> declare_tables(Declarations& declare) {
  DROVER_TRY(auto launches, declare.table<v1::PeriodicLaunch>("periodic_launches", {},
                                                              [](const v1::PeriodicLaunch& row, RowKeys& keys) {
                                                                keys.primary(job_key(row.namespace_(), row.job_id()));
                                                              }));
  const auto commands = std::make_shared<const Commands>(launches);
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::launched>(commands));
  DROVER_RETURN_IF_ERROR(declare.command<&Commands::forgotten>(commands));
  return launches;
}

}  // namespace drover::periodic

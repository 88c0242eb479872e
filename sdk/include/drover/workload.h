// A task asks the servers as who it is: by its identity, or through its node.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "drover/permissions.h"
#include "drover/result.h"
#include "drover/tables.h"

namespace drover::v1 {
class Allocation;
class Job;
}  // namespace drover::v1

namespace drover {

// The audience of tokens that tasks show to this cluster itself.
inline constexpr std::string_view kOwnAudience = "nomadproject.io";
inline constexpr std::string_view kDefaultIdentity = "default";  // the name of the identity that every task has

struct Workload {
  std::string name_space;
  std::string job;  // of a child of a periodic or dispatched job: its parent
  std::string group;
  std::string task;
};

// A task of that allocation. `jobs`: the table of that name.
Workload workload_of(const v1::Allocation& allocation, const v1::Job& job, std::string task);
Workload workload_of(const ReadView& view, TableId jobs, const v1::Allocation& allocation, std::string task);

// The allocation on whose behalf a node calls. Identifiers are sixteen bytes. Errors: permission_denied unless that is
// the node's proof (drover/model/node.h) and the allocation is the node's and has not ended there.
Result<v1::Allocation> allocation_of_caller(const ReadView& view, TableId nodes, TableId allocs,
                                            std::string_view node_id, std::string_view proof,
                                            std::string_view allocation_id, int64_t now_ns);

// The rights of tasks without a token: to read their own variables, and what policies grant their job. Everything where
// access control is off. Provided by the plugin acl, as "acl", on servers. [any]
class WorkloadRights {
 public:
  static constexpr std::string_view kExtensionPoint = "workload_rights";
  virtual ~WorkloadRights() = default;
  // Errors: of a policy that cannot be read any more.
  virtual Result<std::shared_ptr<const Permissions>> rights_of(const ReadView& view, const Workload& workload) = 0;
};

}  // namespace drover

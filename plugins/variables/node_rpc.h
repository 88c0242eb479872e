// The handlers of NodeVariables: a node reads for the tasks of its own allocations, and only what such a task may read.
#pragma once

#include "drover/keyring.h"
#include "drover/plugin.h"
#include "drover/workload.h"
#include "tables.h"

namespace drover::v1 {
class NodeVariableRequest;
class NodeVariableResponse;
class NodeVariablesResponse;
}  // namespace drover::v1

namespace drover::variables {

class NodeRpc {
 public:
  explicit NodeRpc(const Tables& tables) : tables_(tables) {}
  Status declare(Declarations& declare);
  // The keyring outlives this. Errors: not_found, where a table is missing.
  Status start(Host& host, Keyring& keys);

 private:
  // The one who reads: a task that runs, or will.
  struct Reader {
    std::string name_space;
    std::shared_ptr<const Permissions> rights;
  };
  // Errors: permission_denied, which does not say why.
  Result<Reader> reader_of(const v1::NodeVariableRequest& request, const ReadView& view) const;
  Result<v1::NodeVariableResponse> read(const v1::NodeVariableRequest& request, Call& call);
  Result<v1::NodeVariablesResponse> list(const v1::NodeVariableRequest& request, Call& call);

  const Tables& tables_;
  Host* host_ = nullptr;
  Keyring* keys_ = nullptr;
  WorkloadRights* rights_ = nullptr;  // null: nobody restricts anybody
  TableId nodes_, allocs_, jobs_;
};

}  // namespace drover::variables

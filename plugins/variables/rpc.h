// The handlers of the Variables service. Writes seal on the leader, before anything goes into the log.
#pragma once

#include "drover/keyring.h"
#include "drover/plugin.h"
#include "lock_keeper.h"
#include "tables.h"

namespace drover::v1 {
class ApplyVariableRequest;
class DeleteVariableRequest;
class ListVariablesRequest;
class ListVariablesResponse;
class RollbackVariableRequest;
class Variable;
class VariableRequest;
class VariableResponse;
class VariableWritten;
}  // namespace drover::v1

namespace drover::variables {

class Rpc {
 public:
  Rpc(const Tables& tables, LockKeeper& locks) : tables_(tables), locks_(locks) {}
  Status declare(Declarations& declare);
  // Both outlive this. `versions`: former ones of a variable that are kept.
  void start(Host& host, Keyring& keys, uint32_t versions) {
    host_ = &host;
    keys_ = &keys;
    versions_ = versions;
  }

 private:
  using Written = Result<Write<v1::VariableResponse>>;
  Result<v1::ListVariablesResponse> list(const v1::ListVariablesRequest& request, Call& call);
  Result<v1::VariableResponse> read(const v1::VariableRequest& request, Call& call);
  Written apply(const v1::ApplyVariableRequest& request, Call& call);
  Written erase(const v1::DeleteVariableRequest& request, Call& call);
  Result<v1::ListVariablesResponse> history(const v1::VariableRequest& request, Call& call);
  Written rollback(const v1::RollbackVariableRequest& request, Call& call);

  Written renew(const v1::Variable& said, Call& call);
  Written lock(const v1::ApplyVariableRequest& request, const v1::Variable& said, Call& call);
  Written write(v1::VariableWritten command, std::string items, Call& call);
  std::function<Result<v1::VariableResponse>(const Applied&)> answer(std::string items, const Call& call,
                                                                     const std::string& name_space,
                                                                     const std::string& path) const;
  v1::VariableWritten command_for(const v1::Variable& said, std::optional<uint64_t> cas) const;

  const Tables& tables_;
  LockKeeper& locks_;
  Host* host_ = nullptr;
  Keyring* keys_ = nullptr;
  uint32_t versions_ = 0;
};

}  // namespace drover::variables

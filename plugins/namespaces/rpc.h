// The handlers of the Namespaces service. Reads are functions of the call's view.
#pragma once

#include <string>

#include "drover/plugin.h"
#include "tables.h"

namespace drover::v1 {
class ApplyNamespaceRequest;
class ApplyNamespaceResponse;
class DeleteNamespaceResponse;
class ListNamespacesRequest;
class ListNamespacesResponse;
class NamespaceRequest;
class NamespaceResponse;
}  // namespace drover::v1

namespace drover::namespaces {

class Rpc {
 public:
  explicit Rpc(const Tables& tables) : tables_(tables) {}
  Status declare(Declarations& declare);
  // `region`: of this server, as refusals name it.
  void start(std::string region) { region_ = std::move(region); }

 private:
  Result<v1::ListNamespacesResponse> list(const v1::ListNamespacesRequest& request, Call& call);
  Result<v1::NamespaceResponse> get(const v1::NamespaceRequest& request, Call& call);
  Result<Write<v1::ApplyNamespaceResponse>> apply(const v1::ApplyNamespaceRequest& request, Call& call);
  Result<Write<v1::DeleteNamespaceResponse>> erase(const v1::NamespaceRequest& request, Call& call);

  const Tables& tables_;
  std::string region_;  // constant after start
};

}  // namespace drover::namespaces

// This node proves itself to the servers by the identity that they gave it or, while they have given none, its secret.
//
//   secret ──Register, Heartbeat: a token──▶ identity (on the disk) ──a later answer──▶ the next identity
//      ▲                                        │
//      └────── the servers do not believe it ───┘
//
// Owned by the plugin. [any]
#pragma once

#include <functional>
#include <string>

#include "agent_store.h"
#include "drover/methods.h"
#include "drover/mutex.h"

namespace drover::v1 {
class ClientResponse;
class NodeIdentityRequest;
class NodeIdentityResponse;
}  // namespace drover::v1

namespace drover::agent {

class NodeProof {
 public:
  // `changed` is told of every proof that takes the place of another, in the form for requests; `wanted`: a new one is
  // asked for. Neither may block. Before this the handlers answer unavailable. Errors: those of the store.
  Status open(AgentStore& store, const std::string& secret, std::function<void(const std::string& proof)> changed,
              std::function<void()> wanted);

  std::string in_context() const;  // beside a call
  std::string in_request() const;  // in its message
  std::string identity() const;    // empty: there is none

  void replace(const std::string& identity);
  // The servers do not believe that identity any more. Does nothing when it was replaced meanwhile.
  void drop(const std::string& identity);
  // True from a call of renew on until the next identity is there.
  bool wants_identity() const;

  Result<v1::NodeIdentityResponse> get(const v1::NodeIdentityRequest& request, Call& call);
  Result<v1::ClientResponse> renew(const v1::NodeIdentityRequest& request, Call& call);

 private:
  void keep(const std::string& identity) DROVER_REQUIRES(mutex_);

  mutable Mutex mutex_;
  AgentStore* store_ DROVER_GUARDED_BY(mutex_) = nullptr;
  std::string secret_ DROVER_GUARDED_BY(mutex_);    // as text
  std::string identity_ DROVER_GUARDED_BY(mutex_);  // empty: none
  bool wants_identity_ DROVER_GUARDED_BY(mutex_) = false;
  std::function<void(const std::string& proof)> changed_ DROVER_GUARDED_BY(mutex_);
  std::function<void()> wanted_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::agent

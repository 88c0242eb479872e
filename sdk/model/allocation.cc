#include "drover/model/allocation.h"

#include "drover/v1/allocation.pb.h"

namespace drover {

bool server_terminal(const v1::Allocation& alloc) {
  return alloc.desired_status() == v1::DESIRED_STATUS_STOP || alloc.desired_status() == v1::DESIRED_STATUS_EVICT;
}

bool client_terminal(v1::ClientStatus status) {
  return status == v1::CLIENT_STATUS_COMPLETE || status == v1::CLIENT_STATUS_FAILED || status == v1::CLIENT_STATUS_LOST;
}

bool client_terminal(const v1::Allocation& alloc) { return client_terminal(alloc.client_status()); }

bool terminal(const v1::Allocation& alloc) { return server_terminal(alloc) || client_terminal(alloc); }

}  // namespace drover

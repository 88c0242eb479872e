// Answers the calls about services: those of people and those of nodes.
#pragma once

#include "drover/plugin.h"
#include "tables.h"

namespace drover::v1 {
class AllocationServicesRequest;
class DeleteServiceRequest;
class DeleteServiceResponse;
class GetServiceRequest;
class JobServicesRequest;
class ListServicesRequest;
class ListServicesResponse;
class ServiceRegistrationsResponse;
class SyncNodeServicesRequest;
class SyncNodeServicesResponse;
}  // namespace drover::v1

namespace drover::services {

class Rpc {
 public:
  explicit Rpc(const Tables& tables) : tables_(tables) {}
  Status declare(Declarations& declare);
  void start(Host& host) { host_ = &host; }

  Result<v1::ListServicesResponse> list(const v1::ListServicesRequest& request, Call& call);
  Result<v1::ServiceRegistrationsResponse> get(const v1::GetServiceRequest& request, Call& call);
  Result<Write<v1::DeleteServiceResponse>> erase(const v1::DeleteServiceRequest& request, Call& call);
  Result<v1::ServiceRegistrationsResponse> of_job(const v1::JobServicesRequest& request, Call& call);
  Result<v1::ServiceRegistrationsResponse> of_allocation(const v1::AllocationServicesRequest& request, Call& call);
  Result<Write<v1::SyncNodeServicesResponse>> sync(const v1::SyncNodeServicesRequest& request, Call& call);

 private:
  void set_index(Call& call) const;

  const Tables& tables_;
  Host* host_ = nullptr;
};

}  // namespace drover::services

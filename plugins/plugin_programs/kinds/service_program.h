// The service provider that a program brings, as the agent calls it.
#pragma once

#include "drover/service_provider.h"
#include "kinds/described_program.h"

#include "drover/v1/service_provider.pb.h"

namespace drover::plugin_programs {

class ServiceProgram final : public ServiceProvider,
                             public DescribedProgram<v1::DescribeServicesRequest, v1::DescribeServicesResponse> {
 public:
  ServiceProgram(RoleOptions options, ProgramHost& program)
      : DescribedProgram("/drover.v1.ServicePlugin/Describe", std::move(options), program) {}

  // The time that the program says, between a second and an hour.
  std::chrono::nanoseconds sync_every() const override;
  // When the process dies under it, once more on the next one.
  Result<v1::SyncServicesResponse> sync(const v1::SyncServicesRequest& request, std::stop_token stop) override;

 private:
  Status judge(const v1::DescribeServicesResponse&) const override { return ok_status(); }
  Status judge_next(const v1::DescribeServicesResponse&, const v1::DescribeServicesResponse&) const override {
    return ok_status();
  }
};

}  // namespace drover::plugin_programs

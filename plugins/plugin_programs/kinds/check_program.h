// The check provider that a program brings, as the agent calls it.
#pragma once

#include "drover/check_provider.h"
#include "kinds/described_program.h"

#include "drover/v1/check_provider.pb.h"

namespace drover::plugin_programs {

class CheckProgram final : public CheckProvider,
                           public DescribedProgram<v1::DescribeChecksRequest, v1::DescribeChecksResponse> {
 public:
  CheckProgram(RoleOptions options, ProgramHost& program)
      : DescribedProgram("/drover.v1.CheckPlugin/Describe", std::move(options), program) {}

  std::vector<v1::CheckType> types() const override;
  // Waits for a process as long as the check may take, and then that long for its answer. A process that dies under it
  // is an error; one that does not keep the time limit makes the check critical.
  Result<v1::CheckResult> run(const v1::RunCheckRequest& request, std::stop_token stop) override;

 private:
  Status judge(const v1::DescribeChecksResponse& facts) const override;
  Status judge_next(const v1::DescribeChecksResponse& now, const v1::DescribeChecksResponse& next) const override;
};

}  // namespace drover::plugin_programs

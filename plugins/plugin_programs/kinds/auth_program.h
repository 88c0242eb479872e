// The auth method that a program brings, as the agent calls it.
#pragma once

#include "drover/auth_method.h"
#include "kinds/described_program.h"

#include "drover/v1/auth_method.pb.h"

namespace drover::plugin_programs {

class AuthProgram final : public AuthMethod,
                          public DescribedProgram<v1::DescribeAuthRequest, v1::DescribeAuthResponse> {
 public:
  AuthProgram(RoleOptions options, ProgramHost& program)
      : DescribedProgram("/drover.v1.AuthPlugin/Describe", std::move(options), program) {}

  std::string type() const override;
  Flows flows() const override;
  // All of them wait for a process, and but for complete_login are asked once more when it dies under them.
  Result<std::vector<v1::AuthConfigError>> check_config(std::string_view config) override;
  Result<v1::AuthIdentity> login(const v1::AuthLoginRequest& request, std::stop_token stop) override;
  Result<v1::StartAuthLoginResponse> start_login(const v1::StartAuthLoginRequest& request,
                                                 std::stop_token stop) override;
  Result<v1::AuthIdentity> complete_login(const v1::CompleteAuthLoginRequest& request, std::stop_token stop) override;

 private:
  Status judge(const v1::DescribeAuthResponse& facts) const override;
  Status judge_next(const v1::DescribeAuthResponse& now, const v1::DescribeAuthResponse& next) const override;
  Status garbled(const std::string& what) const;
};

}  // namespace drover::plugin_programs

// The check provider "grpc": a service says by grpc.health.v1 that it serves. Any number of checks at a time, on the
// threads of gRPC.
#pragma once

#include "drover/check_provider.h"
#include "drover/hclspec.h"
#include "health_call.h"

namespace drover::check_grpc {

hclspec::Spec options_schema();
// Errors: invalid_argument naming the option. Pure.
Result<HealthQuestion> question_of(const v1::RunCheckRequest& request);
// By the serialized answer, or by the error of the call. Errors: cancelled. Pure.
Result<v1::CheckResult> judge(const Result<std::string>& answer);

class GrpcChecks final : public CheckProvider {
 public:
  std::vector<v1::CheckType> types() const override;
  Result<v1::CheckResult> run(const v1::RunCheckRequest& request, std::stop_token stop) override;
  bool begin(const v1::RunCheckRequest& request, std::stop_token stop, Told told) override;
  void stop() override { calls_.stop(); }

 private:
  HealthCalls calls_;
};

}  // namespace drover::check_grpc

// A check provider, a service provider and an auth method without fault, and what the kit tries them with.
#pragma once

#include <mutex>
#include <string>

#include "drover/auth_method.h"
#include "drover/check_provider.h"
#include "drover/conformance.h"
#include "drover/service_provider.h"

namespace drover::faulty {

// Its one type, "told", comes out as the option `result` says.
class ReferenceChecks final : public CheckProvider {
 public:
  std::vector<v1::CheckType> types() const override;
  Result<v1::CheckResult> run(const v1::RunCheckRequest& request, std::stop_token stop) override;
};

// Publishes into the option `folder` of its configuration: a file a node, a line an instance.
class ReferenceServices final : public ServiceProvider {
 public:
  hashicorp::nomad::plugins::shared::hclspec::Spec config_schema() const override;
  Status configure(const hashicorp::nomad::plugins::base::proto::SetConfigRequest& request) override;
  Result<v1::SyncServicesResponse> sync(const v1::SyncServicesRequest& request, std::stop_token stop) override;

 private:
  std::mutex mutex_;
  std::string folder_;  // guarded by mutex_
};

// Knows the users of its Config, {"Users": {"ada": "password"}}, by "ada:password"; a visit of its URL gives a code.
class ReferenceAuth final : public AuthMethod {
 public:
  std::string type() const override { return "Reference"; }
  Flows flows() const override { return {.token = true, .browser = true}; }
  Result<std::vector<v1::AuthConfigError>> check_config(std::string_view config) override;
  Result<v1::AuthIdentity> login(const v1::AuthLoginRequest& request, std::stop_token stop) override;
  Result<v1::StartAuthLoginResponse> start_login(const v1::StartAuthLoginRequest& request,
                                                 std::stop_token stop) override;
  Result<v1::AuthIdentity> complete_login(const v1::CompleteAuthLoginRequest& request, std::stop_token stop) override;
};

// `folder` is there, for what is published.
conformance::Setup kinds_setup(const std::string& folder);

}  // namespace drover::faulty

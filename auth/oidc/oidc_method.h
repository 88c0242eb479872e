// The auth method "OIDC": logs people in with a browser, by OpenID Connect's authorization code flow with PKCE.
#pragma once

#include "config.h"
#include "drover/auth_method.h"
#include "drover/clock.h"
#include "drover/provider.h"

namespace drover::oidc {

class OidcMethod final : public AuthMethod {
 public:
  explicit OidcMethod(Clock& clock) : clock_(clock), providers_(clock) {}
  OidcMethod() : OidcMethod(system_clock_) {}

  std::string type() const override { return "OIDC"; }
  Flows flows() const override { return {.browser = true}; }
  Result<std::vector<v1::AuthConfigError>> check_config(std::string_view config) override;
  // Errors of both: invalid_argument for the Config or the redirect; else those of the provider, internal
  // `failed to generate OIDC provider: …` and `failed to exchange token with provider: …`.
  Result<v1::StartAuthLoginResponse> start_login(const v1::StartAuthLoginRequest& request,
                                                 std::stop_token stop) override;
  // Errors also: unauthenticated.
  Result<v1::AuthIdentity> complete_login(const v1::CompleteAuthLoginRequest& request, std::stop_token stop) override;

 private:
  struct Tokens {
    std::string id, access;  // secret
  };
  Result<Tokens> exchange(const v1::CompleteAuthLoginRequest& request, const Config& config,
                          const provider::Description& described, const std::string& verifier, std::stop_token stop);
  Result<jose::Claims> verified(const Tokens& tokens, const v1::CompleteAuthLoginRequest& request, const Config& config,
                                const provider::Description& described, std::stop_token stop);
  Result<jose::Claims> with_userinfo(jose::Claims claims, const Config& config, const std::string& access_token,
                                     const provider::Description& described, std::stop_token stop);

  SystemClock system_clock_;
  Clock& clock_;
  provider::Providers providers_;
};

}  // namespace drover::oidc

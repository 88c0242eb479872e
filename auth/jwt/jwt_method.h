// The auth method "JWT": logs in by a token that somebody else signed, such as a build service or a cloud.
#pragma once

#include "config.h"
#include "drover/auth_method.h"
#include "drover/clock.h"
#include "drover/provider.h"

namespace drover::jwt {

// Everything but the signature, in the order in which people look for what is wrong. `now` in seconds since 1970.
// Errors: invalid_argument with the words that the API has for it.
Status check_token(const jose::Token& token, const Config& config, int64_t now);

class JwtMethod final : public AuthMethod {
 public:
  explicit JwtMethod(Clock& clock) : clock_(clock), providers_(clock) {}
  JwtMethod() : JwtMethod(system_clock_) {}

  std::string type() const override { return "JWT"; }
  Flows flows() const override { return {.token = true}; }
  Result<std::vector<v1::AuthConfigError>> check_config(std::string_view config) override;
  // Errors: unauthenticated; unavailable, where keys cannot be had; invalid_argument for the Config.
  Result<v1::AuthIdentity> login(const v1::AuthLoginRequest& request, std::stop_token stop) override;

 private:
  Result<provider::Providers::Keys> keys_for(const jose::Token& token, const Config& config, std::stop_token stop);

  SystemClock system_clock_;
  Clock& clock_;
  provider::Providers providers_;
};

}  // namespace drover::jwt

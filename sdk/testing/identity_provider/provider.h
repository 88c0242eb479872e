// An OpenID Connect provider on this machine, for tests of logins. It also signs tokens for logins without a browser.
// Misbehaves on request:
//
//   claims      laid over those of the ID token; null takes one away
//   algorithm   of the ID token: "none", "HS256" by the public key, "PS256"
//   kid         of the ID token's header
//   rotated     a second key signs, and is the only one that is published
//   userinfo    laid over what userinfo says
//   description laid over the description of the provider
//   trouble     path → "500", "silence", "long" (10 MiB), "redirects" (for ever), "elsewhere" (to another place)
//   denies      the person says no: error=access_denied
//   posts       takes the client's secret in the form only
//   client_key  the client's public key in PEM: it proves itself by a token (RFC 7523), and by nothing else
//   shared_key  the same by HS256 with this secret
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sdk/testing/identity_provider/web_server.h"

namespace drover::testing {

class SigningKey;

inline constexpr const char* kClientId = "drover";
inline constexpr const char* kClientSecret = "not s+ecret/=";
inline constexpr const char* kSubject = "ada";

class IdentityProvider {
 public:
  explicit IdentityProvider(bool has_tls = false);
  ~IdentityProvider();

  std::string issuer() const;
  std::string ca() const;  // PEM; empty without TLS
  // Switches, a JSON object in place of the one before.
  void set(std::string_view switches);
  int asked(const std::string& path) const;  // how often
  const SigningKey& key() const;             // that signs now
  // Goes to the URL as a person's browser does, and says what it brings back: the query of the redirect.
  static Result<std::map<std::string, std::string>> visit(const std::string& url);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace drover::testing

// An auth method: finds out who somebody is, by what that person or program shows.
//
//   configure ──▶ ready ── check_config ──▶ every error of a method's Config      when an operator writes the method
//                   │
//                   ├── login(token) ──────────────────────────────────────▶ identity       flow "token"
//                   │
//                   ├── start_login ──▶ URL ──▶ browser ──▶ code ──▶ complete_login ──▶ identity       flow "browser"
//                   │                    └ `kept` lies with the host ┘
//                   └──stop──▶ (nothing is called any more)
//
// The messages are those of drover/v1/auth_method.proto. One plugin serves every auth method of its type; each call
// carries the Config of the one that is meant. Calls come in parallel, from any thread. A plugin keeps no state between
// calls: what a login needs later it returns as `kept`, which the host holds for ten minutes at most and gives back
// once. So it may die and be started anew at any time: a login that dies with it fails and is tried again by the
// person. The host makes `state`, compares it and the client's nonce when the browser comes back, and asks the plugin
// only then; what the answer means in policies and roles is the host's, too.
//
// Secrets: tokens, codes, `kept` and passwords in a Config appear in no log line, no text of an error, no path of one
// and no claim. The SDK takes token, code and `kept` out of the texts of errors should they get there; standard error
// is the plugin's own care. The conformance kit looks at both.
//
// Errors: unauthenticated for somebody who is not who they claim to be (say no more than that: which part was wrong
// helps the wrong people); invalid_argument for a Config that check_config refuses; deadline_exceeded or any other code
// when it could not find out, with a sentence that says what failed.
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "drover/configurable.h"
#include "drover/plugin_kind.h"

namespace drover::v1 {
class AuthConfigError;
class AuthIdentity;
class AuthLoginRequest;
class CompleteAuthLoginRequest;
class StartAuthLoginRequest;
class StartAuthLoginResponse;
}  // namespace drover::v1

namespace drover {

inline constexpr size_t kMaxLoginToken = 16 << 10;  // bytes
inline constexpr size_t kMaxKeptLogin = 4096;       // bytes

class AuthMethod : public Configurable {
 public:
  static constexpr PluginKind kKind{.type = 1003,
                                    .point = "auth_method",
                                    .word = "auth",
                                    .name = "auth method",
                                    .protocol = "drover/v1/auth_method.proto"};
  static constexpr std::string_view kExtensionPoint = kKind.point;

  // As operators write it in an auth method: "LDAP". Letters, digits, '_' and '-', compared without case. Constant, and
  // asked for before configure().
  virtual std::string type() const = 0;

  // The ways to log in, at least one. Constant, and asked for before configure().
  struct Flows {
    bool token = false;
    bool browser = false;
  };
  virtual Flows flows() const = 0;

  // Every error of a method's Config, a JSON object; none: logins may be tried with it. Looks at the text alone and
  // reaches out to nobody: it comes when an operator writes the method, on whatever server that is. Ten seconds,
  // idempotent. An error of the call itself says that it could not look.
  virtual Result<std::vector<v1::AuthConfigError>> check_config(std::string_view config) = 0;

  // Says who shows this token. `stop` is requested when nobody waits any more, at the latest after 30 seconds.
  // Idempotent: when the plugin dies under it the host asks the next process once.
  virtual Result<v1::AuthIdentity> login(const v1::AuthLoginRequest& request, std::stop_token stop);

  // Where the person's browser is to go: an https or http URL that carries the request's `state` and leads back to its
  // `redirect_uri`. `stop` and repetition as with login().
  virtual Result<v1::StartAuthLoginResponse> start_login(const v1::StartAuthLoginRequest& request,
                                                         std::stop_token stop);

  // Says who came back with this code. All but `kept` and `code` is as it was at the start. `stop` as with login(). A
  // code is good once: when the plugin dies under it the login has failed.
  virtual Result<v1::AuthIdentity> complete_login(const v1::CompleteAuthLoginRequest& request, std::stop_token stop);
};

namespace auth {

v1::AuthConfigError config_error(std::string path, std::string problem);
// All of them in one sentence: "JWKSURL: must be …; …".
std::string text_of(std::span<const v1::AuthConfigError> errors);
// Somebody is not who they claim to be.
inline Status refused(std::string why) { return {Code::unauthenticated, std::move(why)}; }

// [A-Za-z][A-Za-z0-9_-]*, at most 64 bytes.
bool is_type_name(std::string_view name);

// The parts of a token that nobody may read: all of it, and of a "name:password" the password and each of its parts
// between colons. Views of the token. Parts of less than four bytes are left out: they would hide half of the words.
std::vector<std::string_view> secrets_of(std::string_view token);

// The error with the secrets of each of these tokens in its text replaced by "[secret]".
Status without_secrets(const Status& status, std::span<const std::string_view> tokens);

}  // namespace auth
}  // namespace drover

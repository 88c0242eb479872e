// A Vault on this machine, for tests: the calls that drover makes, over plain HTTP. A login by JWT is checked against
// the keys that the cluster publishes. What it knows is set by orders, JSON objects whose members are carried out:
//
//   jwks     the URL of the keys that sign identities; without it every identity is believed, and its text is the JWT
//   lease    seconds that a token is granted for, at each login and renewal; 0: it does not end
//   renewable  false: tokens are not
//   roles    the list of known roles
//   put      {"path": …, "data": {…}}: a secret, below kv/ (version 1) or secret/ (version 2, without data/)
//   delete   a path
//   forget   true: no token is known any more
//   sealed   true or false
//   fail     {"path": STATUS}: what begins so is answered with that; 0 ends it
//
// The token "root" enables the auth method jwt-nomad, sets its keys and adds roles, as an administrator does.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/testing/identity_provider/web_server.h"

namespace drover::testing {

class FakeVault {
 public:
  FakeVault();
  ~FakeVault();

  std::string address() const;
  void order(std::string_view json);
  // How often that path was asked, without "/v1/".
  int asked(const std::string& path) const;
  // The tokens that are good now, in the order of their making.
  std::vector<std::string> tokens() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace drover::testing

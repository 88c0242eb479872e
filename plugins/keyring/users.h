// Those who keep bytes that a root key sealed. Set at the start, thus not for apply functions. [any]
#pragma once

#include <string_view>
#include <vector>

#include "drover/keyring.h"
#include "drover/plugin.h"

namespace drover::keyring {

class Users {
 public:
  void start(const Host& host) {
    for (const std::string& name : host.extensions<KeyUser>()) add(*host.extension<KeyUser>(name));
  }
  void add(const KeyUser& user) { users_.push_back(&user); }

  // How much is sealed by the key, up to `most`.
  uint64_t uses(const ReadView& view, std::string_view key_id, uint64_t most) const {
    uint64_t uses = 0;
    for (const KeyUser* user : users_) {
      if (uses < most) uses += user->uses(view, key_id, most - uses);
    }
    return uses;
  }

 private:
  std::vector<const KeyUser*> users_;
};

}  // namespace drover::keyring

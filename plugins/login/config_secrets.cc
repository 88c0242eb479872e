#include "config_secrets.h"

#include <algorithm>

#include "drover/api/logins.pb.h"
#include "login.pb.h"
#include "redaction.h"

namespace drover::login {
namespace {

constexpr int kResealedAtOnce = 50;  // a Config may be large

std::string place_of(const v1::AclAuthMethod& method) { return "acl_auth_method:" + method.name(); }

Status no_keyring() {
  return failed_precondition("auth methods with secrets need the plugin keyring on servers; enable it");
}

}  // namespace

Status ConfigSecrets::seal(const ReadView& view, v1::AclAuthMethod& method) const {
  method.clear_config_key_id();
  method.clear_sealed_config();
  if (!has_secrets(method.config())) return ok_status();
  if (!keys_) return no_keyring();
  DROVER_TRY(Keyring::Sealed sealed, keys_->seal(view, method.config(), place_of(method)));
  method.set_config_key_id(std::move(sealed.key_id));
  method.set_sealed_config(std::move(sealed.bytes));
  method.set_config(redacted(method.config()));
  return ok_status();
}

Status ConfigSecrets::open(v1::AclAuthMethod& method) const {
  if (!method.sealed_config().empty()) {
    if (!keys_) return no_keyring();
    DROVER_TRY(*method.mutable_config(), keys_->open(method.config_key_id(), method.sealed_config(), place_of(method)));
  }
  method.clear_config_key_id();
  method.clear_sealed_config();
  return ok_status();
}

std::optional<v1::AclAuthMethodsResealed> ConfigSecrets::next_resealed(const ReadView& view, const Tables& tables,
                                                                       size_t& failed) const {
  failed = 0;
  if (!keys_) return std::nullopt;
  const std::vector<std::string> retiring = keys_->retiring(view);
  v1::AclAuthMethodsResealed command;
  tables.methods.scan(view, kPrimary, KeyRange::all(), [&](v1::AclAuthMethod& method, std::string_view) {
    const bool is_sealed = !method.sealed_config().empty();
    const bool is_due = is_sealed ? std::ranges::find(retiring, method.config_key_id()) != retiring.end()
                                  : has_secrets(method.config());
    if (!is_due) return true;
    if (open(method).ok() && seal(view, method).ok()) {
      *command.add_methods() = std::move(method);
    } else {
      ++failed;
    }
    return command.methods_size() < kResealedAtOnce;
  });
  if (command.methods().empty()) return std::nullopt;
  return command;
}

}  // namespace drover::login

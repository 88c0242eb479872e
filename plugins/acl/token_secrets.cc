#include "token_secrets.h"

#include "acl.pb.h"
#include "drover/sha256.h"
#include "drover/v1/acl.pb.h"

namespace drover::acl {
namespace {

constexpr int kResealedAtOnce = 500;

std::string place_of(const v1::AclToken& token) { return "acl_token:" + token.accessor_id(); }

}  // namespace

Status TokenSecrets::seal(const ReadView& view, v1::AclToken& token) const {
  if (!keys_) return failed_precondition("access control needs the plugin keyring on servers; enable it");
  DROVER_TRY(Keyring::Sealed sealed, keys_->seal(view, token.secret_id(), place_of(token)));
  token.set_secret_digest(sha256(token.secret_id()));
  token.set_secret_key_id(std::move(sealed.key_id));
  token.set_sealed_secret(std::move(sealed.bytes));
  token.clear_secret_id();
  return ok_status();
}

Status TokenSecrets::open(v1::AclToken& token) const {
  if (!token.sealed_secret().empty()) {
    if (!keys_) return failed_precondition("access control needs the plugin keyring on servers; enable it");
    DROVER_TRY(*token.mutable_secret_id(),
               keys_->open(token.secret_key_id(), token.sealed_secret(), place_of(token)));
  }
  token.clear_secret_digest();
  token.clear_secret_key_id();
  token.clear_sealed_secret();
  return ok_status();
}

std::optional<v1::AclTokensResealed> TokenSecrets::next_resealed(const ReadView& view, const Tables& tables) const {
  v1::AclTokensResealed command;
  if (!keys_) return std::nullopt;
  for (const std::string& key : keys_->retiring(view)) {
    tables.tokens.scan(view, kTokensByKey, KeyRange::prefix(key), [&](v1::AclToken& token, std::string_view) {
      if (open(token).ok() && seal(view, token).ok()) *command.add_tokens() = std::move(token);
      return command.tokens_size() < kResealedAtOnce;
    });
  }
  if (command.tokens().empty()) return std::nullopt;
  return command;
}

void put_away_one_time_secret(v1::OneTimeToken& token) {
  token.set_secret_digest(sha256(token.one_time_secret_id()));
  token.clear_one_time_secret_id();
}

void keep_secret(const v1::AclToken& from, v1::AclToken& to) {
  to.set_secret_id(from.secret_id());
  to.set_secret_digest(from.secret_digest());
  to.set_secret_key_id(from.secret_key_id());
  to.set_sealed_secret(from.sealed_secret());
}

}  // namespace drover::acl

#include "keys.h"

#include <nlohmann/json.hpp>

#include "crypto/cipher.h"
#include "crypto/token.h"
#include "drover/api/keyring.pb.h"
#include "drover/base64url.h"
#include "drover/uuid.h"
#include "keyring.pb.h"

namespace drover::keyring {
namespace {

using Json = nlohmann::json;

const Signer& signer_of(const Material& key, bool is_rsa) { return is_rsa ? key.rsa() : key.ed25519(); }

}  // namespace

Status Keys::start(std::unique_ptr<KeyFiles> files) {
  const MutexLock waiting(files_mutex_);
  files_ = std::move(files);
  DROVER_TRY(const auto keys, files_->load());
  const MutexLock lock(mutex_);
  for (const auto& key : keys) held_[key->id()] = key;
  return ok_status();
}

std::shared_ptr<const Material> Keys::find(const std::string& key_id) const {
  const MutexLock lock(mutex_);
  const auto at = held_.find(key_id);
  return at == held_.end() ? nullptr : at->second;
}

Status Keys::add(const v1::KeyMaterial& message) {
  DROVER_TRY(const auto key, Material::read(message));
  const MutexLock waiting(files_mutex_);
  if (find(key->id())) return ok_status();
  DROVER_RETURN_IF_ERROR(files_->write(*key));
  const MutexLock lock(mutex_);
  held_[key->id()] = key;
  return ok_status();
}

Status Keys::remove(const std::string& key_id) {
  const MutexLock waiting(files_mutex_);
  DROVER_RETURN_IF_ERROR(files_->remove(key_id));
  const MutexLock lock(mutex_);
  held_.erase(key_id);
  return ok_status();
}

Result<std::shared_ptr<const Material>> Keys::active(const ReadView& view) const {
  const auto row = active_key(view, tables_);
  if (!row) return failed_precondition("keyring has not been initialized yet");
  auto key = find(row->key_id());
  if (!key) return no_such_key(row->key_id());
  return key;
}

Result<Keyring::Sealed> Keys::seal(const ReadView& view, std::string_view plain, std::string_view associated) {
  DROVER_TRY(const auto key, active(view));
  return Sealed{.key_id = key->id(), .bytes = keyring::seal(key->encryption_key(), plain, associated)};
}

Result<std::string> Keys::open(std::string_view key_id, std::string_view bytes, std::string_view associated) {
  const auto key = find(std::string(key_id));
  if (!key) return no_such_key(std::string(key_id));
  return keyring::open(key->encryption_key(), bytes, associated);
}

Result<std::string> Keys::sign(const ReadView& view, std::string_view claims, Algorithm algorithm) {
  DROVER_TRY(const auto key, active(view));
  const bool is_rsa = algorithm == Algorithm::rs256;
  const std::string text = signing_text(is_rsa ? "RS256" : "EdDSA", key_text(key->id()), claims);
  return text + "." + base64url(signer_of(*key, is_rsa).sign(text));
}

Result<std::string> Keys::verify(std::string_view text) {
  DROVER_TRY(Token token, read_token(text));
  const auto id = Uuid::parse(token.key_id);
  const auto key = id ? find(id->bytes()) : nullptr;
  if (!key) return permission_denied("no such key \"" + token.key_id.substr(0, 64) + "\" in keyring");
  const bool is_rsa = token.algorithm == "RS256";
  if (!is_rsa && token.algorithm != "EdDSA")
    return permission_denied("token refused: its algorithm is none of the key's");
  if (!signer_of(*key, is_rsa).verifies(token.signed_text, token.signature))
    return permission_denied("token refused: the signature is not the key's");
  return std::move(token.claims);
}

std::string Keys::public_keys(const ReadView& view) {
  Json keys = Json::array();
  tables_.keys.scan(view, kPrimary, KeyRange::all(), [&](const v1::RootKey& row, std::string_view) {
    const auto key = find(row.key_id());
    if (!key) return true;
    const std::string id = key_text(key->id());
    keys.push_back({{"use", "sig"}, {"kty", "RSA"}, {"kid", id}, {"alg", "RS256"},
                    {"n", base64url(key->rsa().rsa_modulus())}, {"e", base64url(key->rsa().rsa_exponent())}});
    keys.push_back({{"use", "sig"}, {"kty", "OKP"}, {"kid", id}, {"crv", "Ed25519"}, {"alg", "EdDSA"},
                    {"x", base64url(key->ed25519().ed25519_public())}});
    return true;
  });
  return Json{{"keys", std::move(keys)}}.dump();
}

std::vector<std::string> Keys::retiring(const ReadView& view) {
  std::vector<std::string> ids;
  tables_.keys.scan(view, kPrimary, KeyRange::all(), [&](const v1::RootKey& key, std::string_view) {
    if (key.state() == v1::ROOT_KEY_STATE_REKEYING) ids.push_back(key.key_id());
    return true;
  });
  return ids;
}

}  // namespace drover::keyring

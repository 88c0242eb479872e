#include "material.h"

#include "crypto/cipher.h"
#include "drover/uuid.h"
#include "keyring.pb.h"

namespace drover::keyring {
namespace {

// Each use has a key of its own, so that a weakness of one use says nothing about another.
std::string key_for(const v1::KeyMaterial& message, std::string_view use) {
  return derive(message.root(), message.key_id(), use, kKeyBytes);
}

}  // namespace

std::string key_text(const std::string& id) { return Uuid::from_bytes(id).to_string(); }

Status no_such_key(const std::string& id) { return unavailable("no such key \"" + key_text(id) + "\" in keyring"); }

v1::KeyMaterial Material::make(int64_t now_ns) {
  v1::KeyMaterial made;
  made.set_key_id(Uuid::random().bytes());
  made.set_algorithm(kAlgorithm);
  made.set_create_time(now_ns);
  made.set_root(random_bytes(kKeyBytes));
  made.set_rsa_private(Signer::new_rsa().private_der());
  return made;
}

Result<std::shared_ptr<const Material>> Material::read(const v1::KeyMaterial& message) {
  if (message.key_id().size() != 16) return invalid_argument("the root key has no identifier");
  if (message.algorithm() != kAlgorithm)
    return invalid_argument("the root key is of the algorithm \"" + message.algorithm() + "\", which is not known");
  if (message.root().size() != kKeyBytes) return invalid_argument("the root key does not have 32 bytes");
  DROVER_TRY(Signer rsa, Signer::rsa(message.rsa_private()));
  return std::shared_ptr<const Material>(new Material(message, std::move(rsa)));
}

Material::Material(const v1::KeyMaterial& message, Signer rsa)
    : id_(message.key_id()),
      create_time_(message.create_time()),
      root_(message.root()),
      encryption_(key_for(message, "drover encryption")),
      rsa_private_(message.rsa_private()),
      ed25519_(Signer::ed25519(key_for(message, "drover signing"))),
      rsa_(std::move(rsa)) {}

Material::~Material() {
  wipe(root_);
  wipe(encryption_);
  wipe(rsa_private_);
}

v1::KeyMaterial Material::message() const {
  v1::KeyMaterial message;
  message.set_key_id(id_);
  message.set_algorithm(kAlgorithm);
  message.set_create_time(create_time_);
  message.set_root(root_);
  message.set_rsa_private(rsa_private_);
  return message;
}

}  // namespace drover::keyring

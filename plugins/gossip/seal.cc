#include "seal.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <memory>

#include "drover/base64.h"

namespace drover::gossip {
namespace {

constexpr char kVersion = 1;
constexpr char kClear = 0, kSealed = 1;
constexpr size_t kHeaderBytes = 2, kNonceBytes = 12, kTagBytes = 16;

using Context = std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)>;

const EVP_CIPHER* cipher_of(size_t key_bytes) {
  return key_bytes == 16 ? EVP_aes_128_gcm() : key_bytes == 24 ? EVP_aes_192_gcm() : EVP_aes_256_gcm();
}

const uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<const uint8_t*>(text.data()); }
uint8_t* bytes_of(char* text) { return reinterpret_cast<uint8_t*>(text); }

std::optional<std::string> opened(const std::string& key, std::string_view bytes) {
  const std::string_view nonce = bytes.substr(kHeaderBytes, kNonceBytes);
  const std::string_view text = bytes.substr(kHeaderBytes + kNonceBytes, bytes.size() - Seal::kOverhead);
  std::string tag(bytes.substr(bytes.size() - kTagBytes));
  std::string payload(text.size(), '\0');
  const Context context(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  int size = 0;
  const bool is_good =
      EVP_DecryptInit_ex(context.get(), cipher_of(key.size()), nullptr, bytes_of(key), bytes_of(nonce)) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &size, bytes_of(bytes), kHeaderBytes) == 1 &&
      EVP_DecryptUpdate(context.get(), bytes_of(payload.data()), &size, bytes_of(text),
                        static_cast<int>(text.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(context.get(), bytes_of(payload.data() + size), &size) == 1;
  if (!is_good) return {};
  return payload;
}

Result<std::string> key_bytes(std::string_view base64) {
  const std::string wrong = "the key is not 16, 24 or 32 bytes in base64: ";
  auto key = base64_decode(base64);
  if (!key) return invalid_argument(wrong + key.status().message());
  if (key->size() == 16 || key->size() == 24 || key->size() == 32) return key;
  return invalid_argument(wrong + "it has " + std::to_string(key->size()) + " bytes");
}

}  // namespace

Result<std::string> canonical_key(std::string_view base64) {
  DROVER_TRY(const std::string key, key_bytes(base64));
  return base64_encode(key);
}

Result<Seal> Seal::make(const std::vector<std::string>& base64_keys) {
  Seal seal;
  for (const std::string& each : base64_keys) {
    DROVER_TRY(std::string key, key_bytes(each));
    seal.keys_.push_back(std::move(key));
  }
  return seal;
}

std::string Seal::close(std::string_view payload) const {
  std::string out = {kVersion, keys_.empty() ? kClear : kSealed};
  if (keys_.empty()) return out.append(payload);
  const std::string& key = keys_.front();
  out.resize(kHeaderBytes + kNonceBytes + payload.size() + kTagBytes);
  char* nonce = out.data() + kHeaderBytes;
  char* text = nonce + kNonceBytes;
  DROVER_CHECK(RAND_bytes(bytes_of(nonce), kNonceBytes) == 1);
  const Context context(EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
  int size = 0;
  DROVER_CHECK(EVP_EncryptInit_ex(context.get(), cipher_of(key.size()), nullptr, bytes_of(key), bytes_of(nonce)) == 1);
  DROVER_CHECK(EVP_EncryptUpdate(context.get(), nullptr, &size, bytes_of(out), kHeaderBytes) == 1);
  DROVER_CHECK(EVP_EncryptUpdate(context.get(), bytes_of(text), &size, bytes_of(payload),
                                 static_cast<int>(payload.size())) == 1);
  DROVER_CHECK(EVP_EncryptFinal_ex(context.get(), bytes_of(text + size), &size) == 1);
  DROVER_CHECK(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, text + payload.size()) == 1);
  return out;
}

std::optional<std::string> Seal::open(std::string_view bytes) const {
  if (bytes.size() < kHeaderBytes || bytes[0] != kVersion || bytes[1] != (keys_.empty() ? kClear : kSealed)) return {};
  if (keys_.empty()) return std::string(bytes.substr(kHeaderBytes));
  if (bytes.size() < kOverhead) return {};
  for (const std::string& key : keys_) {
    if (auto payload = opened(key, bytes)) return payload;
  }
  return {};
}

}  // namespace drover::gossip

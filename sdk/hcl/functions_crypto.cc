// Digests, passwords, RSA and UUIDs. The only file of the language that includes OpenSSL and libcrypt.
#include <crypt.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>

#include <array>
#include <memory>

#include "drover/base64.h"
#include "drover/uuid.h"
#include "functions.h"
#include "unicode.h"

namespace drover::hcl {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_PKEY_CTX* context) const { EVP_PKEY_CTX_free(context); }
};

std::string digest(const EVP_MD* algorithm, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  unsigned int size = 0;
  bool is_good = EVP_Digest(bytes.data(), bytes.size(), out.data(), &size, algorithm, nullptr) == 1;
  DROVER_CHECK(is_good);
  return {reinterpret_cast<const char*>(out.data()), size};
}

Function::Call hex_digest(const EVP_MD* (*algorithm)()) {
  return with_count(1, 1, [algorithm](Arguments arguments) -> Result<Value> {
    DROVER_TRY(std::string text, text_argument(arguments, 0));
    std::string out;
    for (char c : digest(algorithm(), text)) {
      auto byte = static_cast<unsigned char>(c);
      (out += "0123456789abcdef"[byte >> 4]) += "0123456789abcdef"[byte & 15];
    }
    return Value(std::move(out));
  });
}

// bcrypt(password, cost = 10). The salt is random, so each call has another result.
Result<Value> bcrypt(Arguments arguments) {
  DROVER_TRY(std::string password, text_argument(arguments, 0));
  int64_t cost = 10;
  if (arguments.size() == 2) {
    DROVER_TRY(cost, integer_argument(arguments, 1));
  }
  constexpr int64_t kMaxCost = 14;  // about a second
  if (cost < 4 || cost > kMaxCost) return invalid_argument("the cost must be between 4 and 14");
  if (password.size() > 72) return invalid_argument("a password has at most 72 bytes");
  if (password.find('\0') != std::string::npos) return invalid_argument("a password has no null character");
  std::array<char, CRYPT_GENSALT_OUTPUT_SIZE> setting;
  if (!crypt_gensalt_rn("$2a$", static_cast<unsigned long>(cost), nullptr, 0, setting.data(), setting.size())) {
    return internal_error("libcrypt makes no salt for bcrypt");
  }
  auto data = std::make_unique<crypt_data>();
  const char* hash = crypt_r(password.c_str(), setting.data(), data.get());
  if (!hash || hash[0] == '*') return internal_error("libcrypt does not know bcrypt");
  return Value(hash);
}

// rsadecrypt(ciphertext in base64, private key in PEM), PKCS #1 version 1.5.
Result<Value> rsa_decrypt(Arguments arguments) {
  DROVER_TRY(std::string text, text_argument(arguments, 0));
  DROVER_TRY(std::string pem, text_argument(arguments, 1));
  auto cipher = base64_decode(text);
  if (!cipher) return cipher.status().with_context("argument 1");
  std::unique_ptr<BIO, Free> source(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  // No pass phrase: a key that wants one is refused, never asked for on a terminal.
  auto no_phrase = [](char*, int, int, void*) { return 0; };
  std::unique_ptr<EVP_PKEY, Free> key(PEM_read_bio_PrivateKey(source.get(), nullptr, no_phrase, nullptr));
  ERR_clear_error();
  if (!key) return invalid_argument("argument 2 is no private key in PEM form without a pass phrase");
  if (EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA) return invalid_argument("argument 2 is no RSA key");
  std::unique_ptr<EVP_PKEY_CTX, Free> context(EVP_PKEY_CTX_new(key.get(), nullptr));
  size_t size = static_cast<size_t>(EVP_PKEY_size(key.get()));
  std::string plain(size, '\0');
  bool is_good = context && EVP_PKEY_decrypt_init(context.get()) == 1 &&
                 EVP_PKEY_CTX_set_rsa_padding(context.get(), RSA_PKCS1_PADDING) == 1 &&
                 EVP_PKEY_decrypt(context.get(), reinterpret_cast<unsigned char*>(plain.data()), &size,
                                  reinterpret_cast<const unsigned char*>(cipher->data()), cipher->size()) == 1;
  ERR_clear_error();
  if (!is_good) return invalid_argument("the text was not encrypted for this key");
  plain.resize(size);
  if (!is_utf8(plain)) return invalid_argument("the decrypted bytes are not UTF-8 text");
  return Value(std::move(plain));
}

// uuidv5(namespace, name): the SHA-1 of both, with the version in it. The namespaces of RFC 4122 have short names.
Result<Value> uuid_v5(Arguments arguments) {
  DROVER_TRY(std::string name_space, text_argument(arguments, 0));
  DROVER_TRY(std::string name, text_argument(arguments, 1));
  static const std::map<std::string, std::string, std::less<>> kKnown = {
      {"dns", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"},
      {"url", "6ba7b811-9dad-11d1-80b4-00c04fd430c8"},
      {"oid", "6ba7b812-9dad-11d1-80b4-00c04fd430c8"},
      {"x500", "6ba7b814-9dad-11d1-80b4-00c04fd430c8"}};
  auto known = kKnown.find(name_space);
  std::optional<Uuid> id = Uuid::parse(known == kKnown.end() ? name_space : known->second);
  if (!id) return invalid_argument("the namespace must be dns, url, oid, x500 or a UUID");
  std::string bytes = digest(EVP_sha1(), id->bytes() + name).substr(0, 16);
  bytes[6] = static_cast<char>((bytes[6] & 0x0f) | 0x50);
  bytes[8] = static_cast<char>((bytes[8] & 0x3f) | 0x80);
  return Value(Uuid::from_bytes(bytes).to_string());
}

}  // namespace

void add_crypto_functions(Functions& functions) {
  functions["md5"] = hex_digest(EVP_md5);
  functions["sha1"] = hex_digest(EVP_sha1);
  functions["sha256"] = hex_digest(EVP_sha256);
  functions["sha512"] = hex_digest(EVP_sha512);
  // A hash takes up to a second, so that an evaluation makes ten of them at most; a decryption takes some milliseconds.
  functions["bcrypt"] = Function(with_count(1, 2, bcrypt)).with_steps(kMaxEvaluationSteps / 10 - 1000);
  functions["rsadecrypt"] = Function(with_count(2, 2, rsa_decrypt)).with_steps(kMaxEvaluationSteps / 1000);
  functions["uuidv4"] = with_count(0, 0, [](Arguments) -> Result<Value> { return Value(Uuid::random().to_string()); });
  functions["uuidv5"] = with_count(2, 2, uuid_v5);
}

}  // namespace drover::hcl

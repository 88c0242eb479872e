#include <crypt.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>

#include "drover/base64.h"
#include "drover/uuid.h"
#include "functions_testing.h"

namespace drover::hcl {
namespace {

TEST(CryptoFunctions, Digests) {
  const FunctionCase cases[] = {
      {R"(md5(""))", R"("d41d8cd98f00b204e9800998ecf8427e")"},
      {R"(md5("abc"))", R"("900150983cd24fb0d6963f7d28e17f72")"},
      {R"(sha1("abc"))", R"("a9993e364706816aba3e25717850c26c9cd0d89d")"},
      {R"(sha256("abc"))", R"("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")"},
      {R"(sha512("abc"))",
       R"("ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f")"},
      {R"(sha256([]))", "sha256: argument 1 must be a string, not list"},
  };
  expect_results(cases);
}

TEST(CryptoFunctions, BcryptMakesAHashThatThePasswordOpens) {
  std::string hash = result_of(R"(bcrypt("secret", 4))");
  hash = hash.substr(1, hash.size() - 2);
  ASSERT_EQ(60u, hash.size()) << hash;
  EXPECT_EQ("$2a$04$", hash.substr(0, 7));

  auto data = std::make_unique<crypt_data>();
  EXPECT_EQ(hash, crypt_r("secret", hash.c_str(), data.get()));
  EXPECT_NE(hash, crypt_r("Secret", hash.c_str(), data.get()));
  EXPECT_NE(hash, result_of(R"(bcrypt("secret", 4))")) << "the salt must differ";
}

TEST(CryptoFunctions, BcryptRefusesWhatItWouldIgnore) {
  const FunctionCase cases[] = {
      {R"(bcrypt("x", 3))", "bcrypt: the cost must be between 4 and 14"},
      {R"(bcrypt("x", 31))", "bcrypt: the cost must be between 4 and 14"},
      {R"(bcrypt("a\u0000b", 4))", "bcrypt: a password has no null character"},
  };
  expect_results(cases);
  EXPECT_EQ("bcrypt: a password has at most 72 bytes", result_of("bcrypt(\"" + std::string(73, 'x') + "\", 4)"));
}

TEST(CryptoFunctions, AnEvaluationMakesAFewHashesOnly) {
  EXPECT_NE(std::string::npos, result_of("length([for i in range(10) : bcrypt(\"x\", 4)])").find("10"));
  EXPECT_NE(std::string::npos, result_of("[for i in range(11) : bcrypt(\"x\", 4)]").find("steps"));
}

std::string text_of(BIO* bio) {
  char* bytes = nullptr;
  auto size = static_cast<size_t>(BIO_get_mem_data(bio, &bytes));
  std::string text(bytes, size);
  BIO_free(bio);
  return text;
}

TEST(CryptoFunctions, RsaDecryptOpensWhatItsKeyEncrypted) {
  EVP_PKEY* key = EVP_RSA_gen(1024);
  ASSERT_NE(nullptr, key);
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  std::string pem = text_of(bio);
  EVP_PKEY_CTX* encryption = EVP_PKEY_CTX_new(key, nullptr);
  EVP_PKEY_encrypt_init(encryption);
  EVP_PKEY_CTX_set_rsa_padding(encryption, RSA_PKCS1_PADDING);
  unsigned char cipher[128];
  size_t size = sizeof cipher;
  ASSERT_EQ(1, EVP_PKEY_encrypt(encryption, cipher, &size, reinterpret_cast<const unsigned char*>("secret"), 6));
  EVP_PKEY_CTX_free(encryption);
  EVP_PKEY_free(key);

  EvalContext context;
  context.functions = standard_functions();
  context.variables["key"] = pem;
  context.variables["text"] = base64_encode({reinterpret_cast<const char*>(cipher), size});
  EXPECT_EQ("\"secret\"", result_of("rsadecrypt(text, key)", context));
  EXPECT_EQ("rsadecrypt: the text was not encrypted for this key", result_of("rsadecrypt(\"AAAA\", key)", context));
  EXPECT_EQ("rsadecrypt: argument 2 is no private key in PEM form without a pass phrase",
            result_of("rsadecrypt(text, \"x\")", context));
  EXPECT_EQ("rsadecrypt: argument 1: this is not base64: character 1", result_of("rsadecrypt(\"-AAA\", key)", context));
}

TEST(CryptoFunctions, Uuids) {
  const FunctionCase cases[] = {
      {R"(uuidv5("dns", "www.widgets.com"))", R"("21f7f8de-8051-5b89-8680-0195ef798b6a")"},
      {R"(uuidv5("6ba7b810-9dad-11d1-80b4-00c04fd430c8", "www.widgets.com"))",
       R"("21f7f8de-8051-5b89-8680-0195ef798b6a")"},
      {R"(uuidv5("nowhere", "x"))", "uuidv5: the namespace must be dns, url, oid, x500 or a UUID"},
      {R"(uuidv4(1))", "uuidv4: expected 0 arguments, got 1"},
  };
  expect_results(cases);
  std::string id = result_of("uuidv4()");
  EXPECT_TRUE(Uuid::parse(id.substr(1, id.size() - 2))) << id;
  EXPECT_NE(id, result_of("uuidv4()"));
}

}  // namespace
}  // namespace drover::hcl

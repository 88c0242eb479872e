// The options of TLS, and the files that they name.
#include "transport/tls_settings.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "drover/config.h"
#include "testing/server_fixture.h"

namespace drover::api {
namespace {

TEST(TlsOptions, AreCheckedBeforeAnythingIsServed) {
  const std::string files = "cert_file = \"c\"\nkey_file = \"k\"\n";
  const struct {
    const char* name;
    std::string text;
    const char* error;  // empty: good
  } cases[] = {
      {"the least", files, ""},
      {"no certificate", "key_file = \"k\"\n", "tls.http needs tls.cert_file, the certificate that this agent shows"},
      {"no key", "cert_file = \"c\"\n", "tls.http needs tls.key_file, the key of its certificate"},
      {"no authority for clients", files + "verify_https_client = true\n",
       "tls.http needs tls.ca_file where verify_https_client is set: the authority of the clients' certificates"},
      {"with an authority", files + "verify_https_client = true\nca_file = \"a\"\n", ""},
      {"the newest version", files + "tls_min_version = \"tls13\"\n", ""},
      {"an old version", files + "tls_min_version = \"tls11\"\n",
       "tls.tls_min_version: unsupported TLS version \"tls11\"; there are tls12 and tls13"},
      {"no version", files + "tls_min_version = \"1.2\"\n",
       "tls.tls_min_version: unsupported TLS version \"1.2\"; there are tls12 and tls13"},
      {"two suites",
       files +
           "tls_cipher_suites = \"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305\"\n",
       ""},
      {"CBC", files + "tls_cipher_suites = \"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256\"\n",
       "tls.tls_cipher_suites: unsupported TLS cipher \"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256\"; there are: "},
      {"plain RSA", files + "tls_cipher_suites = \"TLS_RSA_WITH_AES_128_GCM_SHA256\"\n",
       "tls.tls_cipher_suites: unsupported TLS cipher \"TLS_RSA_WITH_AES_128_GCM_SHA256\"; there are: "},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto block = parse_config("agent.hcl", c.text);
    ASSERT_TRUE(block.ok()) << block.status().message();
    const auto settings = tls_settings(*block);
    EXPECT_EQ(settings.ok(), *c.error == '\0') << settings.status().message();
    EXPECT_TRUE(settings.status().message().starts_with(c.error)) << settings.status().message();
  }
}

TEST(TlsOptions, HaveTheirDefaults) {
  const auto block = parse_config("agent.hcl", "cert_file = \"c\"\nkey_file = \"k\"\n");
  const auto settings = tls_settings(*block);
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(settings->min_version, TLS1_2_VERSION);
  EXPECT_EQ(settings->suites.size(), 6u);
  EXPECT_FALSE(settings->verify_clients);
}

std::string problem(const TlsSettings& settings) {
  const auto context = make_tls_context(settings);
  return context ? "" : context.status().message();
}

TEST(TlsFiles, AreNamedWhenTheyCannotBeUsed) {
  const Pair one("one");
  const Pair other("other");
  EXPECT_EQ(problem(one.settings()), "");
  TlsSettings settings = one.settings();
  settings.cert_file = "/nowhere";
  EXPECT_EQ(problem(settings), "tls.cert_file: /nowhere cannot be read");
  settings = one.settings();
  settings.key_file = other.key();
  EXPECT_EQ(problem(settings), "tls.key_file: " + other.key() + " is not the key of the certificate in " + one.cert());
  settings = one.settings();
  settings.key_file = one.cert();
  EXPECT_TRUE(problem(settings).starts_with("tls.key_file: " + one.cert() + " holds no private key"))
      << problem(settings);
  settings = one.settings();
  settings.cert_file = one.key();
  EXPECT_TRUE(problem(settings).starts_with("tls.cert_file: " + one.key() + " holds no certificate"))
      << problem(settings);
  settings = one.settings();
  settings.verify_clients = true;
  settings.ca_file = one.key();
  EXPECT_TRUE(problem(settings).starts_with("tls.ca_file: " + one.key() + " holds no certificate"))
      << problem(settings);
}

// Writes the key into its file anew, with a password.
void lock_key(const Pair& pair) {
  using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
  const std::string file = pair.key();
  std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>> key;
  {
    const Bio in(BIO_new_file(file.c_str(), "r"));
    key.reset(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  }
  const Bio out(BIO_new_file(file.c_str(), "w"));
  ASSERT_EQ(PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), EVP_aes_256_cbc(), "secret", 6, nullptr, nullptr), 1);
}

TEST(TlsFiles, KeysWithAPasswordAreRefusedAndNobodyIsAsked) {
  const Pair pair("locked");
  lock_key(pair);
  EXPECT_TRUE(problem(pair.settings())
                  .starts_with("tls.key_file: " + pair.key() + " holds no private key, or one with a password: "))
      << problem(pair.settings());
}

TEST(TlsFiles, MustFitTheSuites) {
  const Pair pair("suites");
  TlsSettings settings = pair.settings();
  settings.suites = {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"};
  EXPECT_EQ(problem(settings),
            "tls.tls_cipher_suites: none of them goes with the key of " + pair.cert() + ", which is for ECDSA");
  settings.min_version = TLS1_3_VERSION;
  EXPECT_EQ(problem(settings), "") << "its suites go with every key";
}

}  // namespace
}  // namespace drover::api

// Certificates of one's own authority, as OpenSSL's checks of TLS see them.
#include "tls/certificates.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "drover/freed.h"
#include "input.h"

namespace drover::cli {
namespace {

std::unique_ptr<X509, Freed<X509_free>> parsed(const std::string& pem) {
  const std::unique_ptr<BIO, Freed<BIO_free_all>> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return std::unique_ptr<X509, Freed<X509_free>>(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

TlsIdentity authority(std::vector<std::string> permitted = {}) {
  auto made = make_authority({.common_name = "", .permitted = std::move(permitted), .days = 5});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

TEST(Certificates, OfAnAuthoritySignAndNothingElse) {
  const TlsIdentity ca = authority();
  const auto certificate = parsed(ca.cert);
  ASSERT_NE(certificate, nullptr);

  EXPECT_EQ(X509_check_ca(certificate.get()), 1);
  EXPECT_EQ(X509_get_key_usage(certificate.get()), uint32_t{KU_DIGITAL_SIGNATURE | KU_KEY_CERT_SIGN | KU_CRL_SIGN});
  EXPECT_EQ(EVP_PKEY_get_bits(X509_get0_pubkey(certificate.get())), 256);
  const auto text = read_certificate(ca.cert);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->common_name, "Nomad Agent CA " + text->serial);
  EXPECT_EQ(text->issuer, text->common_name);
  EXPECT_TRUE(text->is_authority);
  EXPECT_TRUE(text->permitted.empty());
  EXPECT_EQ(text->expiry.size(), std::string("2027-11-26 12:00:00 +0000 UTC").size()) << text->expiry;
  EXPECT_TRUE(ca.key.starts_with("-----BEGIN PRIVATE KEY-----"));
}

TEST(Certificates, OfAgentsAreForBothEndsAndThoseOfPeopleSayNothing) {
  const TlsIdentity ca = authority();
  for (const bool is_agent : {true, false}) {
    const auto made = make_certificate({.dns_names = {"server.global.nomad", "localhost"},
                                        .ip_addresses = {"127.0.0.1", "::1"},
                                        .is_agent = is_agent,
                                        .days = 3},
                                       ca);
    ASSERT_TRUE(made.ok()) << made.status().message();
    const auto certificate = parsed(made->cert);
    EXPECT_EQ(X509_get_key_usage(certificate.get()), uint32_t{KU_DIGITAL_SIGNATURE | KU_KEY_ENCIPHERMENT});
    EXPECT_EQ(X509_get_extended_key_usage(certificate.get()),
              is_agent ? uint32_t{XKU_SSL_SERVER | XKU_SSL_CLIENT} : UINT32_MAX);
    EXPECT_EQ(X509_check_purpose(certificate.get(), X509_PURPOSE_SSL_CLIENT, 0), 1);
    EXPECT_EQ(X509_check_ca(certificate.get()), 0);
    const auto text = read_certificate(made->cert);
    EXPECT_EQ(text->common_name, "server.global.nomad");
    EXPECT_EQ(text->issuer, read_certificate(ca.cert)->common_name);
    EXPECT_EQ(text->dns_names, (std::vector<std::string>{"server.global.nomad", "localhost"}));
    EXPECT_EQ(text->ip_addresses, (std::vector<std::string>{"127.0.0.1", "::1"}));
  }
}

// The same authority as a tool makes it that gives no key identifiers.
TlsIdentity without_key_identifiers(const TlsIdentity& ca) {
  const auto certificate = parsed(ca.cert);
  const std::unique_ptr<BIO, Freed<BIO_free_all>> in(BIO_new_mem_buf(ca.key.data(), static_cast<int>(ca.key.size())));
  const std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>> key(
      PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  for (const int id : {NID_subject_key_identifier, NID_authority_key_identifier})
    X509_EXTENSION_free(X509_delete_ext(certificate.get(), X509_get_ext_by_NID(certificate.get(), id, -1)));
  EXPECT_GT(X509_sign(certificate.get(), key.get(), EVP_sha256()), 0);
  const std::unique_ptr<BIO, Freed<BIO_free_all>> out(BIO_new(BIO_s_mem()));
  EXPECT_EQ(PEM_write_bio_X509(out.get(), certificate.get()), 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return {.cert = std::string(data, static_cast<size_t>(size)), .key = ca.key};
}

TEST(Certificates, PointAtTheKeyOfTheirAuthorityWhereItHasAName) {
  const TlsIdentity ca = authority();
  for (const TlsIdentity& each : {ca, without_key_identifiers(ca)}) {
    const bool has_name = X509_get0_subject_key_id(parsed(each.cert).get()) != nullptr;
    EXPECT_EQ(has_name, each.cert == ca.cert);
    const auto made = make_certificate({.dns_names = {"a"}, .days = 3}, each);
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_EQ(X509_get0_authority_key_id(parsed(made->cert).get()) != nullptr, has_name);
  }
}

TEST(CertificateFiles, ThatCannotBeReadAreNamed) {
  const std::string folder = ::testing::TempDir();
  const std::string file = folder + "drover-file-" + std::to_string(::getpid());
  EXPECT_EQ(read_file(folder).status().to_string(), "invalid_argument: " + folder + " cannot be read or is empty");
  EXPECT_EQ(read_file(file).status().to_string(), "invalid_argument: " + file + " cannot be read or is empty");
  std::ofstream(file).flush();
  EXPECT_EQ(read_file(file).status().to_string(), "invalid_argument: " + file + " cannot be read or is empty");
  std::ofstream(file) << "a\n";
  EXPECT_EQ(*read_file(file), "a\n");
  std::filesystem::remove(file);
}

TEST(Certificates, NamesOutsideOfWhatTheAuthorityPermitsAreRefused) {
  const TlsIdentity ca = authority({"localhost", "nomad"});
  EXPECT_EQ(read_certificate(ca.cert)->permitted, (std::vector<std::string>{"localhost", "nomad"}));
  EXPECT_TRUE(make_certificate({.dns_names = {"server.global.nomad", "localhost"}, .days = 3}, ca).ok());
  EXPECT_EQ(make_certificate({.dns_names = {"server.global.nomad", "www.example"}, .days = 3}, ca).status().to_string(),
            "failed_precondition: the authority cannot sign this certificate: permitted subtree violation");
}

TEST(Certificates, OfWhatIsNoAuthorityAreRefused) {
  const TlsIdentity ca = authority();
  const TlsIdentity other = authority();
  const auto leaf = make_certificate({.dns_names = {"a"}, .days = 3}, ca);
  ASSERT_TRUE(leaf.ok());
  const struct {
    const char* name;
    TlsIdentity authority;
    const char* error;
  } cases[] = {
      {"no certificate", {"x", ca.key}, "the authority's file holds no certificate in PEM"},
      {"no key", {ca.cert, "x"}, "the authority's key is none in PEM, or has a password"},
      {"another's key", {ca.cert, other.key}, "the key is not that of the authority's certificate"},
      {"no authority", *leaf, "the authority cannot sign this certificate: invalid CA certificate"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(make_certificate({.dns_names = {"a"}, .days = 1}, c.authority).status().message(), c.error);
  }
}

TEST(Certificates, NamesThatAreNoneAreRefused) {
  const TlsIdentity ca = authority();
  for (const char* name : {"", "a,IP:1.2.3.4", "a b", "../a", "a..b", ".a", "a.", "a/b", "\xc3\xa4", "a*b"})
    EXPECT_EQ(make_certificate({.dns_names = {name}, .days = 1}, ca).status().code(), Code::invalid_argument) << name;
  for (const char* address : {"", "localhost", "1.2.3", "1.2.3.4,DNS:a"})
    EXPECT_EQ(make_certificate({.dns_names = {"a"}, .ip_addresses = {address}, .days = 1}, ca).status().code(),
              Code::invalid_argument)
        << address;
  EXPECT_TRUE(make_certificate({.dns_names = {"*.a-b.example"}, .days = 1}, ca).ok());
  EXPECT_EQ(make_authority({.permitted = {"a;b"}, .days = 1}).status().code(), Code::invalid_argument);
  EXPECT_EQ(make_authority({.further = {{"C", "Germany"}}, .days = 1}).status().code(), Code::invalid_argument);
  EXPECT_FALSE(read_certificate(ca.key).ok());
}

TEST(Certificates, ALongNameStandsAmongTheFurtherOnesAlone) {
  const TlsIdentity ca = authority();
  const std::string name = std::string(60, 'a') + "." + std::string(60, 'b');
  const auto made = make_certificate({.dns_names = {name}, .days = 1}, ca);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(read_certificate(made->cert)->common_name, "");
  EXPECT_EQ(read_certificate(made->cert)->dns_names, std::vector<std::string>{name});
}

}  // namespace
}  // namespace drover::cli

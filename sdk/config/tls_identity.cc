// Reads certificates, and makes those of connections to plugins; the command `drover tls` makes those of agents.
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <ctime>
#include <memory>

#include "drover/base64.h"
#include "drover/freed.h"
#include "drover/tls.h"

namespace drover {
namespace {

constexpr long kClockSkew = 30;                 // seconds
constexpr long kLifetime = 262'980L * 60 * 60;  // thirty years, as the protocol has it
constexpr int kSerialBits = 128;

using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;

Status failed(const char* what) { return internal_error(std::string("a key for TLS cannot be made: ") + what); }

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : std::string();
}

bool set_name(X509* certificate) {
  X509_NAME* name = X509_get_subject_name(certificate);
  const auto add = [&](const char* field, const char* value) {
    return X509_NAME_add_entry_by_txt(name, field, MBSTRING_ASC, reinterpret_cast<const unsigned char*>(value), -1, -1,
                                      0) == 1;
  };
  return add("O", "HashiCorp") && add("CN", "localhost") && X509_set_issuer_name(certificate, name) == 1;
}

bool set_extensions(X509* certificate) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  for (const auto& [id, value] :
       {std::pair(NID_key_usage, "critical,digitalSignature,keyEncipherment,keyAgreement,keyCertSign"),
        {NID_ext_key_usage, "clientAuth,serverAuth"},
        {NID_basic_constraints, "critical,CA:TRUE"},
        {NID_subject_alt_name, "DNS:localhost"}}) {
    std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>> extension(
        X509V3_EXT_conf_nid(nullptr, &context, id, value));
    if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1) return false;
  }
  return true;
}

bool set_serial(X509* certificate) {
  const Number serial(BN_new());
  return serial && BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr;
}

Certificate read(std::string_view pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Certificate(bio ? PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr) : nullptr);
}

std::string written(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  return bio && PEM_write_bio_X509(bio.get(), certificate) == 1 ? text_of(bio.get()) : std::string();
}

std::string shown(const ASN1_TIME* time) {
  const Bio bio(BIO_new(BIO_s_mem()));
  return bio && ASN1_TIME_print(bio.get(), time) == 1 ? text_of(bio.get()) : std::string("an unknown time");
}

}  // namespace

Result<TlsIdentity> make_tls_identity() {
  const Key key(EVP_EC_gen("P-521"));
  if (!key) return failed("no key on P-521");
  const Certificate certificate(X509_new());
  if (!certificate || X509_set_version(certificate.get(), X509_VERSION_3) != 1 || !set_serial(certificate.get()) ||
      !X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kClockSkew) ||
      !X509_gmtime_adj(X509_getm_notAfter(certificate.get()), kLifetime) || !set_name(certificate.get()) ||
      X509_set_pubkey(certificate.get(), key.get()) != 1 || !set_extensions(certificate.get()) ||
      X509_sign(certificate.get(), key.get(), EVP_sha512()) == 0)
    return failed("no certificate");
  const Bio secret(BIO_new(BIO_s_mem()));
  if (!secret || PEM_write_bio_PKCS8PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return failed("the key cannot be written");
  return TlsIdentity{.cert = written(certificate.get()), .key = text_of(secret.get())};
}

Result<std::string> certificate_to_base64_der(std::string_view pem) {
  const Certificate certificate = read(pem);
  if (!certificate) return invalid_argument("this is no certificate in PEM");
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate.get(), &der);
  if (size <= 0) return invalid_argument("the certificate has no DER form");
  std::string text = base64_encode({reinterpret_cast<const char*>(der), static_cast<size_t>(size)});
  OPENSSL_free(der);
  text.erase(text.find_last_not_of('=') + 1);
  return text;
}

Result<std::string> certificate_from_base64_der(std::string_view text) {
  std::string padded(text);
  padded.append((4 - padded.size() % 4) % 4, '=');
  DROVER_TRY(const std::string der, base64_decode(padded));
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const Certificate certificate(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
  if (!certificate) return invalid_argument("this is no certificate");
  return written(certificate.get());
}

Status check_certificate_time(std::string_view pem, int64_t now_seconds) {
  const Certificate certificate = read(pem);
  if (!certificate) return invalid_argument("this is no certificate in PEM");
  std::time_t now = now_seconds;
  if (X509_cmp_time(X509_get0_notBefore(certificate.get()), &now) > 0)
    return failed_precondition("the certificate holds only from " + shown(X509_get0_notBefore(certificate.get())) +
                               " on");
  if (X509_cmp_time(X509_get0_notAfter(certificate.get()), &now) < 0)
    return failed_precondition("the certificate held only until " + shown(X509_get0_notAfter(certificate.get())));
  return ok_status();
}

}  // namespace drover

#include "tls/certificates.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>

#include "drover/freed.h"

namespace drover::cli {
namespace {

using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;

constexpr int kSerialBits = 128;
constexpr long kClockSkew = 60;  // seconds
constexpr size_t kMaxName = 253;
constexpr size_t kMaxCommonName = 64;  // RFC 5280, ub-common-name

Status failed(const char* what) {
  ERR_clear_error();
  return internal_error(std::string("OpenSSL cannot make the certificate: ") + what);
}

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : std::string();
}

Bio reading(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

// Nobody is asked for a password in the middle of a command.
int no_password(char*, int, int, void*) { return 0; }

Certificate certificate_of(std::string_view pem) {
  const Bio bio = reading(pem);
  Certificate certificate(bio ? PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr) : nullptr);
  ERR_clear_error();
  return certificate;
}

Key key_of(std::string_view pem) {
  const Bio bio = reading(pem);
  Key key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr) : nullptr);
  ERR_clear_error();
  return key;
}

bool add_extension(X509* certificate, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

using Extensions = std::vector<std::pair<int, std::string>>;

std::string decimal(const ASN1_INTEGER* serial) {
  const Number number(ASN1_INTEGER_to_BN(serial, nullptr));
  char* text = number ? BN_bn2dec(number.get()) : nullptr;
  std::string out = text ? text : "";
  OPENSSL_free(text);
  return out;
}

bool set_serial(X509* certificate) {
  const Number serial(BN_new());
  return serial && BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_subject(X509* certificate, const Subject& subject) {
  X509_NAME* name = X509_get_subject_name(certificate);
  return std::ranges::all_of(subject, [name](const auto& part) {
    return X509_NAME_add_entry_by_txt(name, part.first.c_str(), MBSTRING_UTF8,
                                      reinterpret_cast<const unsigned char*>(part.second.c_str()), -1, -1, 0) == 1;
  });
}

// A new key and its certificate, all but the subject, the extensions and the signature.
Status begin(int days, Key& key, Certificate& certificate) {
  key.reset(EVP_EC_gen("P-256"));
  certificate.reset(X509_new());
  if (!key || !certificate || X509_set_version(certificate.get(), X509_VERSION_3) != 1 ||
      !set_serial(certificate.get()) || !X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kClockSkew) ||
      !X509_time_adj_ex(X509_getm_notAfter(certificate.get()), days, 0, nullptr) ||
      X509_set_pubkey(certificate.get(), key.get()) != 1)
    return failed("no key");
  return ok_status();
}

Result<TlsIdentity> finish(const Key& key, const Certificate& certificate, X509* issuer, EVP_PKEY* issuer_key,
                           const Extensions& extensions) {
  if (X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer)) != 1) return failed("no issuer");
  for (const auto& [id, value] : extensions) {
    if (!add_extension(certificate.get(), issuer, id, value)) return failed(OBJ_nid2ln(id));
  }
  if (X509_sign(certificate.get(), issuer_key, EVP_sha256()) == 0) return failed("no signature");
  const Bio cert(BIO_new(BIO_s_mem()));
  const Bio secret(BIO_new(BIO_s_mem()));
  if (!cert || !secret || PEM_write_bio_X509(cert.get(), certificate.get()) != 1 ||
      PEM_write_bio_PKCS8PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return failed("it cannot be written");
  return TlsIdentity{.cert = text_of(cert.get()), .key = text_of(secret.get())};
}

bool is_ip_address(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

// As OpenSSL writes alternatives: "DNS:one,DNS:two".
std::string alternatives(const std::vector<std::string>& names, const std::string& kind) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + kind + name;
  return text;
}

Status check_names(const CertificateRequest& request) {
  for (const std::string& name : request.dns_names) {
    if (!is_certificate_name(name)) return invalid_argument("\"" + name + "\" is no DNS name");
  }
  for (const std::string& address : request.ip_addresses) {
    if (!is_ip_address(address)) return invalid_argument("\"" + address + "\" is no IP address");
  }
  if (request.dns_names.empty()) return invalid_argument("a certificate needs a name");
  return ok_status();
}

// As the other side of a connection will: the chain, the times, the names that the authority permits.
Status verify(X509* certificate, X509* authority) {
  const std::unique_ptr<X509_STORE, Freed<X509_STORE_free>> store(X509_STORE_new());
  const std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>> check(X509_STORE_CTX_new());
  if (!store || !check || X509_STORE_add_cert(store.get(), authority) != 1 ||
      X509_STORE_CTX_init(check.get(), store.get(), certificate, nullptr) != 1)
    return failed("no store");
  X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(check.get()), X509_V_FLAG_PARTIAL_CHAIN);
  if (X509_verify_cert(check.get()) == 1) return ok_status();
  const std::string why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get()));
  ERR_clear_error();
  return failed_precondition("the authority cannot sign this certificate: " + why);
}

std::string common_name(const X509_NAME* name) {
  const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (at < 0) return {};
  unsigned char* text = nullptr;
  const int size = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
  std::string out = size > 0 ? std::string(reinterpret_cast<char*>(text), static_cast<size_t>(size)) : "";
  OPENSSL_free(text);
  return out;
}

std::string string_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)), static_cast<size_t>(ASN1_STRING_length(text))};
}

std::string address_of(const ASN1_OCTET_STRING* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = ASN1_STRING_length(bytes) == sizeof(in_addr) ? AF_INET : AF_INET6;
  if (family == AF_INET6 && ASN1_STRING_length(bytes) != sizeof(in6_addr)) return {};
  return ::inet_ntop(family, ASN1_STRING_get0_data(bytes), text.data(), text.size()) ? text.data() : "";
}

void read_names(X509* certificate, CertificateText& out) {
  const std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) out.dns_names.push_back(string_of(name->d.dNSName));
    if (name->type == GEN_IPADD) out.ip_addresses.push_back(address_of(name->d.iPAddress));
  }
  const std::unique_ptr<NAME_CONSTRAINTS, Freed<NAME_CONSTRAINTS_free>> constraints(
      static_cast<NAME_CONSTRAINTS*>(X509_get_ext_d2i(certificate, NID_name_constraints, nullptr, nullptr)));
  if (!constraints) return;
  for (int i = 0; i < sk_GENERAL_SUBTREE_num(constraints->permittedSubtrees); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_SUBTREE_value(constraints->permittedSubtrees, i)->base;
    if (name->type == GEN_DNS) out.permitted.push_back(string_of(name->d.dNSName));
  }
}

std::string time_text(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return {};
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S +0000 UTC", &parts)};
}

}  // namespace

bool is_certificate_name(std::string_view name) {
  if (name.starts_with("*.")) name.remove_prefix(2);
  if (name.empty() || name.size() > kMaxName || name.front() == '.' || name.back() == '.' ||
      name.find("..") != std::string_view::npos)
    return false;
  return std::ranges::all_of(
      name, [](unsigned char c) { return c < 0x80 && (std::isalnum(c) || c == '-' || c == '.' || c == '_'); });
}

Result<TlsIdentity> make_authority(const AuthorityRequest& request) {
  for (const std::string& domain : request.permitted) {
    if (!is_certificate_name(domain)) return invalid_argument("\"" + domain + "\" is no domain");
  }
  Key key;
  Certificate certificate;
  DROVER_RETURN_IF_ERROR(begin(request.days, key, certificate));
  Subject subject = request.further;
  subject.emplace_back("CN", request.common_name.empty()
                                 ? "Nomad Agent CA " + decimal(X509_get0_serialNumber(certificate.get()))
                                 : request.common_name);
  if (!set_subject(certificate.get(), subject)) {
    ERR_clear_error();
    return invalid_argument(
        "the subject cannot be used: a country has two letters, other parts are not longer than 64");
  }
  Extensions extensions = {{NID_basic_constraints, "critical,CA:TRUE"},
                           {NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign"},
                           {NID_subject_key_identifier, "hash"},
                           {NID_authority_key_identifier, "keyid:always"}};
  if (!request.permitted.empty())
    extensions.emplace_back(NID_name_constraints, "critical," + alternatives(request.permitted, "permitted;DNS:"));
  return finish(key, certificate, certificate.get(), key.get(), extensions);
}

Result<TlsIdentity> make_certificate(const CertificateRequest& request, const TlsIdentity& authority) {
  DROVER_RETURN_IF_ERROR(check_names(request));
  const Certificate issuer = certificate_of(authority.cert);
  if (!issuer) return failed_precondition("the authority's file holds no certificate in PEM");
  const Key issuer_key = key_of(authority.key);
  if (!issuer_key) return failed_precondition("the authority's key is none in PEM, or has a password");
  if (X509_check_private_key(issuer.get(), issuer_key.get()) != 1) {
    ERR_clear_error();
    return failed_precondition("the key is not that of the authority's certificate");
  }
  Key key;
  Certificate certificate;
  DROVER_RETURN_IF_ERROR(begin(request.days, key, certificate));
  const std::string& name = request.dns_names.front();
  if (name.size() <= kMaxCommonName && !set_subject(certificate.get(), {{"CN", name}})) return failed("no subject");
  std::string names = alternatives(request.dns_names, "DNS:");
  if (!request.ip_addresses.empty()) names += "," + alternatives(request.ip_addresses, "IP:");
  if (name.size() > kMaxCommonName) names = "critical," + names;  // RFC 5280, of a certificate without a subject
  Extensions extensions = {{NID_basic_constraints, "critical,CA:FALSE"},
                           {NID_key_usage, "critical,digitalSignature,keyEncipherment"},
                           {NID_subject_key_identifier, "hash"},
                           {NID_subject_alt_name, names}};
  // Authorities of other tools may have no identifier to point at.
  if (X509_get0_subject_key_id(issuer.get())) extensions.emplace_back(NID_authority_key_identifier, "keyid:always");
  if (request.is_agent) extensions.emplace_back(NID_ext_key_usage, "serverAuth,clientAuth");
  DROVER_TRY(TlsIdentity made, finish(key, certificate, issuer.get(), issuer_key.get(), extensions));
  DROVER_RETURN_IF_ERROR(verify(certificate_of(made.cert).get(), issuer.get()));
  return made;
}

Result<CertificateText> read_certificate(std::string_view pem) {
  const Certificate certificate = certificate_of(pem);
  if (!certificate) return invalid_argument("it holds no certificate in PEM");
  CertificateText out{.serial = decimal(X509_get0_serialNumber(certificate.get())),
                      .issuer = common_name(X509_get_issuer_name(certificate.get())),
                      .common_name = common_name(X509_get_subject_name(certificate.get())),
                      .expiry = time_text(X509_get0_notAfter(certificate.get())),
                      .is_authority = X509_check_ca(certificate.get()) == 1};
  read_names(certificate.get(), out);
  return out;
}

}  // namespace drover::cli

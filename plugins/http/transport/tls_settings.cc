#include "tls_settings.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <boost/asio/ssl/context.hpp>
#include <ctime>

#include "drover/config.h"
#include "drover/log.h"
#include "drover/tls.h"
#include "drover/trim.h"

namespace drover::api {
namespace {

namespace ssl = boost::asio::ssl;
using Error = boost::system::error_code;

struct Suite {
  std::string_view name;     // as configurations say it
  std::string_view openssl;  // as OpenSSL says it
  std::string_view key;      // of the certificate that it goes with
};

// Forward secrecy and authenticated encryption; in the order in which this side prefers them.
constexpr Suite kSuites[] = {
    {"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDSA"},
    {"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384", "RSA"},
    {"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDSA"},
    {"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305", "RSA"},
    {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDSA"},
    {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256", "RSA"},
};

const Suite* suite_of(std::string_view name) {
  const auto found = std::ranges::find(kSuites, name, &Suite::name);
  return found == std::end(kSuites) ? nullptr : &*found;
}

std::string all_suites() {
  std::string text;
  for (const Suite& suite : kSuites) text += (text.empty() ? "" : ", ") + std::string(suite.name);
  return text;
}

Result<std::vector<std::string>> suites_of(std::string_view text) {
  std::vector<std::string> suites;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const std::string_view name = trim(part, " \t");
    if (name.empty()) continue;
    if (!suite_of(name)) {
      return invalid_argument("tls.tls_cipher_suites: unsupported TLS cipher \"" + std::string(name) +
                              "\"; there are: " + all_suites());
    }
    suites.emplace_back(name);
  }
  if (suites.empty()) {
    for (const Suite& suite : kSuites) suites.emplace_back(suite.name);
  }
  return suites;
}

Result<int> version_of(std::string_view text) {
  if (text.empty() || text == "tls12") return TLS1_2_VERSION;
  if (text == "tls13") return TLS1_3_VERSION;
  return invalid_argument("tls.tls_min_version: unsupported TLS version \"" + std::string(text) +
                          "\"; there are tls12 and tls13");
}

Status bad_file(std::string_view option, const std::string& path, const std::string& why) {
  ERR_clear_error();
  return failed_precondition("tls." + std::string(option) + ": " + path + " " + why);
}

// The kind of key that a suite of TLS 1.2 must go with; empty for one that none goes with.
std::string_view key_kind(SSL_CTX* context) {
  const EVP_PKEY* key = SSL_CTX_get0_privatekey(context);
  const int id = EVP_PKEY_get_base_id(key);
  if (id == EVP_PKEY_RSA) return "RSA";
  return id == EVP_PKEY_EC || id == EVP_PKEY_ED25519 || id == EVP_PKEY_ED448 ? "ECDSA" : "";
}

Status set_suites(SSL_CTX* context, const TlsSettings& settings) {
  const std::string_view kind = key_kind(context);
  if (kind.empty()) return bad_file("key_file", settings.key_file, "holds a key of an unsupported signature algorithm");
  std::string list;
  bool fits = false;
  for (const std::string& name : settings.suites) {
    const Suite& suite = *suite_of(name);
    list += (list.empty() ? "" : ":") + std::string(suite.openssl);
    fits = fits || suite.key == kind;
  }
  if (!fits && settings.min_version < TLS1_3_VERSION) {
    return failed_precondition("tls.tls_cipher_suites: none of them goes with the key of " + settings.cert_file +
                               ", which is for " + std::string(kind));
  }
  if (SSL_CTX_set_cipher_list(context, list.c_str()) != 1)
    return failed_precondition("tls.tls_cipher_suites: OpenSSL of this machine does not take " + list);
  return ok_status();
}

Status use_pair(ssl::context& context, const TlsSettings& settings) {
  DROVER_TRY(const std::string cert, read_tls_file("cert_file", settings.cert_file));
  DROVER_TRY(const std::string key, read_tls_file("key_file", settings.key_file));
  Error error;
  // Else OpenSSL asks for a password on the terminal.
  context.set_password_callback([](size_t, ssl::context::password_purpose) { return std::string(); });
  context.use_certificate_chain(boost::asio::buffer(cert), error);
  if (error) return bad_file("cert_file", settings.cert_file, "holds no certificate: " + error.message());
  context.use_private_key(boost::asio::buffer(key), ssl::context::pem, error);
  if (error && ERR_GET_REASON(static_cast<unsigned long>(error.value())) == X509_R_KEY_VALUES_MISMATCH)
    return bad_file("key_file", settings.key_file, "is not the key of the certificate in " + settings.cert_file);
  if (error) {
    return bad_file("key_file", settings.key_file, "holds no private key, or one with a password: " + error.message());
  }
  if (SSL_CTX_check_private_key(context.native_handle()) != 1)
    return bad_file("key_file", settings.key_file, "is not the key of the certificate in " + settings.cert_file);
  // It is used all the same: an agent that does not start is worse than a client that complains.
  if (const Status holds = check_certificate_time(cert, std::time(nullptr)); !holds.ok())
    log::warn("http", "clients will not accept the certificate",
              {{"file", settings.cert_file}, {"error", holds.message()}});
  return ok_status();
}

Status demand_certificates(ssl::context& context, const TlsSettings& settings) {
  DROVER_TRY(const std::string ca, read_tls_file("ca_file", settings.ca_file));
  Error error;
  context.add_certificate_authority(boost::asio::buffer(ca), error);
  if (error) return bad_file("ca_file", settings.ca_file, "holds no certificate: " + error.message());
  context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  return ok_status();
}

}  // namespace

Result<TlsSettings> tls_settings(const ConfigBlock& tls) {
  TlsSettings settings{.ca_file = tls.string("ca_file"),
                       .cert_file = tls.string("cert_file"),
                       .key_file = tls.string("key_file"),
                       .verify_clients = tls.boolean("verify_https_client"),
                       .prefers_own_suites = tls.boolean("tls_prefer_server_cipher_suites")};
  const auto needs = [](std::string_view option, std::string_view why) {
    return invalid_argument("tls.http needs tls." + std::string(option) + std::string(why));
  };
  if (settings.cert_file.empty()) return needs("cert_file", ", the certificate that this agent shows");
  if (settings.key_file.empty()) return needs("key_file", ", the key of its certificate");
  if (settings.verify_clients && settings.ca_file.empty())
    return needs("ca_file", " where verify_https_client is set: the authority of the clients' certificates");
  DROVER_TRY(settings.min_version, version_of(tls.string("tls_min_version")));
  DROVER_TRY(settings.suites, suites_of(tls.string("tls_cipher_suites")));
  return settings;
}

Result<std::shared_ptr<ssl::context>> make_tls_context(const TlsSettings& settings) {
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* const raw = context->native_handle();
  SSL_CTX_set_min_proto_version(raw, settings.min_version);
  // A connection that was resumed would go by the files of an earlier day.
  SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(raw, 0);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  if (settings.prefers_own_suites) SSL_CTX_set_options(raw, SSL_OP_CIPHER_SERVER_PREFERENCE);
  DROVER_RETURN_IF_ERROR(use_pair(*context, settings));
  DROVER_RETURN_IF_ERROR(set_suites(raw, settings));
  if (settings.verify_clients) DROVER_RETURN_IF_ERROR(demand_certificates(*context, settings));
  return context;
}

}  // namespace drover::api

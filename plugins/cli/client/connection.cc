#include "client/connection.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <vector>

#include "input.h"

namespace drover::cli {
namespace {

constexpr long kConnectSeconds = 30;

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  std::string out = text;
  curl_free(text);
  return out;
}

Result<std::string> read_pem(const std::filesystem::path& path, std::string_view option) {
  const auto text = read_file(path);
  if (!text) return invalid_argument(path.string() + " of " + std::string(option) + " cannot be read or is empty");
  return *text + "\n";
}

// In the words of OpenSSL for what the other side has said.
bool refuses_certificate(std::string_view why) {
  if (why.find(" alert ") == std::string_view::npos) return false;
  return std::ranges::any_of(std::array{"unknown ca", "bad certificate", "certificate expired", "certificate revoked",
                                        "certificate unknown", "unsupported certificate"},
                             [why](std::string_view alert) { return why.find(alert) != std::string_view::npos; });
}

}  // namespace

Connection::Connection(const ClientOptions& options) : options_(options) {}

Connection::~Connection() {
  curl_easy_cleanup(curl_);
  curl_slist_free_all(connect_to_);
}

Status Connection::read_address() {
  const std::string& given = options_.address;
  if (given.starts_with("unix:/")) {
    scheme_ = "http";
    host_ = authority_ = "localhost";
    unix_path_ = given.substr(given.starts_with("unix://") ? 7 : 5);
    return unix_path_.empty() ? invalid_argument("address \"" + given + "\" names no socket") : ok_status();
  }
  const std::unique_ptr<CURLU, FreeUrl> url(curl_url());
  const std::string text = given.find("://") == std::string::npos ? "http://" + given : given;
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_DISALLOW_USER);
  scheme_ = part_of(url.get(), CURLUPART_SCHEME);
  host_ = part_of(url.get(), CURLUPART_HOST);
  if (code == CURLUE_USER_NOT_ALLOWED)
    return invalid_argument("the address holds a user; put user:password into NOMAD_HTTP_AUTH");
  if (code == CURLUE_UNSUPPORTED_SCHEME || (code == CURLUE_OK && scheme_ != "http" && scheme_ != "https"))
    return invalid_argument("address \"" + given + "\" begins with neither http://, https:// nor unix://");
  if (code != CURLUE_OK || host_.empty())
    return invalid_argument("address \"" + given + "\" cannot be read: " + curl_url_strerror(code));
  if (part_of(url.get(), CURLUPART_PATH) != "/")
    return invalid_argument("address \"" + given + "\" holds a path; it ends with the host and its port");
  const std::string port = part_of(url.get(), CURLUPART_PORT);
  const std::string& name = options_.tls.server_name;
  authority_ = host_ + ":" + port;
  if (scheme_ == "https" && !name.empty()) {
    connect_to_ = curl_slist_append(nullptr, ("::" + authority_).c_str());
    authority_ = name + ":" + port;
  }
  return ok_status();
}

// OpenSSL looks for files by hashes of names in a folder; people just put them there.
Status Connection::read_authorities() {
  const TlsOptions& tls = options_.tls;
  if (scheme_ != "https" || tls.skip_verify) return ok_status();
  if (!tls.ca_cert.empty()) {
    DROVER_TRY(pem_, read_pem(tls.ca_cert, "-ca-cert (NOMAD_CACERT)"));
    return ok_status();
  }
  if (tls.ca_path.empty()) return ok_status();
  std::error_code error;
  std::vector<std::filesystem::path> files;
  for (std::filesystem::recursive_directory_iterator at(tls.ca_path, error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_regular_file()) files.push_back(at->path());
  }
  if (error || files.empty()) {
    return invalid_argument(tls.ca_path + " of -ca-path (NOMAD_CAPATH) " +
                            (error ? "cannot be read: " + error.message() : "holds no file"));
  }
  std::ranges::sort(files);
  for (const auto& file : files) {
    DROVER_TRY(const std::string more, read_pem(file, "-ca-path (NOMAD_CAPATH)"));
    pem_ += more;
  }
  return ok_status();
}

// As Go's HTTP client does: none to this machine itself.
std::string Connection::proxy() const {
  if (!unix_path_.empty() || host_ == "localhost" || host_.starts_with("127.") || host_ == "[::1]") return {};
  return scheme_ == "https" ? options_.proxies.https : options_.proxies.http;
}

Result<CURL*> Connection::begin(const std::string& target) {
  if (curl_ == nullptr) {
    DROVER_RETURN_IF_ERROR(read_address());
    DROVER_RETURN_IF_ERROR(read_authorities());
    curl_ = curl_easy_init();
    DROVER_CHECK(curl_ != nullptr);
  }
  curl_easy_reset(curl_);
  words_[0] = '\0';
  const auto set = [this](CURLoption option, auto value) {
    DROVER_CHECK(curl_easy_setopt(curl_, option, value) == CURLE_OK);
  };
  set(CURLOPT_ERRORBUFFER, words_.data());
  set(CURLOPT_URL, (scheme_ + "://" + authority_ + target).c_str());
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  set(CURLOPT_PROXY, proxy().c_str());
  set(CURLOPT_NOPROXY, options_.proxies.none_for.c_str());
  if (!unix_path_.empty()) set(CURLOPT_UNIX_SOCKET_PATH, unix_path_.c_str());
  if (connect_to_ != nullptr) set(CURLOPT_CONNECT_TO, connect_to_);
  if (!options_.http_auth.empty()) set(CURLOPT_USERPWD, options_.http_auth.c_str());
  if (scheme_ != "https") return curl_;
  const TlsOptions& tls = options_.tls;
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_SSL_VERIFYPEER, tls.skip_verify ? 0L : 1L);
  set(CURLOPT_SSL_VERIFYHOST, tls.skip_verify ? 0L : 2L);
  if (!pem_.empty()) {
    curl_blob blob{.data = pem_.data(), .len = pem_.size(), .flags = CURL_BLOB_NOCOPY};
    set(CURLOPT_CAINFO_BLOB, &blob);
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // these authorities alone
  }
  if (!tls.client_cert.empty()) {
    set(CURLOPT_SSLCERT, tls.client_cert.c_str());
    set(CURLOPT_SSLKEY, tls.client_key.c_str());
  }
  return curl_;
}

std::string Connection::authorities() const {
  if (!options_.tls.ca_cert.empty()) return options_.tls.ca_cert;
  if (!options_.tls.ca_path.empty()) return "the files of " + options_.tls.ca_path;
  return "this machine's authorities";
}

Status Connection::wants_tls() const {
  return failed_precondition("the agent at " + options_.address +
                             " speaks https; set -address or NOMAD_ADDR to https://" + authority_);
}

Status Connection::failure(CURLcode code) const {
  std::string why = words_[0] == '\0' ? curl_easy_strerror(code) : words_.data();
  const std::string agent = "the agent at " + options_.address;
  long number = 0;
  switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_OPERATION_TIMEDOUT:
      curl_easy_getinfo(curl_, CURLINFO_OS_ERRNO, &number);
      if (number != 0) why = std::generic_category().message(static_cast<int>(number));
      if (!proxy().empty()) why += scheme_ == "https" ? " (HTTPS_PROXY is set)" : " (HTTP_PROXY is set)";
      return unavailable("cannot reach " + agent + ": " + why +
                         "; is it running? Set -address or NOMAD_ADDR to where it is");
    case CURLE_PEER_FAILED_VERIFICATION:
      curl_easy_getinfo(curl_, CURLINFO_SSL_VERIFYRESULT, &number);
      if (number <= 1) {  // the name is judged first: no verdict on the chain yet
        return failed_precondition("the certificate of " + agent + " is for another name: " + why +
                                   "; set -tls-server-name or NOMAD_TLS_SERVER_NAME to the name that it is for");
      }
      return failed_precondition("the certificate of " + agent + " is not good by " + authorities() + ": " + why +
                                 "; set -ca-cert or NOMAD_CACERT to the file of the authority that signed it");
    case CURLE_URL_MALFORMAT:
      return invalid_argument("this path cannot be asked for: " + why + "; write a blank as %20");
    case CURLE_SSL_CACERT_BADFILE:
      return invalid_argument("no certificate can be read from " + authorities() + ": " + why +
                              "; -ca-cert (NOMAD_CACERT) and -ca-path (NOMAD_CAPATH) take files in PEM form");
    case CURLE_SSL_CERTPROBLEM:
      return invalid_argument("the certificate " + options_.tls.client_cert + " with the key " +
                              options_.tls.client_key + " cannot be used: " + why +
                              "; -client-cert (NOMAD_CLIENT_CERT) and -client-key (NOMAD_CLIENT_KEY) take a pair of "
                              "files in PEM form");
    default:
      break;
  }
  const bool is_refused = refuses_certificate(why);
  if (is_refused && !options_.tls.client_cert.empty()) {
    return unavailable("no TLS connection with " + agent + ": " + why + "; it does not accept the certificate " +
                       options_.tls.client_cert + ": set -client-cert and -client-key to a pair of its authority");
  }
  // Some servers call the certificate that they did not get a bad one.
  const bool wants_certificate = is_refused || why.find("certificate required") != std::string::npos;
  if (code != CURLE_SSL_CONNECT_ERROR && !wants_certificate)
    return unavailable("the connection to the agent broke: " + why);
  return unavailable("no TLS connection with " + agent + ": " + why + "; " +
                     (wants_certificate
                          ? "it wants to see a certificate: set -client-cert and -client-key, or NOMAD_CLIENT_CERT and "
                            "NOMAD_CLIENT_KEY"
                          : "does it speak https? If it wants to see a certificate, set -client-cert and -client-key"));
}

}  // namespace drover::cli

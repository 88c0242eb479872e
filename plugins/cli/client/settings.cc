#include "client/settings.h"

#include <optional>

namespace drover::cli {
namespace {

Flag option(std::string name, std::string help) { return {std::move(name), true, "", std::move(help)}; }

// In the words that Go's strconv.ParseBool takes.
std::optional<bool> truth(std::string_view word) {
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    if (word == yes) return true;
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    if (word == no) return false;
  return std::nullopt;
}

}  // namespace

const std::vector<Flag>& client_flags() {
  static const std::vector<Flag> flags = {
      option("address",
             "Address of the agent, http://, https:// or unix://; NOMAD_ADDR. Default: http://127.0.0.1:4646"),
      option("region", "Region to ask; NOMAD_REGION. Default: the agent's"),
      option("namespace", "Namespace; NOMAD_NAMESPACE. Default: default"),
      option("token", "Secret of the token to use; NOMAD_TOKEN"),
      option("ca-cert",
             "File of the authority that signed the agent's certificate; NOMAD_CACERT. Default: this machine's"),
      option("ca-path", "Folder of such files, where -ca-cert is not given; NOMAD_CAPATH"),
      option("client-cert", "File of a certificate to show to the agent, with -client-key; NOMAD_CLIENT_CERT"),
      option("client-key", "File of that certificate's private key; NOMAD_CLIENT_KEY"),
      option("tls-server-name",
             "Name that the agent's certificate is for; NOMAD_TLS_SERVER_NAME. Default: the address's host"),
      {"tls-skip-verify", false, "", "Trust any certificate, which is not safe; NOMAD_SKIP_VERIFY"},
      {"insecure", false, "", "As -tls-skip-verify"},
  };
  return flags;
}

Result<ClientOptions> client_options(const Arguments& arguments,
                                     const std::function<std::string(const std::string&)>& environment) {
  ClientOptions options;
  std::string skip_verify;
  struct Setting {
    const char* flag;
    const char* variable;
    std::string& value;
  };
  for (const Setting& setting : std::initializer_list<Setting>{
           {"address", "ADDR", options.address},
           {"region", "REGION", options.region},
           {"namespace", "NAMESPACE", options.name_space},
           {"token", "TOKEN", options.token},
           {"ca-cert", "CACERT", options.tls.ca_cert},
           {"ca-path", "CAPATH", options.tls.ca_path},
           {"client-cert", "CLIENT_CERT", options.tls.client_cert},
           {"client-key", "CLIENT_KEY", options.tls.client_key},
           {"tls-server-name", "TLS_SERVER_NAME", options.tls.server_name},
           {"tls-skip-verify", "SKIP_VERIFY", skip_verify},
           {nullptr, "HTTP_AUTH", options.http_auth},
       }) {
    if (setting.flag != nullptr && arguments.is_set(setting.flag)) {
      setting.value = arguments.value(setting.flag);
      continue;
    }
    for (const char* prefix : {"NOMAD_", "DROVER_"}) {
      if (std::string value = environment(std::string(prefix) + setting.variable); !value.empty())
        setting.value = std::move(value);
    }
  }
  if (arguments.is_set("insecure") && !arguments.is_set("tls-skip-verify")) skip_verify = arguments.value("insecure");
  if (!skip_verify.empty()) {
    const auto skips = truth(skip_verify);
    if (!skips) return invalid_argument("NOMAD_SKIP_VERIFY is \"" + skip_verify + "\", neither true nor false");
    options.tls.skip_verify = *skips;
  }
  if (options.tls.client_cert.empty() != options.tls.client_key.empty())
    return invalid_argument("-client-cert (NOMAD_CLIENT_CERT) and -client-key (NOMAD_CLIENT_KEY) go together");

  const auto either = [&](const char* upper, const char* lower) {
    const std::string value = environment(upper);
    return value.empty() ? environment(lower) : value;
  };
  options.proxies = {.http = either("HTTP_PROXY", "http_proxy"),
                     .https = either("HTTPS_PROXY", "https_proxy"),
                     .none_for = either("NO_PROXY", "no_proxy")};
  return options;
}

}  // namespace drover::cli

// TLS of the HTTP API: the agent's options checked, and the context for connections made of them. [any]
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace boost::asio::ssl {
class context;
}

namespace drover {
struct ConfigBlock;
}

namespace drover::api {

struct TlsSettings {
  std::string ca_file;  // whose certificates clients must show; empty where they need none
  std::string cert_file;
  std::string key_file;
  bool verify_clients = false;
  bool prefers_own_suites = false;
  int min_version = 0;              // as OpenSSL numbers it
  std::vector<std::string> suites;  // of TLS 1.2, by their standard names; those of 1.3 are not chosen
};

// From the block `tls`. Pure. Errors: invalid_argument naming the option.
Result<TlsSettings> tls_settings(const ConfigBlock& tls);

// Reads the files. Errors: failed_precondition naming the option, the file and what is wrong with it.
Result<std::shared_ptr<boost::asio::ssl::context>> make_tls_context(const TlsSettings& settings);

}  // namespace drover::api

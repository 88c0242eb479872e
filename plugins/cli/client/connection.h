// The way to the agent by libcurl: address, TLS, proxies, credentials and the words of what went wrong, for requests
// and for the WebSocket of exec. For client.cc and exec_client.cc alone. One thread.
#pragma once

#include <curl/curl.h>

#include <array>
#include <memory>
#include <string>

#include "client/settings.h"
#include "drover/result.h"

namespace drover::cli {

class Connection {
 public:
  // `options` outlives it.
  explicit Connection(const ClientOptions& options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // For the next request: nothing of the last is left but the open connection. Errors: invalid_argument, and those of
  // files that cannot be read, naming the option.
  Result<CURL*> begin(const std::string& target);
  // A failed call of libcurl: what failed and the remedy.
  Status failure(CURLcode code) const;
  // The agent was asked in the clear, and speaks TLS.
  Status wants_tls() const;
  // "host:port" as a request names it.
  const std::string& authority() const { return authority_; }

 private:
  Status read_address();
  Status read_authorities();
  std::string authorities() const;
  std::string proxy() const;

  const ClientOptions& options_;
  CURL* curl_ = nullptr;  // from the first request on
  std::array<char, CURL_ERROR_SIZE> words_{};
  std::string unix_path_;
  std::string scheme_, host_, authority_;
  std::string pem_;  // of the authorities; empty for this machine's own
  curl_slist* connect_to_ = nullptr;
};

}  // namespace drover::cli

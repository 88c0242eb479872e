// Asks other programs over HTTP: a registry, a store of secrets, an identity provider. Bounded in time and size;
// redirects are told, not followed. [any]
#pragma once

#include <chrono>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/result.h"

namespace drover::http_client {

// Whom a request by https believes, and as who it comes. Files are read for each request, so that those that are
// replaced count at once.
struct Tls {
  std::string ca_file, ca_path;  // without them and `ca`: the machine's authorities
  std::string ca;                // PEM; in place of files
  std::string cert_file, key_file;
  std::string server_name;  // the name in the server's certificate; empty: the URL's host
  bool is_verified = true;
};

struct Request {
  std::string url;  // http:// or https://
  std::string method = "GET";
  std::vector<std::pair<std::string, std::string>> headers{};  // no names or values with line breaks; may be secret
  std::string body{};
  std::string unix_socket{};  // connects to that path, whatever the URL's host
  Tls tls{};
  std::chrono::milliseconds time_limit{10'000};
  size_t max_answer = 1 << 20;  // bytes
};

struct Answer {
  long status = 0;
  std::map<std::string, std::string> headers;  // names in lower case; of several the last
  std::string body;
  std::string redirect;  // where it leads, absolute; empty: nowhere
};

// Waits, and comes back soon when `stop` is requested. Errors: invalid_argument for a request that cannot be sent;
// unavailable, "ORIGIN: CAUSE", for what failed on the way: neither path nor content is named; cancelled.
Result<Answer> exchange(const Request& request, std::stop_token stop);

// "https://id.example:443": whom a URL speaks to. Empty parts where it is none.
std::string origin_of(const std::string& url);

// A part of a path, a query or a form: all but letters, digits, "-", ".", "_" and "~" becomes %XX.
std::string encoded(std::string_view text);

}  // namespace drover::http_client

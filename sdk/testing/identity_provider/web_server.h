// A small HTTP server on this machine, for tests: one request a connection, a thread each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drover/result.h"

namespace drover::testing {

struct Asked {
  std::string path;  // as it was sent, "%20" for a blank
  std::map<std::string, std::string> query;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  std::string method = {};
};
struct Told {
  unsigned status = 200;
  std::string body;
  std::string location = {};
  std::string type = "application/json";
  bool is_silent = false;  // nothing at all, until the caller goes
  std::map<std::string, std::string> headers = {};
};

class WebServer {
 public:
  // `cert`, `key`: PEM; empty: plain HTTP. `handler` is called by several threads.
  WebServer(const std::string& cert, const std::string& key, std::function<Told(const Asked&)> handler);
  ~WebServer();  // ends every connection
  uint16_t port() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A part of a path or a query without its "%20".
std::string decoded(std::string_view text);
// "a=b&c=d", decoded.
std::map<std::string, std::string> read_form(std::string_view text);

// Where GET of that plain http URL redirects to. Errors: it does not.
Result<std::string> redirect_of(const std::string& url);
// The body of the answer to GET of that.
Result<std::string> page_at(const std::string& url);
// The body of the answer to a POST of that to a plain http URL.
Result<std::string> post(const std::string& url, const std::string& body);

}  // namespace drover::testing

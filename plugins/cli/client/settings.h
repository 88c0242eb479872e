// The way by which a command reaches the agent: from its options, then the environment, then defaults. Pure. [any]
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "drover/result.h"
#include "flags.h"

namespace drover::cli {

// Names of files in PEM form; empty where not given.
struct TlsOptions {
  std::string ca_cert;
  std::string ca_path;  // a folder of such files; ca_cert goes before it
  std::string client_cert;
  std::string client_key;
  std::string server_name;  // which the agent's certificate is for, when that is not the address's host
  bool skip_verify = false;
};

// As their URLs, and the hosts that are reached without one. Never for unix:// and this machine itself.
struct Proxies {
  std::string http;
  std::string https;
  std::string none_for;
};

struct ClientOptions {
  std::string address = "http://127.0.0.1:4646";  // or https://…, or unix:///path
  std::string region;
  std::string name_space;
  std::string token;
  std::string http_auth;  // "user:password"
  TlsOptions tls;
  Proxies proxies;
};

// The options that every command takes for this.
const std::vector<Flag>& client_flags();

// `environment` gives a variable's value by its name, empty when it is not set. Errors: invalid_argument naming the
// option or the variable.
Result<ClientOptions> client_options(const Arguments& arguments,
                                     const std::function<std::string(const std::string&)>& environment);

}  // namespace drover::cli

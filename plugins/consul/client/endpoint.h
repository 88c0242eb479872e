// Where Consul is reached, and as who. Values.
#pragma once

#include <chrono>
#include <string>

#include "drover/http_client.h"

namespace drover::consul {

// The name of the namespace that is meant where none is named.
inline constexpr const char* kDefaultNamespace = "default";

struct Endpoint {
  std::string origin;       // "http://127.0.0.1:8500"
  std::string unix_socket;  // empty: none
  std::string token;        // secret; empty: none
  std::string auth;         // "user:password", secret; empty: none
  std::string name_space;   // of Consul Enterprise; empty: the default one
  http_client::Tls tls{};
  std::chrono::milliseconds timeout{5000};
};

}  // namespace drover::consul

// Where Consul is reached, and as who. Values.
#pragma once

#include <chrono>
#include <string>

#include "drover/http_client.h"

namespace drover::consul {

struct Endpoint {
  std::string origin;       // "http://127.0.0.1:8500"
  std::string unix_socket;  // empty: none
  std::string token;        // secret; empty: none
  std::string auth;         // "user:password", secret; empty: none
  std::string name_space;   // empty: none is named
  http_client::Tls tls{};
  std::chrono::milliseconds timeout{5000};
};

}  // namespace drover::consul

// Mutual TLS between agents: both ends prove themselves by a certificate of the same authority. Files are read once, at
// start.
#pragma once

#include <optional>
#include <string>

#include "drover/result.h"

namespace drover {

struct Tls {
  std::string ca;    // the authority's certificates, PEM
  std::string cert;  // this agent's, PEM
  std::string key;   // secret, PEM
  // The name that a server's certificate must carry: "server.<region>.nomad".
  std::string server_name;
};

// Errors: failed_precondition names the file and what is wrong with it.
Result<Tls> read_tls(const std::string& ca_file, const std::string& cert_file, const std::string& key_file,
                     std::string server_name);

}  // namespace drover

// Mutual TLS between agents: both ends prove themselves by a certificate of the same authority. Files are read once, at
// start.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover {

struct Tls {
  std::string ca;    // the authority's certificates, PEM
  std::string cert;  // this agent's, PEM
  std::string key;   // secret, PEM
  // The name that a server's certificate must carry: "server.<region>.nomad".
  std::string server_name;
};

// A key and a certificate that it signed itself, for two processes that hand each other their certificates over a way
// that nobody else has (a plugin's handshake).
struct TlsIdentity {
  std::string cert;  // PEM
  std::string key;   // secret, PEM
};

// ECDSA on P-521 with SHA-512 for "localhost", from 30 seconds ago for 30 years: the form that go-plugin makes.
Result<TlsIdentity> make_tls_identity();
// A certificate in the other notation; DER in base64 without padding is how the handshake carries it. Errors:
// invalid_argument when it is none.
Result<std::string> certificate_to_base64_der(std::string_view pem);
Result<std::string> certificate_from_base64_der(std::string_view text);
// Checks that it holds now. Errors: failed_precondition saying since or until when it does not; invalid_argument.
Status check_certificate_time(std::string_view pem, int64_t now_seconds);

// The text of the file that the option of the block `tls` names. Errors: failed_precondition names both and what is wrong
// with it.
Result<std::string> read_tls_file(std::string_view option, const std::string& path);
// Errors: as read_tls_file.
Result<Tls> read_tls(const std::string& ca_file, const std::string& cert_file, const std::string& key_file,
                     std::string server_name);

}  // namespace drover

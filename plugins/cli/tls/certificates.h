// Certificates for agents and those who talk to them: ECDSA on P-256, signed with SHA-256. Over OpenSSL. [any]
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/result.h"
#include "drover/tls.h"

namespace drover::cli {

// Name and value of a part of a subject, "O" and "Acme", in their order.
using Subject = std::vector<std::pair<std::string, std::string>>;

struct AuthorityRequest {
  std::string common_name;             // empty: "Nomad Agent CA" and the serial number
  Subject further;                     // of the subject, beside the common name
  std::vector<std::string> permitted;  // domains that its certificates may name, with all below; empty: every one
  int days = 0;
};
Result<TlsIdentity> make_authority(const AuthorityRequest& request);

struct CertificateRequest {
  std::vector<std::string> dns_names;  // the first is also the common name
  std::vector<std::string> ip_addresses;
  bool is_agent = false;  // for servers and clients of TLS; else it says nothing of its use
  int days = 0;
};
// Errors: invalid_argument for names that are none; failed_precondition where the authority cannot sign it: no
// authority, another one's key, expired, names that it does not permit.
Result<TlsIdentity> make_certificate(const CertificateRequest& request, const TlsIdentity& authority);

// The parts of one that people want to know.
struct CertificateText {
  std::string serial;  // decimal
  std::string issuer, common_name;
  std::string expiry;  // "2027-11-26 12:00:00 +0000 UTC"
  std::vector<std::string> dns_names, ip_addresses;
  std::vector<std::string> permitted;
  bool is_authority = false;
};
// Errors: invalid_argument.
Result<CertificateText> read_certificate(std::string_view pem);

// True for a DNS name as certificates have them, *.example among them; it may also stand in the name of a file.
bool is_certificate_name(std::string_view name);

}  // namespace drover::cli

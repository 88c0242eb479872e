// How a host and a plugin that is a program of its own find each other: what the child gets in its environment, and
// the one line that it prints first. The protocol is go-plugin's, number 1. Pure.
//
//   1|2|unix|/run/…/plugin123|grpc|
//   │ │  │        │           └ protocol; then optional: certificate, multiplexing
//   │ │  └ network └ address
//   │ └ version of the drivers' and devices' protocol
//   └ version of this line
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::plugin_programs {

inline constexpr std::string_view kCookieKey = "NOMAD_PLUGIN_MAGIC_COOKIE";
inline constexpr std::string_view kCookieValue = "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255";
inline constexpr int kProtocolVersion = 2;
inline constexpr size_t kMaxHandshakeBytes = 4096;
inline constexpr size_t kMaxSocketPath = 107;  // bytes, by the operating system

struct Handshake {
  std::string socket;       // absolute path
  std::string certificate;  // PEM, of a plugin that speaks TLS (AutoMTLS); empty: it speaks in the clear
};

// Mutual TLS when this host asked for it by its certificate in PLUGIN_CLIENT_CERT: then a plugin answers with its own.
enum class Transport : uint8_t { plain, mutual_tls };

// Errors: failed_precondition that quotes the line and says what was expected.
Result<Handshake> parse_handshake(std::string_view line, Transport transport = Transport::plain);

inline constexpr const char* kClientCertificate = "PLUGIN_CLIENT_CERT";  // PEM, of a host that asks for TLS

// The child's environment: that of `host` without what is secret, then the handshake's own, without kClientCertificate.
// Where the child makes its sockets is not said: what it starts for its tasks would inherit it, and those sockets
// outlive us both.
std::map<std::string, std::string> plugin_environment(const char* const* host);

}  // namespace drover::plugin_programs

#include "drover/plugin_programs/handshake.h"

#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include "drover/tls.h"
#include "drover/trim.h"

namespace drover::plugin_programs {
namespace {

constexpr size_t kLeastCertificate = 50;  // characters; what is shorter counts as none

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t end = 0; end != std::string_view::npos;) {
    end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end != std::string_view::npos) text.remove_prefix(end + 1);
  }
  return parts;
}

// Quotes a line that may be anything, as far as it is shown.
std::string quoted(std::string_view line) {
  std::string out = "\"";
  for (const char c : line.substr(0, 200)) out += c >= 0x20 && c < 0x7f && c != '"' && c != '\\' ? c : '?';
  return out + (line.size() > 200 ? "…\"" : "\"");
}

// Variables that hold secrets of the agent or of its operator.
bool is_secret(std::string_view name) {
  static constexpr std::array kNames = {"CONSUL_TOKEN",
                                        "CONSUL_HTTP_TOKEN",
                                        "CONSUL_HTTP_AUTH",
                                        "VAULT_TOKEN",
                                        "NOMAD_TOKEN",
                                        "NOMAD_CLIENT_INTRO_TOKEN",
                                        "DROVER_TOKEN",
                                        "NOMAD_LICENSE",
                                        "AWS_ACCESS_KEY_ID",
                                        "AWS_SECRET_ACCESS_KEY",
                                        "AWS_SESSION_TOKEN",
                                        "GOOGLE_APPLICATION_CREDENTIALS"};
  for (const std::string_view known : kNames) {
    if (name == known) return true;
  }
  return false;
}

}  // namespace

Result<Handshake> parse_handshake(std::string_view line, Transport transport) {
  const std::string_view text = trim(line);
  const auto refuse = [&](const std::string& what) {
    return failed_precondition(what + "; its first line of output was " + quoted(text));
  };
  const std::vector<std::string_view> fields = split(text, '|');
  if (fields.size() < 4) {
    return refuse("the program does not speak the plugin protocol (check that it is a plugin, for this machine)");
  }
  if (fields[0] != "1")
    return refuse("the plugin speaks version " + std::string(fields[0]) + " of the handshake, not 1");
  if (fields[1] != std::to_string(kProtocolVersion)) {
    return refuse("the plugin speaks version " + std::string(fields[1]) + " of the plugin protocol, not " +
                  std::to_string(kProtocolVersion));
  }
  const std::string_view protocol = fields.size() > 4 ? fields[4] : "netrpc";
  if (protocol != "grpc") return refuse("the plugin speaks " + std::string(protocol) + ", not grpc");
  if (fields[2] != "unix") return refuse("the plugin listens on " + std::string(fields[2]) + ", not on a unix socket");
  if (!fields[3].starts_with('/') || fields[3].size() > kMaxSocketPath) {
    return refuse("the plugin's socket is not an absolute path of at most " + std::to_string(kMaxSocketPath) +
                  " bytes");
  }
  Handshake handshake{.socket = std::string(fields[3]), .certificate = {}};
  const bool has_certificate = fields.size() > 5 && fields[5].size() > kLeastCertificate;
  if (transport == Transport::plain) {
    if (has_certificate) return refuse("the plugin wants TLS, which this host did not offer");
    return handshake;
  }
  if (!has_certificate) {
    return refuse(
        "the plugin was asked for TLS (auto_mtls) and answers without a certificate; it may be one that does not speak "
        "it: leave auto_mtls away then");
  }
  auto certificate = certificate_from_base64_der(fields[5]);
  if (!certificate) return refuse("the plugin's certificate cannot be read: " + certificate.status().message());
  handshake.certificate = *std::move(certificate);
  return handshake;
}

std::map<std::string, std::string> plugin_environment(const char* const* host) {
  std::map<std::string, std::string> out;
  for (; host && *host; ++host) {
    const std::string_view line(*host);
    const size_t equals = line.find('=');
    if (equals == 0 || equals == std::string_view::npos || is_secret(line.substr(0, equals))) continue;
    out[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  for (const char* name :
       {kClientCertificate, "PLUGIN_MULTIPLEX_GRPC", "PLUGIN_UNIX_SOCKET_DIR", "PLUGIN_UNIX_SOCKET_GROUP"}) {
    out.erase(name);
  }
  out[std::string(kCookieKey)] = kCookieValue;
  out["PLUGIN_MIN_PORT"] = "10000";
  out["PLUGIN_MAX_PORT"] = "25000";
  out["PLUGIN_PROTOCOL_VERSIONS"] = std::to_string(kProtocolVersion);
  return out;
}

}  // namespace drover::plugin_programs

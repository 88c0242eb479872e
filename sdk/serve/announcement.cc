#include "announcement.h"

namespace drover::serve {
namespace {

constexpr const char* kCookieKey = "NOMAD_PLUGIN_MAGIC_COOKIE";
constexpr std::string_view kCookieValue = "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255";
constexpr int kVersion = 2;  // the only one; a host that does not speak it refuses the line

}  // namespace

Result<Terms> read_terms(const Environment& environment) {
  if (environment(kCookieKey) != kCookieValue) {
    return failed_precondition(
        "this program is a plugin: an agent starts it, from the folder that its configuration names as plugin_dir; it "
        "does nothing when it is started by hand");
  }
  Terms terms{.protocol_version = kVersion};
  terms.socket_folder = environment("PLUGIN_UNIX_SOCKET_DIR").value_or("");
  if (terms.socket_folder.empty()) terms.socket_folder = environment("TMPDIR").value_or("");
  if (terms.socket_folder.empty()) terms.socket_folder = "/tmp";
  if (!terms.socket_folder.starts_with('/')) {
    return failed_precondition("the folder for the plugin's socket, \"" + terms.socket_folder +
                               "\", is no absolute path (PLUGIN_UNIX_SOCKET_DIR, TMPDIR)");
  }
  terms.socket_group = environment("PLUGIN_UNIX_SOCKET_GROUP").value_or("");
  terms.names_multiplexing = environment("PLUGIN_MULTIPLEX_GRPC").has_value();
  terms.client_certificate = environment("PLUGIN_CLIENT_CERT").value_or("");
  return terms;
}

std::string announcement(const Terms& terms, std::string_view socket, std::string_view certificate) {
  return "1|" + std::to_string(terms.protocol_version) + "|unix|" + std::string(socket) + "|grpc|" +
         std::string(certificate) + (terms.names_multiplexing ? "|false" : "");
}

}  // namespace drover::serve

#include "drover/tls.h"

#include <fstream>
#include <sstream>

namespace drover {
namespace {

Result<std::string> read_pem(const std::string& path, const std::string& option) {
  std::ifstream file(path);
  if (!file) return failed_precondition("tls." + option + ": " + path + " cannot be read");
  std::stringstream text;
  text << file.rdbuf();
  if (text.str().find("-----BEGIN ") == std::string::npos) {
    return failed_precondition("tls." + option + ": " + path + " is not a PEM file");
  }
  return text.str();
}

}  // namespace

Result<Tls> read_tls(const std::string& ca_file, const std::string& cert_file, const std::string& key_file,
                     std::string server_name) {
  Tls tls{.server_name = std::move(server_name)};
  DROVER_TRY(tls.ca, read_pem(ca_file, "ca_file"));
  DROVER_TRY(tls.cert, read_pem(cert_file, "cert_file"));
  DROVER_TRY(tls.key, read_pem(key_file, "key_file"));
  return tls;
}

}  // namespace drover

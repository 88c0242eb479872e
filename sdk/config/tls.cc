#include "drover/tls.h"

#include <fstream>

#include "drover/read_all.h"

namespace drover {

Result<std::string> read_tls_file(std::string_view option, const std::string& path) {
  const std::string place = "tls." + std::string(option) + ": " + path;
  std::ifstream file(path);
  if (!file) return failed_precondition(place + " cannot be read");
  std::string text = read_all(file);
  if (text.find("-----BEGIN ") == std::string::npos) return failed_precondition(place + " is not a PEM file");
  return text;
}

Result<Tls> read_tls(const std::string& ca_file, const std::string& cert_file, const std::string& key_file,
                     std::string server_name) {
  Tls tls{.server_name = std::move(server_name)};
  DROVER_TRY(tls.ca, read_tls_file("ca_file", ca_file));
  DROVER_TRY(tls.cert, read_tls_file("cert_file", cert_file));
  DROVER_TRY(tls.key, read_tls_file("key_file", key_file));
  return tls;
}

}  // namespace drover

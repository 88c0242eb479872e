#include <sstream>

#include "drover/agent_config.h"
#include "drover/log.h"

namespace drover {

std::string agent_banner(const AgentSettings& settings, const std::vector<std::string>& config_files,
                         std::string_view version) {
  std::string files;
  for (const std::string& file : config_files) files += (files.empty() ? "" : ", ") + file;
  std::ostringstream out;
  out << "==> Drover agent configuration:\n\n"
      << "       Advertise Addrs: HTTP: " << settings.advertise_http << "; RPC: " << settings.advertise_rpc
      << "\n            Bind Addrs: HTTP: " << settings.http_address
      << (settings.server ? "; RPC: " + settings.rpc_address : "") << "\n"
      << "                Client: " << (settings.client ? "true" : "false") << "\n"
      << "                Config: " << (files.empty() ? "<none>" : files) << "\n"
      << "              Data Dir: " << settings.data_dir << "\n"
      << "             Log Level: " << log::to_string(settings.log_level) << "\n"
      << "                Region: " << settings.region << " (DC: " << settings.datacenter << ")\n"
      << "                Server: " << (settings.server ? "true" : "false") << "\n"
      << "               Version: " << version << "\n\n==> Starting Drover agent...\n\n";
  return out.str();
}

}  // namespace drover

#include "kernel/banner.h"

#include <iostream>

#include "kernel/version.h"

namespace drover {

void print_banner(const AgentSettings& settings, const std::vector<std::string>& config_files) {
  std::string files;
  for (const std::string& file : config_files) files += (files.empty() ? "" : ", ") + file;
  std::cout << "==> Drover agent configuration:\n\n"
            << "       Advertise Addrs: HTTP: " << settings.advertise_http << "; RPC: " << settings.advertise_rpc
            << "\n            Bind Addrs: HTTP: " << settings.http_address
            << (settings.server ? "; RPC: " + settings.rpc_address : "") << "\n"
            << "                Client: " << (settings.client ? "true" : "false") << "\n"
            << "                Config: " << (files.empty() ? "<none>" : files) << "\n"
            << "              Data Dir: " << settings.data_dir << "\n"
            << "             Log Level: " << log::to_string(settings.log_level) << "\n"
            << "                Region: " << settings.region << " (DC: " << settings.datacenter << ")\n"
            << "                Server: " << (settings.server ? "true" : "false") << "\n"
            << "               Version: " << kVersion << "\n\n==> Starting Drover agent...\n\n"
            << std::flush;
}

}  // namespace drover

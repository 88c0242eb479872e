// A plugin that was made for the agent's process, as a program.
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "../../serve/kind_methods.h"
#include "../../serve/program.h"
#include "driver_subject.h"
#include "drover/config.h"
#include "drover/conformance.h"
#include "drover/serve.h"
#include "drover/stable_plugin.h"
#include "sdk/testing/fake_host.h"
#include "serve_stable.h"

namespace drover::conformance {
namespace {

struct Found {
  std::string name;
  std::string_view kind;  // for people
  std::function<serve::Methods(const serve::About&)> methods;
  const StablePlugin* stable = nullptr;  // instead of the two
};

template <typename Interface>
void take(const std::string& point, void* implementation, Found& found) {
  if (point != Interface::kExtensionPoint) return;
  found.methods = [plugin = static_cast<Interface*>(implementation)](const serve::About& about) {
    serve::Methods methods = serve::methods_of(*plugin, about);
    leave_configured(methods);  // the plugin has its configuration from its host
    return methods;
  };
  found.kind = Interface::kKind.name;
}

Result<Found> find_served(const testing::MemoryRows& rows) {
  for (const auto& [key, implementation] : rows.extensions()) {
    const auto& [point, name] = key;
    if (point == StablePlugin::kExtensionPoint)
      return Found{
          .name = name, .kind = "plugin", .methods = {}, .stable = static_cast<const StablePlugin*>(implementation)};
    Found found{.name = name, .kind = {}, .methods = {}, .stable = nullptr};
    PluginInterfaces::apply([&]<typename... Interfaces>() { (take<Interfaces>(point, implementation, found), ...); });
    if (found.methods) return found;
  }
  return failed_precondition("the plugin declares neither " + std::string(plugin_kinds_text()));
}

Status prepare(Plugin& plugin, testing::FakeHost& host, const std::string& config_file) {
  DROVER_RETURN_IF_ERROR(plugin.declare(host.rows()));
  const auto schema = host.rows().schemas().find("plugin");
  ConfigBlock block;
  if (!config_file.empty()) {
    DROVER_TRY(block, load_config_file(config_file));
  }
  if (schema != host.rows().schemas().end()) {
    DROVER_TRY(block, apply_schema(block, schema->second));
    host.configure(std::move(block));
  } else if (!config_file.empty()) {
    host.configure(std::move(block));
  }
  // Beside the socket: the host's folder outlives this process.
  const char* folder = std::getenv("TMPDIR");
  AgentInfo& agent = host.agent_info();
  agent.name = "conformance";
  agent.data_dir = std::string(folder ? folder : "/tmp") + "/agent";
  agent.dev_mode = agent.client = true;
  std::error_code ignored;
  std::filesystem::create_directories(agent.data_dir, ignored);
  return plugin.start(host);
}

}  // namespace

int serve_module(Plugin& plugin, const std::string& config_file, int handshake) {
  static testing::FakeHost host;  // until the process ends
  const Status prepared = prepare(plugin, host, config_file);
  const Result<Found> found = prepared.ok() ? find_served(host.rows()) : Result<Found>(prepared);
  if (!found) {
    std::fprintf(stderr, "%s\n", found.status().message().c_str());
    return 1;
  }
  std::shared_ptr<plugin_programs::ResidentChannel> channel;
  if (found->stable) {
    auto opened = open_stable(*found->stable);
    if (!opened) {
      std::fprintf(stderr, "%s\n", opened.status().message().c_str());
      return 1;
    }
    channel = *std::move(opened);
  }
  const std::string version = "0.0.0";
  const auto make = [&](const std::string& name) {
    if (found->stable) return hand_on(*found->stable, channel, serve::request_end);
    return found->methods({.name = name, .own_name = name, .version = version, .end = serve::request_end});
  };
  const auto stop = [&] {
    if (channel) channel->release();
    plugin.stop({});
  };
  return serve::serve({.kind = found->kind, .name = found->name, .version = version, .make = make, .stop = stop}, {},
                      handshake);
}

}  // namespace drover::conformance

// A plugin that was made for the agent's process, as a program.
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "../../serve/device_service.h"
#include "../../serve/driver_service.h"
#include "../../serve/program.h"
#include "driver_subject.h"
#include "drover/config.h"
#include "drover/conformance.h"
#include "drover/stable_plugin.h"
#include "sdk/testing/fake_host.h"
#include "serve_stable.h"

namespace drover::conformance {
namespace {

struct Served {
  std::string name;
  TaskDriver* driver = nullptr;
  DevicePlugin* device = nullptr;
  const StablePlugin* stable = nullptr;
};

Result<Served> find_served(const testing::MemoryRows& rows) {
  for (const auto& [key, implementation] : rows.extensions()) {
    const auto& [point, name] = key;
    if (point == TaskDriver::kExtensionPoint)
      return Served{.name = name, .driver = static_cast<TaskDriver*>(implementation)};
    if (point == DevicePlugin::kExtensionPoint)
      return Served{.name = name, .device = static_cast<DevicePlugin*>(implementation)};
    if (point == StablePlugin::kExtensionPoint)
      return Served{.name = name, .stable = static_cast<const StablePlugin*>(implementation)};
  }
  return failed_precondition("the plugin declares neither a task driver nor a device plugin");
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
  const Result<Served> served = prepared.ok() ? find_served(host.rows()) : Result<Served>(prepared);
  if (!served) {
    std::fprintf(stderr, "%s\n", served.status().message().c_str());
    return 1;
  }
  std::shared_ptr<external::ResidentChannel> channel;
  if (served->stable) {
    auto opened = open_stable(*served->stable);
    if (!opened) {
      std::fprintf(stderr, "%s\n", opened.status().message().c_str());
      return 1;
    }
    channel = *std::move(opened);
  }
  const std::string version = "0.0.0";
  const auto make = [&](const std::string& name) {
    if (served->stable) return hand_on(*served->stable, channel, serve::request_end);
    if (served->driver) {
      serve::Methods methods = serve::driver_methods(
          {.driver = *served->driver, .name = name, .own_name = name, .version = version, .end = serve::request_end});
      leave_configured(methods);
      return methods;
    }
    return serve::device_methods(
        {.plugin = *served->device, .name = name, .version = version, .end = serve::request_end});
  };
  const auto stop = [&] {
    if (channel) channel->release();
    plugin.stop({});
  };
  return serve::serve({.kind = "plugin", .name = served->name, .version = version, .make = make, .stop = stop}, {},
                      handshake);
}

}  // namespace drover::conformance

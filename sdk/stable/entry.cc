// The entry of a plugin of the stable tier from C++ sources (drover/abi.h): the class that the program serves, behind
// the same methods. The plugin says what it is once, by DROVER_TASK_DRIVER or its like (drover/serve.h).
//
//   drover_plugin_open ──▶ served_plugin() makes it ──▶ calls ──▶ release: its calls have ended; stop(), destroyed
#include <exception>
#include <memory>

#include "../serve/endpoint.h"
#include "../serve/kind_methods.h"
#include "drover/abi.h"
#include "drover/log.h"
#include "drover/serve.h"
#include "host_log.h"

namespace drover::stable {
namespace {

// Methods borrow the plugin, which `stop` owns and ends.
struct Opened {
  serve::Methods methods;
  std::function<void()> stop;
};

// There is no process to end: the host releases the plugin.
void stay() {}

template <typename Kind>
Opened open_served(const Served<Kind>& served) {
  const std::shared_ptr<Kind> plugin = served.make();
  return {.methods = serve::methods_of(
              *plugin, {.name = served.name, .own_name = served.name, .version = served.version, .end = stay}),
          .stop = [plugin] { plugin->stop(); }};
}

}  // namespace
}  // namespace drover::stable

// An exception of the plugin's constructor stays in the plugin.
extern "C" int32_t drover_plugin_open(const drover_endpoint* host, drover_endpoint* plugin) {
  using namespace drover;
  if (host == nullptr || host->size < sizeof(*host)) return static_cast<int32_t>(Code::invalid_argument);
  std::shared_ptr<stable::HostLog> log;
  try {
    log = std::make_shared<stable::HostLog>(*host);
    stable::Opened opened = std::visit([](const auto& served) { return stable::open_served(served); }, served_plugin());
    *plugin = serve::make_endpoint(std::move(opened.methods), [stop = std::move(opened.stop), log]() mutable {
      stop();
      stop = nullptr;  // destroys the plugin, which may still log
    });
    return static_cast<int32_t>(Code::ok);
  } catch (const std::exception& problem) {
    log::error("plugin", "the plugin threw while it was made", {{"error", problem.what()}});
  } catch (...) {
    log::error("plugin", "the plugin threw something while it was made");
  }
  return static_cast<int32_t>(Code::internal);
}

// A plugin as a program of its own: it speaks the plugin protocol of Nomad on a Unix socket, so that the agent, or, for
// a task driver or a device plugin, a Nomad client, starts it, calls it and starts it again when it crashes. One class
// and one line:
//
//   class Hello final : public drover::TaskDriver { … };
//   DROVER_SERVE_DRIVER(Hello, "hello", "1.0.0");                   // a program
//   DROVER_TASK_DRIVER(Hello, "hello", "hello", "1.0.0");           // a program and a plugin inside the agent
//
//   interface                 a program                 a program and inside the agent
//   drover::TaskDriver        DROVER_SERVE_DRIVER       DROVER_TASK_DRIVER
//   drover::DevicePlugin      DROVER_SERVE_DEVICE       DROVER_DEVICE_PLUGIN
//   drover::CheckProvider     DROVER_SERVE_CHECKS       DROVER_CHECK_PROVIDER
//   drover::ServiceProvider   DROVER_SERVE_SERVICES     DROVER_SERVICE_PROVIDER
//   drover::AuthMethod        DROVER_SERVE_AUTH_METHOD  DROVER_AUTH_METHOD
//
// with `drover_add_plugin(hello EXECUTABLE SOURCES hello.cc)` in CMake, which brings the function main; IN_PROCESS
// makes the form inside the agent from the same lines, of the tier that plugin.json says: "stable" (drover/abi.h; it
// loads into every drover with ABI 1.x) or "exact" (drover/plugin.h; it loads into the build that it was made for).
//
//   started by hand ──▶ a hint, exit status 1
//   started by a host ─handshake─▶ serving ──Shutdown, SIGTERM──▶ stop() of the class, exit status 0
//
// The program holds no state that must survive it: after its end the host starts it anew and calls recover_task with
// each handle. Standard output is redirected to standard error; lines of drover::log arrive in the host's log
// with level and fields. Argument `--name NAME`: serves the plugin under another name. A host that asks for
// transport security (PLUGIN_CLIENT_CERT) gets it: TLS on the socket, each side trusting the other's certificate only.
//
// Errors of a driver on the wire: not_found is code 2 with the text "task not found for given id", failed_precondition
// code 9 with the detail that lets the restart policy try again; invalid_argument and already_exists keep their codes;
// every other error is code 2 with its text. Errors of the other kinds keep their codes, but for unavailable and
// unimplemented, which are code 2: hosts take them for the end of the program and for a method that is missing. An
// error of fingerprint() is not sent: it withdraws the devices, and its text is in the log.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <variant>

#include "drover/auth_method.h"
#include "drover/check_provider.h"
#include "drover/device_plugin.h"
#include "drover/module.h"
#include "drover/service_provider.h"
#include "drover/task_driver.h"

namespace drover {

template <typename Kind>
struct Served {
  std::string name;     // of the plugin; of a driver, as jobs write it: driver = "NAME"
  std::string version;  // "1.2.3"
  std::unique_ptr<Kind> (*make)();
};

using ServedPlugin = PluginInterfaces::Variant<Served>;

// Defined by the macros below.
ServedPlugin served_plugin();

// For a program with a main function of its own, instead of the macros. Serves until the host or SIGTERM ends it, and
// then ends the process: calls of the plugin that still block are not waited for. `handshake` is a descriptor of what
// was standard output; nothing else may be written there before or after. Returns the exit status when there is nothing
// to serve: 1 without a host, 2 for wrong arguments; the reason is on standard error. Call it once, from main.
int serve_plugin(const ServedPlugin& plugin, std::span<char*> arguments, int handshake);

// The same class inside the agent, with the same configuration.
template <typename Kind, typename Class>
class KindModule final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare_configuration(declare, plugin_));
    return declare.extend<Kind>(std::get<Served<Kind>>(served_plugin()).name, plugin_);
  }
  Status start(Host& host) override { return configure_from(host, plugin_); }
  void stop(SteadyTime) override { plugin_.stop(); }

 private:
  Class plugin_;
};

}  // namespace drover

// At namespace scope outside of any namespace, once a program. CLASS has a constructor without arguments.
#define DROVER_SERVE_DRIVER(CLASS, NAME, VERSION) DROVER_SERVE_KIND(TaskDriver, CLASS, NAME, VERSION)
#define DROVER_SERVE_DEVICE(CLASS, NAME, VERSION) DROVER_SERVE_KIND(DevicePlugin, CLASS, NAME, VERSION)
#define DROVER_SERVE_CHECKS(CLASS, NAME, VERSION) DROVER_SERVE_KIND(CheckProvider, CLASS, NAME, VERSION)
#define DROVER_SERVE_SERVICES(CLASS, NAME, VERSION) DROVER_SERVE_KIND(ServiceProvider, CLASS, NAME, VERSION)
#define DROVER_SERVE_AUTH_METHOD(CLASS, NAME, VERSION) DROVER_SERVE_KIND(AuthMethod, CLASS, NAME, VERSION)

// The same, and a plugin for the agent's own process: PLUGIN and VERSION are those of its plugin.json.
#define DROVER_TASK_DRIVER(CLASS, NAME, PLUGIN, VERSION) DROVER_BOTH_FORMS(TaskDriver, CLASS, NAME, PLUGIN, VERSION)
#define DROVER_DEVICE_PLUGIN(CLASS, NAME, PLUGIN, VERSION) DROVER_BOTH_FORMS(DevicePlugin, CLASS, NAME, PLUGIN, VERSION)
#define DROVER_CHECK_PROVIDER(CLASS, NAME, PLUGIN, VERSION) \
  DROVER_BOTH_FORMS(CheckProvider, CLASS, NAME, PLUGIN, VERSION)
#define DROVER_SERVICE_PROVIDER(CLASS, NAME, PLUGIN, VERSION) \
  DROVER_BOTH_FORMS(ServiceProvider, CLASS, NAME, PLUGIN, VERSION)
#define DROVER_AUTH_METHOD(CLASS, NAME, PLUGIN, VERSION) DROVER_BOTH_FORMS(AuthMethod, CLASS, NAME, PLUGIN, VERSION)

// The parts of the macros above; KIND is the interface's name in this namespace.
#define DROVER_SERVE_KIND(KIND, CLASS, NAME, VERSION)                                                  \
  ::drover::ServedPlugin(drover::served_plugin)() {                                                    \
    return ::drover::Served<::drover::KIND>{                                                           \
        NAME, VERSION, []() -> std::unique_ptr<::drover::KIND> { return std::make_unique<CLASS>(); }}; \
  }                                                                                                    \
  static_assert(true)
#define DROVER_BOTH_FORMS(KIND, CLASS, NAME, PLUGIN, VERSION) \
  DROVER_SERVE_KIND(KIND, CLASS, NAME, VERSION);              \
  DROVER_INSIDE(KIND, CLASS, PLUGIN, VERSION)

// The second form adds this. In the stable tier it is the note alone; the SDK brings the entry, which serves
// served_plugin(). drover_add_plugin defines DROVER_STABLE_TIER where plugin.json says so.
#ifdef DROVER_STABLE_TIER
#define DROVER_INSIDE(KIND, CLASS, PLUGIN, VERSION)                                                 \
  DROVER_PLUGIN_NOTE(::drover::note::kStable, ::drover::KIND::kExtensionPoint, PLUGIN, VERSION, "") \
  static_assert(true)
#else
#define DROVER_INSIDE(KIND, CLASS, PLUGIN, VERSION) \
  DROVER_MODULE(DROVER_KIND_MODULE(KIND, CLASS), ::drover::KIND::kExtensionPoint, PLUGIN, VERSION)
#endif
#define DROVER_KIND_MODULE(KIND, CLASS) ::drover::KindModule<::drover::KIND, CLASS>

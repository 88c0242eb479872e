// The kinds of plugins that may live outside of the agent's build, as programs or over the stable ABI. A kind is a row,
// kKind of its interface, and the interface in the list at the end; by them every side finds what is its own:
//
//   what a program of it serves      sdk/serve, one file
//   what the agent makes for it      plugins/plugin_programs/kinds, one file and a row in hosted_plugin.cc
//   what it must do                  sdk/testing/conformance, one file and a row in kinds.cc
//   the project of a new one         plugins/author/templates, one folder
#pragma once

#include <span>
#include <string_view>
#include <variant>

namespace drover {

struct PluginKind {
  int type;                   // what PluginInfo says (nomad/plugins/base.proto)
  std::string_view point;     // in a manifest and a note, and the extension point
  std::string_view word;      // on the command line
  std::string_view name;      // in a sentence, "task driver"
  std::string_view protocol;  // the file that defines its services, "nomad/plugins/driver.proto"

  friend bool operator==(const PluginKind&, const PluginKind&) = default;
};

std::span<const PluginKind> plugin_kinds();
// Null: there is none.
const PluginKind* kind_of_type(int type);
const PluginKind* kind_of_point(std::string_view point);
const PluginKind* kind_of_word(std::string_view word);

// All of them in a sentence: "a task driver, a device plugin or …".
std::string_view plugin_kinds_text();

template <typename... Interfaces>
struct InterfaceList {
  static constexpr size_t kCount = sizeof...(Interfaces);

  template <template <typename> class Of>
  using Variant = std::variant<Of<Interfaces>...>;

  // InterfaceList<…>::apply([]<typename... Interfaces>() { … }).
  template <typename Function>
  static constexpr auto apply(const Function& function) {
    return function.template operator()<Interfaces...>();
  }
};

class AuthMethod;
class CheckProvider;
class DevicePlugin;
class ServiceProvider;
class TaskDriver;

// The interfaces, in the order in which they are listed for people.
using PluginInterfaces = InterfaceList<TaskDriver, DevicePlugin, CheckProvider, ServiceProvider, AuthMethod>;

}  // namespace drover

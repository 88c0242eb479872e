#include "drover/plugin_kind.h"

#include <algorithm>
#include <array>
#include <string>

#include "drover/auth_method.h"
#include "drover/check_provider.h"
#include "drover/device_plugin.h"
#include "drover/service_provider.h"
#include "drover/task_driver.h"

namespace drover {
namespace {

constexpr auto kKinds =
    PluginInterfaces::apply([]<typename... Interfaces>() { return std::array{Interfaces::kKind...}; });

template <typename Value>
const PluginKind* find(const Value& value, Value PluginKind::*field) {
  const auto found = std::ranges::find(kKinds, value, field);
  return found == kKinds.end() ? nullptr : &*found;
}

}  // namespace

std::span<const PluginKind> plugin_kinds() { return kKinds; }
const PluginKind* kind_of_type(int type) { return find(type, &PluginKind::type); }
const PluginKind* kind_of_point(std::string_view point) { return find(point, &PluginKind::point); }
const PluginKind* kind_of_word(std::string_view word) { return find(word, &PluginKind::word); }

std::string_view plugin_kinds_text() {
  static const std::string text = [] {
    std::string all;
    for (const PluginKind& kind : kKinds) {
      if (!all.empty()) all += &kind == &kKinds.back() ? " or " : ", ";
      all += (kind.name.front() == 'a' ? "an " : "a ") + std::string(kind.name);
    }
    return all;
  }();
  return text;
}

}  // namespace drover

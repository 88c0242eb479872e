// The kinds of plugins that may live outside of the agent's build, as programs or over the stable ABI, and their names.
#pragma once

#include <span>
#include <string_view>

namespace drover {

struct PluginKind {
  int type;                // what PluginInfo says (nomad/plugins/base.proto)
  std::string_view point;  // in a manifest and a note, and the extension point
  std::string_view word;   // on the command line
  std::string_view name;   // in a sentence, "task driver"
};

std::span<const PluginKind> plugin_kinds();
// Null: there is none.
const PluginKind* kind_of_type(int type);
const PluginKind* kind_of_point(std::string_view point);
const PluginKind* kind_of_word(std::string_view word);

// All of them in a sentence: "a task driver, a device plugin or …".
std::string_view plugin_kinds_text();

}  // namespace drover

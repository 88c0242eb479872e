// The files of a new plugin's project. In their text @NAME@ stands for the plugin's name and @CLASS@ for the first part
// of its class.
#pragma once

#include <span>
#include <string_view>

namespace drover::author {

struct Template {
  std::string_view path;  // below the project's folder
  std::string_view text;
};

// Empty: no project can be written of that kind (the words of drover/plugin_kind.h).
std::span<const Template> templates_of(std::string_view kind);

}  // namespace drover::author

// The files of a new plugin's project. In their text @NAME@ stands for the plugin's name and @CLASS@ for its class.
#pragma once

#include <span>
#include <string_view>

namespace drover::author {

struct Template {
  std::string_view path;  // below the project's folder
  std::string_view text;
};

std::span<const Template> driver_templates();
std::span<const Template> device_templates();

}  // namespace drover::author

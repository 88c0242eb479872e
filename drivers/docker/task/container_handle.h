// What a task's handle carries in driver_state, to find its container again. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace drover::docker {

struct ContainerHandle {
  std::string container, image;  // IDs
  int64_t started_ns = 0;
  std::map<std::string, int> port_map;
};

std::string write_handle(const ContainerHandle& handle);
// Nothing for what was not written by it.
std::optional<ContainerHandle> read_handle(std::string_view text);

}  // namespace drover::docker

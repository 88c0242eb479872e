// Configuration of the files that are devices, as an operator writes it:
//
//   fingerprint_period = "10s"
//   device {
//     vendor      = "ftdi"
//     type        = "serial"
//     name        = "usb"
//     pattern     = "/dev/ttyUSB*"        # every file that it matches is an instance; its path is the instance's ID
//     permissions = "rw"                  # of the task's control group: r, w, m
//     env         = "SERIAL_PORTS"        # the variable with the paths that a task was given, between commas
//     attributes {
//       speed  = 115200
//       buffer = "4 KiB"
//     }
//     instance {
//       path        = "/dev/ttyUSB3"
//       permissions = "r"
//     }
//   }
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "drover/hclspec.h"
#include "drover/result.h"

namespace drover::file {

struct Pattern {
  std::string vendor, type, name;
  std::string pattern;  // absolute; as glob(7)
  std::string permissions;
  std::string env;
  std::map<std::string, std::string> attributes;
  std::map<std::string, std::string> instance_permissions;  // by path
};

struct Config {
  std::chrono::nanoseconds fingerprint_period = std::chrono::seconds(10);
  std::vector<Pattern> patterns;
};

hclspec::Spec config_schema();

// `msgpack` is by that schema, or empty. Errors: invalid_argument naming the device and the option.
Result<Config> read_config(std::string_view msgpack);

}  // namespace drover::file

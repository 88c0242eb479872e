// A plugin that is a program of its own, in the role that it says it has: a task driver or a device plugin.
#pragma once

#include "device_program.h"
#include "driver_plugin.h"
#include "program_host.h"

namespace drover::external {

struct HostedPluginOptions {
  ProgramHostOptions program;  // without `role`
  DriverPluginOptions driver;
  std::function<void()> devices_changed{};
};

class HostedPlugin {
 public:
  HostedPlugin(HostedPluginOptions options, Clock& clock, Metrics& metrics)
      : driver_(std::move(options.driver), program_),
        device_(std::move(options.devices_changed), program_),
        program_(with_roles(std::move(options.program)), clock, metrics) {}

  ProgramHost& program() { return program_; }
  const ProgramHost& program() const { return program_; }
  DriverPlugin& driver() { return driver_; }
  const DriverPlugin& driver() const { return driver_; }
  DeviceProgram& device() { return device_; }
  bool is_driver() const { return program_.info().type() == hashicorp::nomad::plugins::base::proto::DRIVER; }
  bool is_device() const { return program_.info().type() == hashicorp::nomad::plugins::base::proto::DEVICE; }

 private:
  ProgramHostOptions with_roles(ProgramHostOptions options) {
    options.role = [this](auto type) -> Role* {
      if (type == hashicorp::nomad::plugins::base::proto::DRIVER) return &driver_;
      if (type == hashicorp::nomad::plugins::base::proto::DEVICE) return &device_;
      return nullptr;
    };
    return options;
  }

  DriverPlugin driver_;
  DeviceProgram device_;
  ProgramHost program_;  // last: it ends first
};

}  // namespace drover::external

// Version 2 of control groups has no files for devices: a program that is attached to the group says for each use
// whether it is allowed.
#pragma once

#include <linux/bpf.h>

#include <string>
#include <vector>

#include "drover/cgroup.h"

namespace drover {

// Allows `devices` and nothing else. Pure.
std::vector<bpf_insn> device_program(const std::vector<CgroupLimits::Device>& devices);

// Attaches it to the group of this folder, and it stays as long as the group does.
Status attach_devices(const std::string& folder, const std::vector<CgroupLimits::Device>& devices);

}  // namespace drover

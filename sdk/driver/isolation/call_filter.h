// The filter of a confined task's calls to the kernel (seccomp): a classic BPF program.
//
// It lets through what it does not know to be of harm, so that programs run as everywhere, and refuses what reaches out
// of a container: mounts, modules, other processes' memory, namespaces, keys, the clock, raw events. What a capability
// guards is let through with the capability. Numbers above those that this build knows do not exist.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drover {

enum class CallTable : uint8_t { x86_64, i386, aarch64 };

// Refuses calls of any table but those of this machine's processor. Pure.
std::vector<sock_filter> call_filter(uint64_t capabilities);
// The same for given tables: the calls of any other are refused.
std::vector<sock_filter> call_filter(uint64_t capabilities, const std::vector<CallTable>& tables);

// As Confinement::call_filter takes it.
std::string bytes_of(const std::vector<sock_filter>& program);

}  // namespace drover

// The GPUs of this machine, as the driver's management library knows them. Loaded at run time: a machine without it has
// no GPUs. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drover/result.h"

namespace drover::nvidia {

// One GPU, or one partition (MIG) of a GPU, which is then not there as a whole. Values that the hardware does not tell
// are absent.
struct Gpu {
  std::string uuid;
  std::string name;
  std::string pci_bus_id;
  std::string problem;  // why it cannot be used; empty when it can
  std::optional<uint64_t> memory_mib, bar1_mib;
  std::optional<uint64_t> power_w;               // the limit
  std::optional<uint64_t> core_mhz, memory_mhz;  // the highest
  std::optional<uint64_t> pci_mb_per_s;          // of the link, in one direction
  std::optional<bool> has_display, is_persistent;
  bool is_partition = false;
  void* handle = nullptr;  // the library's; as long as the Nvml lives
};

// The present use of a GPU. A partition reports its memory only.
struct GpuUse {
  std::optional<uint64_t> power_w, gpu_percent, memory_percent, encoder_percent, decoder_percent, celsius;
  std::optional<uint64_t> memory_mib, bar1_mib;
  std::optional<uint64_t> l1_errors, l2_errors, memory_errors;  // corrected, since the driver was loaded
};

class Nvml {
 public:
  // Errors: not_found when there is no such library; failed_precondition when it lacks a function; unavailable when it
  // does not start, with its own words (no driver, no permission).
  static Result<std::unique_ptr<Nvml>> open(const std::string& library);
  virtual ~Nvml() = default;

  virtual Result<std::string> driver_version() = 0;
  // In the library's order. A lost GPU keeps its last known values, with its problem.
  // Errors: unavailable with the library's words.
  virtual Result<std::vector<Gpu>> gpus() = 0;
  virtual GpuUse use_of(const Gpu& gpu) = 0;
};

}  // namespace drover::nvidia

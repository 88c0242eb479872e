#include "nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <map>

#include "drover/mutex.h"
#include "nvml_abi.h"

namespace drover::nvidia {
namespace {

using namespace abi;

struct Functions {
#define DROVER_NVML_MEMBER(NAME, ARGUMENTS) Return(*NAME) ARGUMENTS = nullptr;
  DROVER_NVML_FUNCTIONS(DROVER_NVML_MEMBER)
  DROVER_NVML_OPTIONAL_FUNCTIONS(DROVER_NVML_MEMBER)
#undef DROVER_NVML_MEMBER
  const char* (*nvmlErrorString)(Return) = nullptr;
};

// Never closed: the driver's library starts threads and does not expect to go.
Result<Functions> load(const std::string& library) {
  void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* why = ::dlerror();
    return not_found(why ? why : "cannot load " + library);
  }
  Functions functions;
  std::string missing;
  const auto find = [&](const char* name, auto& function, bool is_needed) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (!function && is_needed) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
#define DROVER_NVML_FIND(NAME, ARGUMENTS) find(#NAME, functions.NAME, true);
  DROVER_NVML_FUNCTIONS(DROVER_NVML_FIND)
#undef DROVER_NVML_FIND
#define DROVER_NVML_FIND(NAME, ARGUMENTS) find(#NAME, functions.NAME, false);
  DROVER_NVML_OPTIONAL_FUNCTIONS(DROVER_NVML_FIND)
#undef DROVER_NVML_FIND
  find("nvmlErrorString", functions.nvmlErrorString, true);
  if (!missing.empty()) return failed_precondition(library + " lacks " + missing + "; the driver is too old");
  return functions;
}

bool is_lost(Return code) { return code == kGpuIsLost || code == kResetRequired; }

// The link's bandwidth in one direction, in MB/s: lanes times the bandwidth of one lane of its generation.
std::optional<uint64_t> bandwidth(unsigned lanes, unsigned generation) {
  static const std::map<unsigned, unsigned> kPerLane = {{1, 250}, {2, 500}, {3, 985}, {4, 1969}, {5, 3938}, {6, 7563}};
  const auto at = kPerLane.find(generation);
  if (at == kPerLane.end() || lanes == 0) return std::nullopt;
  return static_cast<uint64_t>(lanes) * at->second;
}

class LoadedNvml final : public Nvml {
 public:
  explicit LoadedNvml(const Functions& functions) : nvml_(functions) {}
  ~LoadedNvml() override { (void)nvml_.nvmlShutdown(); }

  Status start() {
    const Return code = nvml_.nvmlInit_v2();
    return code == kSuccess ? ok_status() : error("start", code);
  }

  Result<std::string> driver_version() override {
    char text[kTextBytes] = {};
    const Return code = nvml_.nvmlSystemGetDriverVersion(text, sizeof(text));
    if (code != kSuccess) return error("read the driver's version", code);
    return std::string(text);
  }

  Result<std::vector<Gpu>> gpus() override {
    unsigned count = 0;
    if (const Return code = nvml_.nvmlDeviceGetCount_v2(&count); code != kSuccess) return error("count the GPUs", code);
    const MutexLock lock(mutex_);
    std::vector<Gpu> all;
    for (unsigned i = 0; i < count; ++i) {
      std::vector<Gpu> of_this;
      const Return code = read_gpu(i, of_this);
      if (code == kSuccess) {
        known_[i] = of_this;
      } else if (const auto known = known_.find(i); known != known_.end()) {
        of_this = known->second;
        for (Gpu& gpu : of_this) gpu.problem = words(code);
      } else if (!is_lost(code)) {
        return error("read GPU " + std::to_string(i), code);
      }
      all.insert(all.end(), of_this.begin(), of_this.end());
    }
    return all;
  }

  GpuUse use_of(const Gpu& gpu) override {
    GpuUse use;
    auto* const device = static_cast<Device>(gpu.handle);
    Memory memory{};
    if (nvml_.nvmlDeviceGetMemoryInfo(device, &memory) == kSuccess) use.memory_mib = memory.used >> 20;
    if (gpu.is_partition) return use;
    Bar1Memory bar1{};
    if (nvml_.nvmlDeviceGetBAR1MemoryInfo(device, &bar1) == kSuccess) use.bar1_mib = bar1.used >> 20;
    Utilization utilization{};
    if (nvml_.nvmlDeviceGetUtilizationRates(device, &utilization) == kSuccess) {
      use.gpu_percent = utilization.gpu;
      use.memory_percent = utilization.memory;
    }
    unsigned value = 0, period_us = 0;
    if (nvml_.nvmlDeviceGetEncoderUtilization(device, &value, &period_us) == kSuccess) use.encoder_percent = value;
    if (nvml_.nvmlDeviceGetDecoderUtilization(device, &value, &period_us) == kSuccess) use.decoder_percent = value;
    if (nvml_.nvmlDeviceGetTemperature(device, kGpuSensor, &value) == kSuccess) use.celsius = value;
    if (nvml_.nvmlDeviceGetPowerUsage(device, &value) == kSuccess) use.power_w = value / 1000;
    const auto errors = [&](Location where) -> std::optional<uint64_t> {
      unsigned long long count = 0;
      if (nvml_.nvmlDeviceGetMemoryErrorCounter(device, kCorrectedErrors, kSinceBoot, where, &count) != kSuccess)
        return std::nullopt;
      return count;
    };
    use.l1_errors = errors(kL1Cache);
    use.l2_errors = errors(kL2Cache);
    use.memory_errors = errors(kDeviceMemory);
    return use;
  }

 private:
  std::string words(Return code) const {
    const char* text = nvml_.nvmlErrorString(code);
    return text ? text : "code " + std::to_string(code);
  }
  Status error(const std::string& what, Return code) const { return unavailable("NVML: " + what + ": " + words(code)); }

  // The GPU, or its partitions when it is partitioned.
  Return read_gpu(unsigned index, std::vector<Gpu>& out) const {
    Device device = nullptr;
    if (const Return code = nvml_.nvmlDeviceGetHandleByIndex_v2(index, &device); code != kSuccess) return code;
    Gpu whole;
    if (const Return code = read_identity(device, whole); code != kSuccess) return code;
    read_facts(device, whole);
    unsigned now = 0, pending = 0, most = 0;
    const bool can_be_parted =
        nvml_.nvmlDeviceGetMigMode && nvml_.nvmlDeviceGetMaxMigDeviceCount && nvml_.nvmlDeviceGetMigDeviceHandleByIndex;
    if (!can_be_parted || nvml_.nvmlDeviceGetMigMode(device, &now, &pending) != kSuccess || now == 0) {
      out.push_back(std::move(whole));
      return kSuccess;
    }
    if (const Return code = nvml_.nvmlDeviceGetMaxMigDeviceCount(device, &most); code != kSuccess) return code;
    for (unsigned i = 0; i < most; ++i) {
      Device part = nullptr;
      const Return code = nvml_.nvmlDeviceGetMigDeviceHandleByIndex(device, i, &part);
      if (code == kNotFound || code == kInvalidArgument) continue;  // a place that is not taken
      if (code != kSuccess) return code;
      Gpu gpu = whole;  // its link, clocks and limits are the whole's
      gpu.is_partition = true;
      gpu.bar1_mib.reset();
      gpu.power_w.reset();
      if (const Return read = read_identity(part, gpu); read != kSuccess) return read;
      out.push_back(std::move(gpu));
    }
    return kSuccess;
  }

  Return read_identity(Device device, Gpu& gpu) const {
    char text[kTextBytes] = {};
    if (const Return code = nvml_.nvmlDeviceGetUUID(device, text, sizeof(text)); code != kSuccess) return code;
    gpu.uuid = text;
    gpu.handle = device;
    gpu.name = nvml_.nvmlDeviceGetName(device, text, sizeof(text)) == kSuccess ? text : "N/A";
    Memory memory{};
    const Return code = nvml_.nvmlDeviceGetMemoryInfo(device, &memory);
    if (is_lost(code)) return code;
    gpu.memory_mib.reset();
    if (code == kSuccess) gpu.memory_mib = memory.total >> 20;
    return kSuccess;
  }

  void read_facts(Device device, Gpu& gpu) const {
    Bar1Memory bar1{};
    if (nvml_.nvmlDeviceGetBAR1MemoryInfo(device, &bar1) == kSuccess) gpu.bar1_mib = bar1.total >> 20;
    PciInfo pci{};
    if (nvml_.nvmlDeviceGetPciInfo_v3(device, &pci) == kSuccess)
      gpu.pci_bus_id.assign(pci.bus_id, std::find(pci.bus_id, std::end(pci.bus_id), '\0'));
    unsigned value = 0, lanes = 0, generation = 0;
    if (nvml_.nvmlDeviceGetMaxPcieLinkWidth(device, &lanes) == kSuccess &&
        nvml_.nvmlDeviceGetMaxPcieLinkGeneration(device, &generation) == kSuccess)
      gpu.pci_mb_per_s = bandwidth(lanes, generation);
    if (nvml_.nvmlDeviceGetMaxClockInfo(device, kGraphicsClock, &value) == kSuccess) gpu.core_mhz = value;
    if (nvml_.nvmlDeviceGetMaxClockInfo(device, kMemoryClock, &value) == kSuccess) gpu.memory_mhz = value;
    if (nvml_.nvmlDeviceGetPowerManagementLimit(device, &value) == kSuccess) gpu.power_w = value / 1000;
    int mode = 0;
    if (nvml_.nvmlDeviceGetDisplayMode(device, &mode) == kSuccess) gpu.has_display = mode != 0;
    if (nvml_.nvmlDeviceGetPersistenceMode(device, &mode) == kSuccess) gpu.is_persistent = mode != 0;
  }

  const Functions nvml_;
  Mutex mutex_;
  std::map<unsigned, std::vector<Gpu>> known_ DROVER_GUARDED_BY(mutex_);  // by index, what could be read last
};

}  // namespace

Result<std::unique_ptr<Nvml>> Nvml::open(const std::string& library) {
  DROVER_TRY(const Functions functions, load(library));
  auto nvml = std::make_unique<LoadedNvml>(functions);
  DROVER_RETURN_IF_ERROR(nvml->start());
  return std::unique_ptr<Nvml>(std::move(nvml));
}

}  // namespace drover::nvidia

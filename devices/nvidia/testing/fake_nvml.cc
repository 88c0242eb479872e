// The driver's library with three GPUs that are not there: two T4, and an A100 in MIG mode with partitions in its
// places 0 and 2. A test breaks parts of it through fake_nvml_break.
#include <cstdio>
#include <cstring>

#include "nvml_abi.h"

namespace {

using namespace drover::nvidia::abi;

constexpr unsigned kGpus = 3;
constexpr unsigned kPlaces = 7;
constexpr unsigned long long kGiB = 1ULL << 30, kMiB = 1ULL << 20;

Return init_answer = kSuccess;
Return answers[kGpus] = {kSuccess, kSuccess, kSuccess};

// Handles: 1, 2, 3 are GPUs; 10 and 12 the partitions of the third.
Device handle(unsigned long number) { return reinterpret_cast<Device>(number); }
unsigned long number_of(Device device) { return reinterpret_cast<unsigned long>(device); }
bool is_partition(Device device) { return number_of(device) >= 10; }
bool is_a100(Device device) { return number_of(device) == 3; }
Return answer_of(Device device) { return answers[is_partition(device) ? 2 : number_of(device) - 1]; }

Return give(Device device, unsigned* out, unsigned value) {
  if (is_partition(device)) return kNotSupported;
  *out = value;
  return answer_of(device);
}

Return print(Device device, char* out, unsigned size, const char* text) {
  std::snprintf(out, size, "%s", text);
  return answer_of(device);
}

}  // namespace

extern "C" {

// Index kGpus: the start of the library.
void fake_nvml_break(unsigned index, int code) {
  (index < kGpus ? answers[index] : init_answer) = static_cast<Return>(code);
}

Return nvmlInit_v2(void) { return init_answer; }
Return nvmlShutdown(void) { return kSuccess; }
const char* nvmlErrorString(Return code) {
  return code == kGpuIsLost ? "GPU is lost" : code == kDriverNotLoaded ? "Driver Not Loaded" : "Unknown Error";
}
Return nvmlSystemGetDriverVersion(char* out, unsigned size) {
  std::snprintf(out, size, "535.104.05");
  return kSuccess;
}
Return nvmlDeviceGetCount_v2(unsigned* out) {
  *out = kGpus;
  return kSuccess;
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* out) {
  *out = handle(index + 1);
  return answers[index];
}
Return nvmlDeviceGetUUID(Device device, char* out, unsigned size) {
  char text[32];
  std::snprintf(text, sizeof(text), is_partition(device) ? "MIG-%lu" : "GPU-%lu", number_of(device));
  return print(device, out, size, text);
}
Return nvmlDeviceGetName(Device device, char* out, unsigned size) {
  return print(device, out, size,
               is_partition(device) ? "NVIDIA A100-SXM4-40GB MIG 1g.5gb"
               : is_a100(device)    ? "NVIDIA A100-SXM4-40GB"
                                    : "Tesla T4");
}
Return nvmlDeviceGetMemoryInfo(Device device, Memory* out) {
  const unsigned long long total = is_partition(device) ? 5 * kGiB : is_a100(device) ? 40 * kGiB : 16 * kGiB;
  *out = {total, total - kGiB, kGiB};
  return answer_of(device);
}
Return nvmlDeviceGetBAR1MemoryInfo(Device device, Bar1Memory* out) {
  *out = {256 * kMiB, 250 * kMiB, 6 * kMiB};
  return answer_of(device);
}
Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* out) {
  std::snprintf(out->bus_id, sizeof(out->bus_id), "0000:0%lu:00.0", number_of(device));
  return answer_of(device);
}
Return nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* out) { return give(device, out, 16); }
Return nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* out) { return give(device, out, 3); }
Return nvmlDeviceGetMaxClockInfo(Device device, Clock clock, unsigned* out) {
  return give(device, out, clock == kGraphicsClock ? 1590 : 5001);
}
Return nvmlDeviceGetPowerManagementLimit(Device device, unsigned* out) { return give(device, out, 70'000); }
Return nvmlDeviceGetDisplayMode(Device device, int* out) {
  *out = 0;
  return answer_of(device);
}
Return nvmlDeviceGetPersistenceMode(Device device, int* out) {
  *out = 1;
  return answer_of(device);
}
Return nvmlDeviceGetUtilizationRates(Device device, Utilization* out) {
  *out = {42, 17};
  return answer_of(device);
}
Return nvmlDeviceGetEncoderUtilization(Device device, unsigned* out, unsigned* period) {
  *period = 167'000;
  return give(device, out, 5);
}
Return nvmlDeviceGetDecoderUtilization(Device, unsigned*, unsigned*) { return kNotSupported; }
Return nvmlDeviceGetTemperature(Device device, Sensor, unsigned* out) { return give(device, out, 55); }
Return nvmlDeviceGetPowerUsage(Device device, unsigned* out) { return give(device, out, 33'500); }
Return nvmlDeviceGetMemoryErrorCounter(Device device, ErrorType, Counter, Location where, unsigned long long* out) {
  *out = where == kDeviceMemory ? 3 : where == kL2Cache ? 2 : 1;
  return answer_of(device);
}
Return nvmlDeviceGetMigMode(Device device, unsigned* now, unsigned* pending) {
  if (!is_a100(device)) return kNotSupported;
  *now = *pending = 1;
  return kSuccess;
}
Return nvmlDeviceGetMaxMigDeviceCount(Device, unsigned* out) {
  *out = kPlaces;
  return kSuccess;
}
Return nvmlDeviceGetMigDeviceHandleByIndex(Device, unsigned place, Device* out) {
  if (place != 0 && place != 2) return kNotFound;
  *out = handle(10 + place);
  return kSuccess;
}
}

// The part of the NVIDIA Management Library that this plugin uses, as its published interface has it: codes, structures
// and the types of its functions. The library is part of the driver and is loaded when the plugin runs.
#pragma once

namespace drover::nvidia::abi {

using Device = struct DeviceHandle*;

enum Return : int {
  kSuccess = 0,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNotFound = 6,
  kDriverNotLoaded = 9,
  kGpuIsLost = 15,
  kResetRequired = 16,
};

struct Memory {  // bytes
  unsigned long long total, free, used;
};
struct Bar1Memory {  // bytes
  unsigned long long total, free, used;
};
struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
  char bus_id[32];
};
struct Utilization {  // percent
  unsigned gpu, memory;
};

enum Clock : int { kGraphicsClock = 0, kMemoryClock = 2 };
enum Sensor : int { kGpuSensor = 0 };
enum ErrorType : int { kCorrectedErrors = 0 };
enum Counter : int { kSinceBoot = 0 };
enum Location : int { kL1Cache = 0, kL2Cache = 1, kDeviceMemory = 2 };

inline constexpr unsigned kTextBytes = 96;  // of names and identifiers

}  // namespace drover::nvidia::abi

// Each function: how the library calls it, and its arguments. All but the last return a code.
#define DROVER_NVML_FUNCTIONS(X)                                     \
  X(nvmlInit_v2, (void))                                             \
  X(nvmlShutdown, (void))                                            \
  X(nvmlSystemGetDriverVersion, (char*, unsigned))                   \
  X(nvmlDeviceGetCount_v2, (unsigned*))                              \
  X(nvmlDeviceGetHandleByIndex_v2, (unsigned, Device*))              \
  X(nvmlDeviceGetUUID, (Device, char*, unsigned))                    \
  X(nvmlDeviceGetName, (Device, char*, unsigned))                    \
  X(nvmlDeviceGetMemoryInfo, (Device, Memory*))                      \
  X(nvmlDeviceGetBAR1MemoryInfo, (Device, Bar1Memory*))              \
  X(nvmlDeviceGetPciInfo_v3, (Device, PciInfo*))                     \
  X(nvmlDeviceGetMaxPcieLinkWidth, (Device, unsigned*))              \
  X(nvmlDeviceGetMaxPcieLinkGeneration, (Device, unsigned*))         \
  X(nvmlDeviceGetMaxClockInfo, (Device, Clock, unsigned*))           \
  X(nvmlDeviceGetPowerManagementLimit, (Device, unsigned*))          \
  X(nvmlDeviceGetDisplayMode, (Device, int*))                        \
  X(nvmlDeviceGetPersistenceMode, (Device, int*))                    \
  X(nvmlDeviceGetUtilizationRates, (Device, Utilization*))           \
  X(nvmlDeviceGetEncoderUtilization, (Device, unsigned*, unsigned*)) \
  X(nvmlDeviceGetDecoderUtilization, (Device, unsigned*, unsigned*)) \
  X(nvmlDeviceGetTemperature, (Device, Sensor, unsigned*))           \
  X(nvmlDeviceGetPowerUsage, (Device, unsigned*))                    \
  X(nvmlDeviceGetMemoryErrorCounter, (Device, ErrorType, Counter, Location, unsigned long long*))

// Those that drivers before partitioned GPUs lack.
#define DROVER_NVML_OPTIONAL_FUNCTIONS(X)                 \
  X(nvmlDeviceGetMigMode, (Device, unsigned*, unsigned*)) \
  X(nvmlDeviceGetMaxMigDeviceCount, (Device, unsigned*))  \
  X(nvmlDeviceGetMigDeviceHandleByIndex, (Device, unsigned, Device*))

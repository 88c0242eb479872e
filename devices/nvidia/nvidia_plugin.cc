// The device plugin "nvidia-gpu": NVIDIA GPUs, whole or partitioned.
#include "drover/serve.h"
#include "nvidia_devices.h"

#include "nomad/plugins/device.pb.h"

DROVER_DEVICE_PLUGIN(drover::nvidia::NvidiaDevices, "nvidia-gpu", "nvidia", "0.1.0");

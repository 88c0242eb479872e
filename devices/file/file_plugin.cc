// The device plugin "file": files of this machine as devices.
#include "drover/serve.h"
#include "file_devices.h"

#include "nomad/plugins/device.pb.h"

DROVER_DEVICE_PLUGIN(drover::file::FileDevices, "file", "file", "0.1.0");

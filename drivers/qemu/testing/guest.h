// Disk images for tests: a boot sector of a few instructions, so that no kernel is needed.
#pragma once

#include <string>

namespace drover::qemu {

// Writes "guest is up" to the serial port; waits for the power button, if `waits`; then writes "guest powers off" and
// does so.
std::string guest_image(bool waits = true);

}  // namespace drover::qemu

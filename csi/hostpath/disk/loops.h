// Loop devices: files as block devices. One for each file and way of use; found again by the file, so that nothing need
// be remembered. [any]
#pragma once

#include <string>

#include "drover/result.h"

namespace drover::hostpath {

// The device of the file, "/dev/loop3"; a new one when it has none. Errors: failed_precondition where the machine has
// no loop devices to give.
Result<std::string> attach_loop(const std::string& file, bool read_only);
// None is no error.
Status detach_loop(const std::string& file, bool read_only);
// All devices of the file become as large as it is.
Status resize_loops(const std::string& file);

}  // namespace drover::hostpath

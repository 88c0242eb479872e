// Mounts of a folder or file at another place. What is there already, or gone already, is no error: each may be done
// again after a crash at any moment. [any]
#pragma once

#include <google/protobuf/repeated_field.h>

#include <string>

#include "drover/result.h"

namespace drover::hostpath {

// The flags of mount(2) that the words mean; they are known.
unsigned long mount_flags_of(const google::protobuf::RepeatedPtrField<std::string>& words, bool read_only);

bool is_mount(const std::string& path);
// Errors: failed_precondition when there is nothing at `target`, or something else is mounted there.
Status bind_mount(const std::string& source, const std::string& target, unsigned long flags);
// Errors: failed_precondition while it is in use.
Status unbind(const std::string& target);

// The folder, or the file for a device, that a mount needs below it.
Status make_target(const std::string& target, bool is_file);
// Errors: failed_precondition when there is something in it.
Status remove_target(const std::string& target);

}  // namespace drover::hostpath

// The declarations of the public API as a serialized google.protobuf.FileDescriptorSet, with the comments that the
// descriptors of a running program lack. For documents and for tools that make clients. In libdrover_api. [any]
#pragma once

#include <string_view>

namespace drover {

// drover/api/*.proto with all that they import; imports stand before the files that name them.
std::string_view api_descriptors();

}  // namespace drover

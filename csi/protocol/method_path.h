// The method that a request is for: each message XRequest belongs to one. Pure. [any]
#pragma once

#include <string>

#include "csi/protocol/messages.h"

namespace drover::csi {

// "/csi.v1.Controller/CreateVolume" of a CreateVolumeRequest.
std::string method_path(const google::protobuf::Descriptor& request);

}  // namespace drover::csi

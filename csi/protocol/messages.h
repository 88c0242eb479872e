// The messages of CSI as this folder calls them: csi::v1. Inside drover::csi that name would mean nothing without this.
#pragma once

#include "csi/v1/csi.pb.h"

namespace drover::csi {

namespace v1 = ::csi::v1;

}  // namespace drover::csi

// Checks of what a call must bring, before anything else is looked at. All errors: invalid_argument, naming the field.
// Pure.
#pragma once

#include <google/protobuf/map.h>

#include <string>
#include <string_view>

#include "drover/result.h"

namespace csi::v1 {
class VolumeCapability;
}
namespace google::protobuf {
template <typename T>
class RepeatedPtrField;
}

namespace drover::hostpath {

class Capability;
using Texts = google::protobuf::Map<std::string, std::string>;

// An identifier of ours or of a node: there, at most 128 bytes (of a node 256), without '/' and control characters.
Status check_id(std::string_view id, std::string_view field, size_t most = 128);
// A name that the caller suggests: any text of at most 128 bytes without the control characters that the specification
// bans. It never becomes a path.
Status check_name(std::string_view name);
// An absolute path in its shortest form, as mount(2) takes it, that does not lead into `data_dir`.
Status check_path(std::string_view path, std::string_view field, std::string_view data_dir);
// At most 4 KiB altogether.
Status check_texts(const Texts& texts, std::string_view field);

// Errors also for what folders cannot do: file system types, groups, and mount flags beyond those of mounts themselves.
Result<Capability> capability_of(const csi::v1::VolumeCapability& asked);
// True when all of them are block devices, false when none is. Needs at least one.
Result<bool> are_block(const google::protobuf::RepeatedPtrField<csi::v1::VolumeCapability>& asked);

bool is_same(const Capability& a, const Capability& b);
bool is_multi_node(const Capability& capability);
bool is_reader_only(const Capability& capability);

}  // namespace drover::hostpath

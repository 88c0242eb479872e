// Options that files of all types of volumes have, and how they are read. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drover/config.h"
#include "drover/result.h"

namespace google::protobuf {
template <typename Key, typename Value>
class Map;
template <typename Message>
class RepeatedPtrField;
}  // namespace google::protobuf
namespace drover::v1 {
class CsiVolumeCapability;
}

namespace drover::cli {

ConfigOption capability_option();
void read_capabilities(const ConfigBlock& file, google::protobuf::RepeatedPtrField<v1::CsiVolumeCapability>& to);
void read_map(const ConfigBlock& from, std::string_view name, google::protobuf::Map<std::string, std::string>& to);
// Bytes; 0: the file does not say. Errors: invalid_argument with the place of a size that is too large.
Result<int64_t> size_in(const ConfigBlock& file, const std::string& name);

}  // namespace drover::cli

#include "volumes/volume_options.h"

#include <limits>

#include "drover/v1/csi.pb.h"

namespace drover::cli {

ConfigOption capability_option() {
  return {.name = "capability",
          .type = ConfigType::repeated_block,
          .help = "How it may be used.",
          .options = {{.name = "access_mode", .help = "By how many, and who may write.", .required = true},
                      {.name = "attachment_mode", .help = "As what.", .required = true}}};
}

void read_capabilities(const ConfigBlock& file, google::protobuf::RepeatedPtrField<v1::CsiVolumeCapability>& to) {
  for (const ConfigBlock* each : file.all("capability")) {
    v1::CsiVolumeCapability& capability = *to.Add();
    capability.set_access_mode(each->string("access_mode"));
    capability.set_attachment_mode(each->string("attachment_mode"));
  }
}

void read_map(const ConfigBlock& from, std::string_view name, google::protobuf::Map<std::string, std::string>& to) {
  for (const auto& [key, value] : from.string_map(name)) to[key] = value;
}

Result<int64_t> size_in(const ConfigBlock& file, const std::string& name) {
  const uint64_t size = file.bytes(name);
  if (size <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return static_cast<int64_t>(size);
  return invalid_argument(file.attributes.find(name)->second.place.to_string() + ": " + name + ": is too large");
}

}  // namespace drover::cli

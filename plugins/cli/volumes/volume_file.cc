#include "volumes/volume_file.h"

#include "drover/api/volumes.pb.h"
#include "drover/config.h"
#include "volumes/volume_options.h"

namespace drover::cli {
namespace {

using enum ConfigType;

ConfigOption topologies(std::string name, std::string help) {
  const std::vector<ConfigOption> segments = {
      {.name = "segments", .type = string_map, .help = "Names of the storage's own, and their values."}};
  return {.name = std::move(name),
          .type = block,
          .help = std::move(help),
          .options = {{.name = "topology",
                       .type = repeated_block,
                       .help = "A place: all segments hold together.",
                       .options = segments}}};
}

ConfigSchema schema() {
  return {
      .options = {
          {.name = "id", .help = "Its name in the cluster.", .required = true},
          {.name = "name", .help = "The name that the storage is given for it."},
          {.name = "namespace", .help = "Where it is."},
          {.name = "type", .help = "Which kind of volume.", .required = true, .one_of = {"csi"}},
          {.name = "plugin_id", .help = "The storage plugin.", .required = true},
          {.name = "external_id", .help = "The storage's own name of it."},
          {.name = "snapshot_id", .help = "The snapshot that it begins as."},
          {.name = "clone_id", .help = "The volume that it begins as."},
          {.name = "capacity_min", .type = bytes, .help = "At least so large."},
          {.name = "capacity_max", .type = bytes, .help = "At most so large."},
          capability_option(),
          {.name = "mount_options",
           .type = block,
           .help = "How it is mounted.",
           .options = {{.name = "fs_type", .help = "The file system."},
                       {.name = "mount_flags", .type = string_list, .help = "Options of the mount."}}},
          {.name = "topology_request",
           .type = block,
           .help = "From where it must be reached.",
           .options = {topologies("required", "From one of these."), topologies("preferred", "In this order.")}},
          {.name = "secrets", .type = string_map, .help = "For the storage alone.", .is_secret = true},
          {.name = "parameters", .type = string_map, .help = "For the storage, when it creates it."},
          {.name = "context", .type = string_map, .help = "As the storage described it, where it exists already."}}};
}

// Without a line it was not written.
const ConfigBlock* written(const ConfigBlock& file, std::string_view name) {
  const ConfigBlock* block = file.block(name);
  return block && block->place.line > 0 ? block : nullptr;
}

void read_topologies(const ConfigBlock& from, std::string_view name,
                     google::protobuf::RepeatedPtrField<v1::CsiTopology>& to) {
  const ConfigBlock* list = written(from, name);
  if (!list) return;
  for (const ConfigBlock* topology : list->all("topology"))
    read_map(*topology, "segments", *to.Add()->mutable_segments());
}

}  // namespace

const char* const kVolumeExample = R"(# Its name in the cluster, by which jobs ask for it.
id = "database[0]"

# The name that the storage is given for it.
name = "database"
type = "csi"

# Where it is. Without it: the namespace of the command, -namespace.
# namespace = "default"

# The plugin of the storage, as its job names it.
plugin_id = "my-storage"

# For "volume register": the storage's own name of the volume, which exists already.
# external_id = "vol-23452345"

# For "volume create": what it begins as, one of both.
# snapshot_id = "snap-12345"
# clone_id    = "vol-12345"

# For "volume create": how large it is.
capacity_min = "10GiB"
capacity_max = "20GiB"

# How jobs may use it; several blocks may stand here.
#   access_mode:     single-node-reader-only, single-node-writer, multi-node-reader-only, multi-node-single-writer,
#                    multi-node-multi-writer
#   attachment_mode: file-system, block-device
capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}

# For volumes of the mode file-system. A job may say otherwise.
mount_options {
  fs_type     = "ext4"
  mount_flags = ["noatime"]
}

# From where it must be reached, in the storage's own words.
# topology_request {
#   required {
#     topology {
#       segments {
#         "rack" = "R1"
#       }
#     }
#   }
# }

# For the storage alone. The servers keep them encrypted and show them to nobody.
# secrets {
#   password = "not this one"
# }

# For "volume create": parameters of the storage's own.
# parameters {
#   kind = "fast"
# }

# For "volume register": how the storage described the volume.
# context {
#   endpoint = "http://192.168.1.101:9425"
# }
)";

const char* const kVolumeExampleJson = R"({
  "id": "database[0]",
  "name": "database",
  "type": "csi",
  "plugin_id": "my-storage",
  "capacity_min": "10GiB",
  "capacity_max": "20GiB",
  "capability": [
    {
      "access_mode": "single-node-writer",
      "attachment_mode": "file-system"
    }
  ],
  "mount_options": {
    "fs_type": "ext4",
    "mount_flags": ["noatime"]
  }
}
)";

Result<v1::Volume> read_volume_file(const std::string& name, const std::string& text) {
  DROVER_TRY(const ConfigBlock raw, parse_config(name, text));
  DROVER_TRY(const ConfigBlock file, apply_schema(raw, schema()));
  v1::Volume volume;
  volume.set_id(file.string("id"));
  volume.set_name(file.string("name"));
  volume.set_namespace_(file.string("namespace"));
  volume.set_plugin_id(file.string("plugin_id"));
  volume.set_external_id(file.string("external_id"));
  volume.set_snapshot_id(file.string("snapshot_id"));
  volume.set_clone_id(file.string("clone_id"));
  DROVER_TRY(const int64_t least, size_in(file, "capacity_min"));
  DROVER_TRY(const int64_t most, size_in(file, "capacity_max"));
  volume.set_requested_capacity_min(least);
  volume.set_requested_capacity_max(most);
  read_capabilities(file, *volume.mutable_requested_capabilities());
  if (const ConfigBlock* options = written(file, "mount_options")) {
    volume.mutable_mount_options()->set_fs_type(options->string("fs_type"));
    for (const std::string& flag : options->string_list("mount_flags"))
      volume.mutable_mount_options()->add_mount_flags(flag);
  }
  if (const ConfigBlock* places = written(file, "topology_request")) {
    v1::CsiTopologyRequest& request = *volume.mutable_requested_topologies();
    read_topologies(*places, "required", *request.mutable_required());
    read_topologies(*places, "preferred", *request.mutable_preferred());
  }
  read_map(file, "secrets", *volume.mutable_secrets());
  read_map(file, "parameters", *volume.mutable_parameters());
  read_map(file, "context", *volume.mutable_context());
  // The path of the call names it.
  if (volume.id().empty()) return invalid_argument(name + ": missing volume id");
  return volume;
}

Result<std::map<std::string, std::string>> read_pairs(const std::string& flag, const std::vector<std::string>& words) {
  std::map<std::string, std::string> pairs;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) return invalid_argument("-" + flag + ": expected key=value");
    const std::string key = word.substr(0, equals), value = word.substr(equals + 1);
    // The header that carries secrets separates them by commas.
    if (flag == "secret" && (key + value).find_first_of(",\r\n") != std::string::npos)
      return invalid_argument("-secret: \"" + key + "\" cannot be sent: neither commas nor new lines may be in it");
    pairs[key] = value;
  }
  return pairs;
}

}  // namespace drover::cli

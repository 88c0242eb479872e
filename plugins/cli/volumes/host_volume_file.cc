#include "volumes/host_volume_file.h"

#include "drover/api/host_volumes.pb.h"
#include "drover/config.h"
#include "drover/uuid.h"
#include "volumes/volume_options.h"

namespace drover::cli {
namespace {

using enum ConfigType;

constexpr const char* kShort[] = {"version", "semver", "regexp", "set_contains"};

ConfigSchema host_schema() {
  return {.options = {{.name = "id", .help = "Of a volume that is there, and is changed."},
                      {.name = "name", .help = "The name by which jobs ask for it.", .required = true},
                      {.name = "namespace", .help = "Where it is."},
                      {.name = "type", .help = "Which kind of volume.", .required = true, .one_of = {"host"}},
                      {.name = "plugin_id", .help = "The plugin that makes it."},
                      {.name = "node_id", .help = "The node that it is on."},
                      {.name = "node_pool", .help = "The pool of that node."},
                      {.name = "host_path", .help = "The folder that is there already."},
                      {.name = "capacity", .type = bytes, .help = "How large the folder is that is there already."},
                      {.name = "capacity_min", .type = bytes, .help = "At least so large."},
                      {.name = "capacity_max", .type = bytes, .help = "At most so large."},
                      capability_option(),
                      {.name = "constraint",
                       .type = repeated_block,
                       .help = "On the node that it goes to.",
                       .options = {{.name = "attribute", .help = "Of the node."},
                                   {.name = "operator", .help = "How it is compared."},
                                   {.name = "value", .help = "With what."},
                                   {.name = "version", .help = "Instead of both: a constraint on versions."},
                                   {.name = "semver", .help = "The same, of semantic versions."},
                                   {.name = "regexp", .help = "Instead of both: a pattern."},
                                   {.name = "set_contains", .help = "Instead of both: what a list has."},
                                   {.name = "distinct_hosts", .type = boolean, .help = "For jobs."},
                                   {.name = "distinct_property", .help = "For jobs."}}},
                      {.name = "parameters", .type = string_map, .help = "For the plugin."}}};
}

v1::Constraint constraint_of(const ConfigBlock& block) {
  v1::Constraint constraint;
  constraint.set_l_target(block.string("attribute"));
  constraint.set_operand(block.string("operator", "="));
  constraint.set_r_target(block.string("value"));
  for (const char* word : kShort) {
    if (!block.has(word)) continue;
    constraint.set_operand(word);
    constraint.set_r_target(block.string(word));
  }
  // The servers refuse these, and say why.
  if (block.boolean("distinct_hosts")) constraint.set_operand("distinct_hosts");
  if (block.has("distinct_property")) constraint.set_operand("distinct_property");
  return constraint;
}

Status read_id(const ConfigBlock& file, const char* option, std::string& id) {
  const std::string text = file.string(option);
  if (text.empty()) return ok_status();
  const auto read = Uuid::parse(text);
  if (!read)
    return invalid_argument(file.attributes.find(option)->second.place.to_string() + ": " + option + ": \"" + text +
                            "\" is no identifier");
  id = read->bytes();
  return ok_status();
}

}  // namespace

Result<std::string> volume_type_in(const std::string& name, const std::string& text) {
  DROVER_TRY(const ConfigBlock raw, parse_config(name, text));
  return raw.string("type");
}

Result<v1::DescribedHostVolume> read_host_volume_file(const std::string& name, const std::string& text) {
  DROVER_TRY(const ConfigBlock raw, parse_config(name, text));
  DROVER_TRY(const ConfigBlock file, apply_schema(raw, host_schema()));
  v1::DescribedHostVolume volume;
  volume.set_name(file.string("name"));
  volume.set_namespace_(file.string("namespace"));
  volume.set_plugin_id(file.string("plugin_id"));
  volume.set_node_pool(file.string("node_pool"));
  volume.set_host_path(file.string("host_path"));
  std::string id, node;
  DROVER_RETURN_IF_ERROR(read_id(file, "id", id));
  DROVER_RETURN_IF_ERROR(read_id(file, "node_id", node));
  volume.set_id(id);
  volume.set_node_id(node);
  DROVER_TRY(const int64_t size, size_in(file, "capacity"));
  DROVER_TRY(const int64_t least, size_in(file, "capacity_min"));
  DROVER_TRY(const int64_t most, size_in(file, "capacity_max"));
  volume.set_capacity_bytes(size);
  volume.set_requested_capacity_min_bytes(least);
  volume.set_requested_capacity_max_bytes(most);
  read_capabilities(file, *volume.mutable_requested_capabilities());
  for (const ConfigBlock* each : file.all("constraint")) *volume.add_constraints() = constraint_of(*each);
  read_map(file, "parameters", *volume.mutable_parameters());
  return volume;
}

const char* const kHostVolumeExample = R"(# The name by which jobs ask for it. On each node there may be one of a name.
name = "database"
type = "host"

# Where it is. Without it: the namespace of the command, -namespace.
# namespace = "default"

# What makes it: "mkdir", a folder and no more, or a program in the nodes' host_volume_plugin_dir.
plugin_id = "mkdir"

# Where it goes. Without a node the servers choose one: ready, in the pool, with the plugin, meeting the constraints.
# node_id   = "5f1c7d2e-0000-0000-0000-000000000000"
# node_pool = "default"
# constraint {
#   attribute = "${attr.kernel.name}"
#   value     = "linux"
# }

# For "volume register", which needs the node, too: the folder that is there already.
# host_path = "/srv/database"

# For plugins that keep to a size.
# capacity_min = "10GiB"
# capacity_max = "20GiB"

# How jobs may use it; several blocks may stand here. Without any: single-node-writer, file-system.
#   access_mode:     single-node-reader-only, single-node-writer, single-node-single-writer, single-node-multi-writer
#   attachment_mode: file-system, block-device
capability {
  access_mode     = "single-node-writer"
  attachment_mode = "file-system"
}

# For the plugin. mkdir takes mode, uid and gid.
parameters {
  mode = "0700"
}
)";

const char* const kHostVolumeExampleJson = R"({
  "name": "database",
  "type": "host",
  "plugin_id": "mkdir",
  "capability": [
    {
      "access_mode": "single-node-writer",
      "attachment_mode": "file-system"
    }
  ],
  "parameters": {
    "mode": "0700"
  }
}
)";

}  // namespace drover::cli

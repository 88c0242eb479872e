#include "config/plugin_options.h"

#include <sys/utsname.h>

#include "config/fields.h"
#include "config/hcl_spec.h"
#include "drover/isolation.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::docker {
namespace {

using namespace std::chrono_literals;

constexpr auto kLeastGrace = 1min;
constexpr auto kLeastActivity = 1min;

// The pause image of the machine's architecture, as its registry names it.
std::string default_infra_image() {
  utsname machine{};
  std::string architecture = ::uname(&machine) == 0 ? machine.machine : "";
  if (architecture == "x86_64") architecture = "amd64";
  if (architecture == "aarch64") architecture = "arm64";
  return "gcr.io/google_containers/pause-" + architecture + ":3.1";
}

void add_gc(hclspec::Spec& schema) {
  hclspec::Spec gc = hclspec::object_of(
      {{.name = "image", .type = "bool", .default_literal = "true", .help = "Remove images that no task uses."},
       {.name = "image_delay",
        .type = "string",
        .default_literal = "\"3m\"",
        .help = "How long an image stays after its last task."},
       {.name = "container",
        .type = "bool",
        .default_literal = "true",
        .help = "Remove the containers of ended tasks."}});
  add_block(gc, "dangling_containers",
            hclspec::object_of({{.name = "enabled",
                                 .type = "bool",
                                 .default_literal = "true",
                                 .help = "Remove containers of this node that belong to no task."},
                                {.name = "dry_run",
                                 .type = "bool",
                                 .default_literal = "false",
                                 .help = "Only say which ones would be removed."},
                                {.name = "period", .type = "string", .default_literal = "\"5m\""},
                                {.name = "creation_grace",
                                 .type = "string",
                                 .default_literal = "\"5m\"",
                                 .help = "How old a container must be; at least 1m."}}));
  add_block(schema, "gc", gc);
}

Status read_gc(Fields& fields, PluginOptions& out) {
  auto gc = fields.block("gc");
  if (!gc) return ok_status();
  out.removes_images = gc->boolean("image", true);
  out.image_delay = gc->duration("image_delay", out.image_delay);
  out.removes_containers = gc->boolean("container", true);
  auto dangling = gc->block("dangling_containers");
  DROVER_RETURN_IF_ERROR(gc->finish());
  if (!dangling) return ok_status();
  out.ends_dangling = dangling->boolean("enabled", true);
  out.is_dry_run = dangling->boolean("dry_run");
  out.dangling_period = dangling->duration("period", out.dangling_period);
  out.creation_grace = dangling->duration("creation_grace", out.creation_grace);
  DROVER_RETURN_IF_ERROR(dangling->finish());
  if (out.creation_grace < kLeastGrace) return invalid_argument("creation_grace is less than minimum, 1m0s");
  if (out.dangling_period <= 0s) return invalid_argument("config option \"period\" must be more than nothing");
  return ok_status();
}

Status read_blocks(Fields& fields, PluginOptions& out) {
  if (auto auth = fields.block("auth")) {
    out.auth_config = auth->text("config");
    out.auth_helper = auth->text("helper");
    DROVER_RETURN_IF_ERROR(auth->finish());
  }
  if (auto tls = fields.block("tls")) {
    const bool is_written = !tls->text("cert").empty() || !tls->text("key").empty() || !tls->text("ca").empty();
    DROVER_RETURN_IF_ERROR(tls->finish());
    if (is_written)
      return invalid_argument(
          "config option \"tls\" is for engines behind TCP; this driver speaks to the engine of its own machine, over "
          "a "
          "Unix socket");
  }
  if (auto logging = fields.block("logging")) {
    out.log_type = logging->text("type", out.log_type);
    out.log_config = logging->map("config");
    DROVER_RETURN_IF_ERROR(logging->finish());
  }
  if (auto volumes = fields.block("volumes")) {
    out.has_volumes = volumes->boolean("enabled", out.has_volumes);
    out.selinux_label = volumes->text("selinuxlabel");
    DROVER_RETURN_IF_ERROR(volumes->finish());
  }
  return read_gc(fields, out);
}

}  // namespace

hclspec::Spec plugin_schema() {
  hclspec::Spec schema = hclspec::object_of(
      {{.name = "endpoint",
        .type = "string",
        .help = "Where the engine listens, \"unix:///var/run/docker.sock\"; Podman's socket will do. Unless said, "
                "DOCKER_HOST, else that one."},
       {.name = "state_dir",
        .type = "string",
        .help = "Absolute path of a folder for what the driver keeps over its own restarts. Unless said, inside the "
                "agent below its data_dir, for a program /run/drover-docker."},
       {.name = "extra_labels",
        .type = "list(string)",
        .help = "What containers are labelled with beside their allocation: job_name, job_id, task_group_name, "
                "task_name, namespace, node_name, node_id; * stands for anything."},
       {.name = "allow_privileged",
        .type = "bool",
        .default_literal = "false",
        .help = "Let jobs have all rights over the machine: privileged, and its process, IPC, user and network "
                "namespaces."},
       {.name = "allow_caps", .type = "list(string)", .help = "Capabilities that tasks may have; \"all\" for each."},
       {.name = "nvidia_runtime", .type = "string", .default_literal = "\"nvidia\""},
       {.name = "allow_runtimes", .type = "list(string)", .default_literal = "[\"runc\", \"nvidia\"]"},
       {.name = "infra_image",
        .type = "string",
        .help = "The image of the container that holds the network of a group."},
       {.name = "infra_image_pull_timeout", .type = "string", .default_literal = "\"5m\""},
       {.name = "pull_activity_timeout",
        .type = "string",
        .default_literal = "\"2m\"",
        .help = "A pull without any progress for so long fails; at least 1m."},
       {.name = "pids_limit", .type = "number", .help = "The most processes and threads of a task; jobs may lower it."},
       {.name = "disable_log_collection", .type = "bool", .default_literal = "false"}});
  add_block(schema, "auth",
            hclspec::object_of(
                {{.name = "config",
                  .type = "string",
                  .help = "A file with registry credentials, as `docker login` writes it."},
                 {.name = "helper", .type = "string", .help = "Asks docker-credential-HELPER for credentials."}}));
  add_block(schema, "tls", hclspec::object_of({{"cert", "string"}, {"key", "string"}, {"ca", "string"}}));
  hclspec::Spec logging = hclspec::object_of({{.name = "type",
                                               .type = "string",
                                               .default_literal = "\"json-file\"",
                                               .help = "The engine's own log driver for tasks that name none."}});
  add_map(logging, "config", "string");
  add_block(schema, "logging", logging);
  add_block(schema, "volumes",
            hclspec::object_of({{.name = "enabled",
                                 .type = "bool",
                                 .help = "Let jobs mount paths of the machine, volumes and volume drivers. Off unless "
                                         "the agent runs in development mode."},
                                {.name = "selinuxlabel", .type = "string"}}));
  add_gc(schema);
  return schema;
}

Result<PluginOptions> read_plugin_options(std::string_view msgpack, bool is_dev_mode) {
  DROVER_TRY(Fields fields, Fields::from_msgpack(msgpack));
  PluginOptions out;
  out.has_volumes = is_dev_mode;
  out.endpoint = fields.text("endpoint");
  out.state_dir = fields.text("state_dir");
  out.extra_labels = fields.texts("extra_labels");
  out.allows_privileged = fields.boolean("allow_privileged");
  out.allowed_caps = fields.maybe_texts("allow_caps").value_or(default_allowed_capabilities());
  out.nvidia_runtime = fields.text("nvidia_runtime", out.nvidia_runtime);
  out.allowed_runtimes = fields.maybe_texts("allow_runtimes").value_or(out.allowed_runtimes);
  out.infra_image = fields.text("infra_image");
  out.infra_pull_timeout = fields.duration("infra_image_pull_timeout", out.infra_pull_timeout);
  out.pull_activity_timeout = fields.duration("pull_activity_timeout", out.pull_activity_timeout);
  out.pids_limit = fields.integer("pids_limit");
  out.disable_log_collection = fields.boolean("disable_log_collection");
  DROVER_RETURN_IF_ERROR(read_blocks(fields, out));
  DROVER_RETURN_IF_ERROR(fields.finish());
  if (out.infra_image.empty()) out.infra_image = default_infra_image();
  if (out.pull_activity_timeout < kLeastActivity)
    return invalid_argument("pull_activity_timeout is less than minimum, 1m0s");
  if (out.pids_limit < 0) return invalid_argument("config option \"pids_limit\" must not be negative");
  if (!out.state_dir.empty() && !out.state_dir.starts_with('/'))
    return invalid_argument("config option \"state_dir\" must be an absolute path");
  return out;
}

}  // namespace drover::docker

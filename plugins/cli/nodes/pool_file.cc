#include "nodes/pool_file.h"

#include "drover/config.h"
#include "drover/json.h"
#include "drover/v1/node_pool.pb.h"

namespace drover::cli {
namespace {

ConfigSchema schema() {
  using enum ConfigType;
  return {.options = {{.name = "node_pool",
                       .type = labelled_block,
                       .help = "A node pool, by its name.",
                       .options = {{.name = "description", .help = "What it is for."},
                                   {.name = "meta", .type = string_map, .help = "For people and their tools."},
                                   {.name = "node_identity_ttl",
                                    .type = duration,
                                    .help = "Life of the identities of its nodes."},
                                   {.name = "scheduler_config",
                                    .type = block,
                                    .help = "What the scheduler does otherwise for jobs of this pool.",
                                    .options = {{.name = "scheduler_algorithm",
                                                 .help = "How nodes are preferred.",
                                                 .one_of = {"binpack", "spread"}},
                                                {.name = "memory_oversubscription_enabled",
                                                 .type = boolean,
                                                 .help = "Whether tasks may use up to their memory_max."}}}}}}};
}

}  // namespace

const char* const kPoolExample = R"(node_pool "example" {
  description = "Example node pool"

  # For people and their tools. The scheduler does not look at it.
  meta {
    environment = "prod"
    owner       = "sre"
  }

  # How long an identity of a node of this pool is good for; nodes renew theirs before. Default: 24h.
  #
  # node_identity_ttl = "24h"

  # The scheduler's settings for the jobs of this pool. A setting that is left out is as for all jobs:
  # drover operator scheduler get-config
  #
  # scheduler_config {
  #   scheduler_algorithm             = "spread"
  #   memory_oversubscription_enabled = false
  # }
}
)";

const char* const kPoolExampleJson = R"({
  "Name": "example",
  "Description": "Example node pool",
  "Meta": {
    "environment": "prod",
    "owner": "sre"
  }
}
)";

Result<v1::NodePool> read_pool_file(const std::string& name, const std::string& text) {
  DROVER_TRY(const ConfigBlock raw, parse_config(name, text));
  DROVER_TRY(const ConfigBlock file, apply_schema(raw, schema()));
  const auto pools = file.all("node_pool");
  if (pools.size() != 1) {
    return invalid_argument(name + ": describes " + std::to_string(pools.size()) +
                            " node pools; write one block: node_pool \"name\" { … }");
  }
  const ConfigBlock& described = *pools[0];
  v1::NodePool pool;
  pool.set_name(described.labels.at(0));
  pool.set_description(described.string("description"));
  for (const auto& [key, value] : described.string_map("meta")) (*pool.mutable_meta())[key] = value;
  pool.set_node_identity_ttl(described.duration("node_identity_ttl").count());
  // Without a line it was not written.
  if (const ConfigBlock* scheduler = described.block("scheduler_config"); scheduler && scheduler->place.line > 0) {
    v1::NodePoolSchedulerConfiguration& own = *pool.mutable_scheduler_configuration();
    own.set_scheduler_algorithm(scheduler->string("scheduler_algorithm"));
    if (scheduler->has("memory_oversubscription_enabled"))
      own.set_memory_oversubscription_enabled(scheduler->boolean("memory_oversubscription_enabled"));
  }
  return pool;
}

Result<v1::NodePool> read_pool_json(const std::string& text) {
  v1::NodePool pool;
  DROVER_RETURN_IF_ERROR(json_to_message(text, pool));
  return pool;
}

}  // namespace drover::cli

#include "volumes/volume_problem.h"

#include "drover/uuid.h"
#include "drover/v1/node.pb.h"

namespace drover::scheduler {
namespace {

using Kind = VolumeProblem::Kind;

constexpr size_t kShortId = 8;

std::string id_text(const std::string& id) { return Uuid::from_bytes(id).to_string(); }

// The text of a plugin that lacks something on a node, up to the node's name.
std::string of_client(const VolumeProblem& problem) {
  const std::string plugin = "CSI plugin " + problem.plugin;
  if (problem.kind == Kind::no_plugin) return plugin + " is missing from client";
  if (problem.kind == Kind::unhealthy) return plugin + " is unhealthy on client";
  return plugin + " has the maximum number of volumes on client";
}

bool names_node(Kind kind) { return kind == Kind::no_plugin || kind == Kind::unhealthy || kind == Kind::full; }

bool is_of_host(Kind kind) { return kind >= Kind::host_missing; }

std::string of_volume(const VolumeProblem& problem) {
  if (is_of_host(problem.kind)) return "missing compatible host volumes";
  const std::string volume = "CSI volume " + problem.volume;
  if (problem.kind == Kind::missing) return "missing CSI Volume " + problem.volume;
  if (problem.kind == Kind::topology) return "did not meet topology requirement";
  if (problem.reads) return volume + " is unschedulable or has exhausted its available reader claims";
  const std::string taken = volume + " has exhausted its available writer claims";
  if (problem.kind == Kind::no_writer) return taken;
  if (problem.kind == Kind::collected) {
    return taken + " and is claimed by a garbage collected allocation " + id_text(problem.holder) +
           "; waiting for claim to be released";
  }
  return volume + " is unschedulable or is read-only";
}

}  // namespace

bool is_of_node(Kind kind) { return names_node(kind) || kind == Kind::topology || is_of_host(kind); }

std::string text_of(const VolumeProblem& problem, const v1::Node& node) {
  return names_node(problem.kind) ? of_client(problem) + " " + id_text(node.id()) : of_volume(problem);
}

std::string text_without_node(const VolumeProblem& problem) {
  return names_node(problem.kind) ? of_client(problem) : of_volume(problem);
}

std::string text_of_more(const VolumeProblem& problem) {
  return names_node(problem.kind) ? of_client(problem) + "s beside these" : std::string();
}

std::string remedy_for(const VolumeProblem& problem) {
  const std::string volume = "the volume \"" + problem.volume + "\"", plugin = "the plugin \"" + problem.plugin + "\"";
  const std::string holder = problem.holder.empty() ? "others"
                                                    : "allocation " + id_text(problem.holder).substr(0, kShortId) +
                                                          " of job \"" + problem.holder_job + "\"";
  switch (problem.kind) {
    case Kind::host_missing:
      return "have a volume of that name in the job's namespace there: " + volume + " is of another one";
    case Kind::host_not_ready:
      return "wait until " + volume + " is ready there";
    case Kind::host_capability:
      return "ask for " + volume + " in a mode that it was created with";
    case Kind::host_mode:
      return std::string("ask for ") + volume + (problem.reads ? " to write, or" : " read-only, or") +
             " in another mode";
    case Kind::host_writer:
      return "wait until " + holder + " no longer writes to " + volume + ", or ask for another mode";
    case Kind::host_sticky:
      return "have the volume there that the group had before, or give it up (drover volume claim delete)";
    case Kind::host_not_dynamic:
      return "create " + volume + " there as a dynamic one: those of client.host_volume are not sticky";
    case Kind::missing:
      return "register " + volume;
    case Kind::no_plugin:
      return "run " + plugin + " there";
    case Kind::unhealthy:
      return "have " + plugin + " healthy there";
    case Kind::full:
      return "free one of the " + std::to_string(problem.limit) + " volumes that " + plugin + " takes there";
    case Kind::topology:
      return "have " + volume + " where it can be reached from there";
    case Kind::unschedulable:
      return "have " + plugin + " healthy, with a controller, for " + volume;
    case Kind::capability:
      return "ask for " + volume + " in a mode that it is registered for";
    case Kind::other_mode:
      return "ask for " + volume + " in the mode in which it is used, or wait until " + holder + " releases it";
    case Kind::read_only:
      return "ask for " + volume + " read-only, or in a mode that lets it be written";
    case Kind::no_reader:
    case Kind::no_writer:
      return "wait until " + holder + " releases " + volume;
    case Kind::collected:
      return "wait until the claim of " + holder + " on " + volume + " is undone, or detach it";
  }
  return "";
}

}  // namespace drover::scheduler

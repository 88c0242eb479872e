// node drain.
#include "node_drain.h"

#include "confirm.h"
#include "drover/api/nodes.pb.h"
#include "drover/duration.h"
#include "lookup.h"
#include "output.h"

namespace drover::cli {
namespace {

// What is wrong with the combination of options; empty when nothing is.
std::string fault_of(const Arguments& arguments) {
  if (arguments.on("monitor")) {
    return arguments.on("enable") || arguments.on("disable")
               ? "The -monitor flag cannot be used with the '-enable' or '-disable' flags"
               : "";
  }
  if (arguments.on("enable") == arguments.on("disable")) {
    return "Either the '-enable' or '-disable' flag must be set, unless using '-monitor'";
  }
  const bool deadline = arguments.is_set("deadline");
  if (arguments.on("disable") &&
      (deadline || arguments.on("force") || arguments.on("no-deadline") || arguments.on("ignore-system"))) {
    return "-disable can't be combined with flags configuring drain strategy";
  }
  if (arguments.on("enable") && arguments.on("keep-ineligible")) return "-keep-ineligible only applies to -disable";
  if (deadline && (arguments.on("force") || arguments.on("no-deadline"))) {
    return "-deadline can't be combined with -force or -no-deadline";
  }
  if (arguments.on("force") && arguments.on("no-deadline")) return "-force and -no-deadline are mutually exclusive";
  return "";
}

Status describe(const Arguments& arguments, v1::NodeDrainRequest& request) {
  if (!arguments.value("m").empty()) (*request.mutable_meta())["message"] = arguments.value("m");
  for (const std::string& pair : arguments.values("meta")) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos) return invalid_argument("-meta \"" + pair + "\": use key=value");
    (*request.mutable_meta())[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  if (arguments.on("disable")) {
    request.set_mark_eligible(!arguments.on("keep-ineligible"));
    return ok_status();
  }
  v1::DrainSpec& spec = *request.mutable_drain_spec();
  spec.set_ignore_system_jobs(arguments.on("ignore-system"));
  if (arguments.on("force")) {
    spec.set_deadline(-1'000'000'000);
  } else if (!arguments.on("no-deadline")) {
    DROVER_TRY(const auto deadline, parse_duration(arguments.value("deadline")));
    if (deadline.count() <= 0) return invalid_argument("-deadline must be positive; -force moves everything at once");
    spec.set_deadline(deadline.count());
  }
  return ok_status();
}

int node_drain(Run& run) {
  const Arguments& arguments = run.arguments;
  if (const std::string fault = fault_of(arguments); !fault.empty()) return run.usage(fault);
  if (arguments.on("self") == !arguments.positional().empty()) return run.usage("Name a node, or set '-self'");
  const auto typed = named_or_own_node(run);
  if (!typed) return run.fail("Error finding this agent's node", typed.status());
  auto found = find_node(run, *typed);
  if (!found) return run.fail("Error toggling drain mode", found.status());
  const v1::Node& node = found->message.node().node();
  if (arguments.on("monitor")) return monitor_drain(run, node.id(), node.drain_strategy().ignore_system_jobs());

  v1::NodeDrainRequest request;
  request.set_node_id(node.id());
  if (const Status status = describe(arguments, request); !status.ok()) return run.usage(status.message());
  const bool enable = arguments.on("enable");
  if (!arguments.on("yes") && id_text(node.id()) != *typed) {
    const std::string verb = enable ? "enable" : "disable";
    if (auto code =
            ask(run, "Are you sure you want to " + verb + " drain mode for node \"" + id_text(node.id()) + "\"?")) {
      return *code;
    }
  }
  auto answer = run.client.call<v1::Nodes::Drain>(request);
  if (!answer) return run.fail("Error updating drain specification", answer.status());
  run.out << "Node \"" << id_text(node.id()) << "\" drain strategy " << (enable ? "set" : "unset") << "\n"
          << std::flush;
  if (!enable || arguments.on("detach")) return 0;
  return monitor_drain(run, node.id(), arguments.on("ignore-system"));
}

}  // namespace

std::vector<Definition> node_drain_commands() {
  return {{"node drain",
           "Moves the allocations of a node elsewhere, few at a time, and keeps new ones away.",
           "[node]",
           "",
           {on_off("enable", "Begin the drain, or change how it goes on"), on_off("disable", "End it"),
            with_value("deadline", "1h", "Time after which what is left moves at once"),
            on_off("force", "Move everything at once"), on_off("no-deadline", "Wait as long as it takes"),
            on_off("ignore-system", "Let system jobs stay"),
            on_off("keep-ineligible", "With -disable: the node takes no new work"),
            with_value("m", "", "Message kept with the drain"),
            with_value("meta", "", "key=value kept with the drain; may be given several times"),
            on_off("self", "The node of this agent"), on_off("detach", "Do not follow the drain"),
            on_off("monitor", "Only follow a drain that is under way"), on_off("yes", "Do not ask")},
           0,
           1,
           node_drain}};
}

}  // namespace drover::cli

#include "reservable.h"

#include "drover/v1/node.pb.h"

namespace drover::cores {
namespace {

constexpr const char* kReservable = "client.reservable_cores";
constexpr const char* kKept = "client.reserved.cores";

Status check_there(const char* option, const CoreList& named, const CoreList& machine) {
  const CoreList missing = without(named, machine);
  if (missing.empty()) return ok_status();
  return invalid_argument(std::string(option) + ": this machine has no core " + format_core_list(missing) +
                          "; it has " + format_core_list(machine));
}

}  // namespace

std::vector<ConfigOption> client_options() {
  return {{.name = "reservable_cores",
           .type = ConfigType::string,
           .help = "Cores that tasks may use and reserve, such as 0-3,7. Default: all of this machine.",
           .api_name = "ReserveableCores"}};
}

Result<CoreOptions> read_options(const ConfigBlock* client) {
  CoreOptions options;
  if (!client) return options;
  if (const std::string text = client->string("reservable_cores"); !text.empty()) {
    auto cores = parse_core_list(text);
    if (!cores) return cores.status().with_context(kReservable);
    options.reservable = *std::move(cores);
  }
  if (const ConfigBlock* reserved = client->block("reserved")) {
    auto cores = parse_core_list(reserved->string("cores"));
    if (!cores) return cores.status().with_context(kKept);
    options.kept = *std::move(cores);
  }
  return options;
}

Result<CoreList> usable_cores(const CoreOptions& options, const CoreList& machine) {
  if (options.reservable) DROVER_RETURN_IF_ERROR(check_there(kReservable, *options.reservable, machine));
  DROVER_RETURN_IF_ERROR(check_there(kKept, options.kept, machine));
  CoreList usable = without(options.reservable.value_or(machine), options.kept);
  if (usable.empty()) return invalid_argument(std::string(kKept) + " leaves no core to tasks");
  return usable;
}

void CoresFingerprint::start(CoreList reservable, CoreList kept) {
  reservable_ = std::move(reservable);
  kept_ = std::move(kept);
}

Status CoresFingerprint::describe(v1::Node& node) {
  v1::NodeCpu& cpu = *node.mutable_node_resources()->mutable_cpu();
  cpu.mutable_reservable_cpu_cores()->Assign(reservable_.begin(), reservable_.end());
  (*node.mutable_attributes())["cpu.reservablecores"] = std::to_string(reservable_.size());
  v1::NodeReservedCpu& reserved = *node.mutable_reserved_resources()->mutable_cpu();
  reserved.mutable_reserved_cpu_cores()->Assign(kept_.begin(), kept_.end());
  // Cores that are kept take their speed with them, unless the operator says how much is kept.
  if (reserved.cpu_shares() == 0 && cpu.total_cpu_cores() > 0)
    reserved.set_cpu_shares(cpu.cpu_shares() / cpu.total_cpu_cores() * static_cast<int64_t>(kept_.size()));
  return ok_status();
}

}  // namespace drover::cores

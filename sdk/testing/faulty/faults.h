// Plugins with one fault each: for every check of the conformance kit at least one that it must notice.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "reference.h"

namespace drover::faulty {

struct Fault {
  std::string_view name;  // of the check that must notice it
  std::function<void(serve::Methods& methods, const std::shared_ptr<World>& world)> apply;
  Form form{};
};

std::span<const Fault> early_faults();  // information, configuration, fingerprint
std::span<const Fault> task_faults();   // start, wait, stop, destroy
std::span<const Fault> look_faults();   // inspection, statistics, signals, commands, events, networks
std::span<const Fault> device_faults();
std::span<const Fault> check_provider_faults();
std::span<const Fault> service_provider_faults();
std::span<const Fault> auth_method_faults();
std::span<const Fault> later_faults();  // recovery, crashes, output, load, codes

// Keeps the world's record of what is being answered; after all other changes.
void track(serve::Methods& methods, const std::shared_ptr<World>& world);

}  // namespace drover::faulty

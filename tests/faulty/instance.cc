#include "instance.h"

#include "sdk/serve/kind_methods.h"

namespace drover::faulty {

const std::string& own_name(std::string_view kind) {
  static const std::string kReference = "reference", kTold = "told", kLines = "lines";
  return kind == "check" ? kTold : kind == "service" ? kLines : kReference;
}

FaultyInstance::FaultyInstance(std::string_view kind, const Fault* fault, const WorldPtr& world,
                               const std::string& name, const std::function<void()>& end)
    : world_(world) {
  const std::string& own = own_name(kind);
  const serve::About about{.name = name.empty() ? own : name, .own_name = own, .version = "1.0.0", .end = end};
  const auto take = [&](auto plugin) {
    methods_ = serve::methods_of(*plugin, about);
    plugin_ = std::move(plugin);
  };
  {
    const std::lock_guard lock(world->mutex);
    ++world->instances;
    world->in_flight.clear();
  }
  if (kind == "driver") take(reference_driver(world, !fault || !fault->is_for("bare")));
  if (kind == "device") take(reference_device());
  if (kind == "check") take(reference_checks());
  if (kind == "service") take(reference_services());
  if (kind == "auth") take(reference_auth());
  apply(fault, methods_, world);
}

void FaultyInstance::stop() {
  {
    const std::lock_guard lock(world_->mutex);
    for (const auto& [method, call] : world_->in_flight) world_->crashed_in.insert(method);
  }
  plugin_->stop();
}

}  // namespace drover::faulty

#include "network/pause_network.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "create/container_body.h"
#include "drover/log.h"
#include "drover/pause.h"
#include "images/image_store.h"
#include "nomad/plugins/driver.pb.h"
#include "task/containers.h"

namespace drover::docker {
namespace {

using Json = nlohmann::json;

constexpr int kTries = 10;
constexpr std::chrono::milliseconds kPause{200};

Result<std::string> provide_pause_image(const NetworkParts& parts, const std::stop_token& stop) {
  ContainerOptions options;
  options.image = parts.plugin.infra_image;
  options.image_pull_timeout = parts.plugin.infra_pull_timeout;
  const auto tell = [&](const std::string& text) {
    log::info("docker", "the image of group networks is pulled", {{"image", options.image}, {"progress", text}});
  };
  // It does not change: what is there will do, whatever its tag.
  DROVER_TRY(const ImageName image, parse_image_name(options.image));
  if (auto found = find_image(parts.engine, image, stop); found.status().code() != Code::not_found) return found;
  return provide_image(parts.engine, parts.puller,
                       {.options = options, .plugin = parts.plugin, .local_folder = {}, .tell = tell}, stop);
}

PauseNetwork network_of_container(const Container& container, bool is_new) {
  PauseNetwork out{.container = container.id, .path = container.sandbox, .is_new = is_new};
  // Podman tells no path.
  if (out.path.empty()) out.path = "/proc/" + std::to_string(container.pid) + "/ns/net";
  return out;
}

}  // namespace

std::string pause_name(const std::string& alloc_id) { return "nomad_init_" + alloc_id; }

std::string pause_body(const driver::CreateNetworkRequest& request, const std::string& image, const std::string& node) {
  Json body{{"Image", image},
            {"Labels", {{kAllocLabel, request.alloc_id()}, {kNodeLabel, node}}},
            {"HostConfig", {{"NetworkMode", "none"}, {"RestartPolicy", {{"Name", "unless-stopped"}}}}}};
  if (!request.hostname().empty()) body["Hostname"] = request.hostname();
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

namespace {

// Nothing: somebody else was faster.
Result<std::optional<PauseNetwork>> create(const NetworkParts& parts, const driver::CreateNetworkRequest& request,
                                           const std::stop_token& stop) {
  DROVER_TRY(const std::string image, provide_pause_image(parts, stop));
  auto made = parts.engine.call({.method = "POST",
                                 .target = "/containers/create" + query({{"name", pause_name(request.alloc_id())}}),
                                 .body = pause_body(request, image, parts.node)},
                                Patience::of(Engine::kCallTime, stop));
  if (is_name_in_use(made.status())) return std::optional<PauseNetwork>();
  if (!made) return made.status().with_context("failed to create the group's network container");
  DROVER_TRY(const std::string id, read_text(*made, "Id", "a new container"));
  Status started = start_container(parts.engine, id);
  if (started.ok()) {
    auto now = inspect_container(parts.engine, id, Patience::of(Engine::kCallTime, stop));
    if (now && now->is_running) return std::optional(network_of_container(*now, true));
    started = now ? failed_precondition("it ended at once, with exit code " + std::to_string(now->exit_code) +
                                        "; infra_image must be one that waits")
                  : now.status();
  }
  (void)remove_container(parts.engine, id);
  return started.with_context("failed to start the group's network container");
}

}  // namespace

Result<PauseNetwork> make_pause_network(const NetworkParts& parts, const driver::CreateNetworkRequest& request,
                                        std::stop_token stop) {
  for (int tries = 1; tries <= kTries; ++tries) {
    const auto found =
        inspect_container(parts.engine, pause_name(request.alloc_id()), Patience::of(Engine::kCallTime, stop));
    if (found && found->is_running) return network_of_container(*found, false);
    if (!found && found.status().code() != Code::not_found) return found.status();
    // One that does not run may be about to: another call makes it.
    if (found && tries == kTries - 1) DROVER_RETURN_IF_ERROR(remove_container(parts.engine, found->id));
    if (!found) {
      DROVER_TRY(const std::optional<PauseNetwork> made, create(parts, request, stop));
      if (made) return *made;
    }
    if (!pause_for(kPause, stop)) return cancelled("the group's network is not needed any more");
  }
  return unavailable("the group's network container is there and does not run");
}

}  // namespace drover::docker

#include "dangling/dangling.h"

#include <pthread.h>

#include <algorithm>

#include "create/container_body.h"
#include "drover/log.h"
#include "drover/pause.h"
#include "task/containers.h"

namespace drover::docker {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

bool has(const ListedContainer& container, const char* label, const std::string& value) {
  const auto at = container.labels.find(label);
  return at != container.labels.end() && at->second == value;
}

}  // namespace

std::vector<ListedContainer> dangling_of(const std::vector<ListedContainer>& all, const DanglingRule& rule) {
  std::vector<ListedContainer> out;
  for (const ListedContainer& one : all) {
    const bool is_ours = !rule.node.empty() && has(one, kNodeLabel, rule.node) && one.labels.contains(kAllocLabel);
    const bool is_old = one.created_s + rule.grace_s <= rule.now_s;
    if (is_ours && is_old && !rule.held.contains(one.id) && (one.is_running || rule.takes_ended)) out.push_back(one);
  }
  return out;
}

DanglingContainers::DanglingContainers(Engine& engine, Options options, std::function<std::optional<Held>()> held)
    : engine_(engine), options_(options), held_(std::move(held)) {}

void DanglingContainers::start() {
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

void DanglingContainers::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void DanglingContainers::run(const std::stop_token& stop) {
  pthread_setname_np(pthread_self(), "docker-dangling");
  std::chrono::nanoseconds pause = std::max(options_.period, options_.grace);
  while (pause_for(pause, stop)) {
    const auto done = remove_once(stop);
    if (!done) log::warn("docker", "containers could not be looked over", {{"error", done.status().message()}});
    pause = options_.period;
  }
}

Result<std::vector<std::string>> DanglingContainers::remove_once(const std::stop_token& stop) {
  std::vector<std::string> out;
  DROVER_TRY(const std::string answer,
             engine_.call({.target = "/containers/json?all=1"}, Patience::of(Engine::kCallTime, stop)));
  DROVER_TRY(const std::vector<ListedContainer> all, read_containers(answer));
  // After the list: a container that was started meanwhile is not in it.
  const auto held = held_();
  if (!held) return out;
  const DanglingRule rule{.node = held->node,
                          .held = held->containers,
                          .now_s = SystemClock().wall_ns() / kSecond,
                          .grace_s = options_.grace.count() / kSecond,
                          .takes_ended = options_.takes_ended};
  for (const ListedContainer& one : dangling_of(all, rule)) {
    if (stop.stop_requested()) break;
    log::info("docker",
              options_.is_dry_run ? "a container that belongs to no task would be removed"
                                  : "a container that belongs to no task is removed",
              {{"container", one.id}, {"name", one.name}});
    out.push_back(one.id);
    if (options_.is_dry_run) continue;
    if (const Status removed = remove_container(engine_, one.id); !removed.ok())
      log::warn("docker", "a container could not be removed", {{"container", one.id}, {"error", removed.message()}});
  }
  return out;
}

}  // namespace drover::docker

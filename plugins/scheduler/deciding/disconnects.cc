#include "disconnects.h"

#include <algorithm>

#include "drover/model/allocation.h"

namespace drover::scheduler {
namespace {

constexpr int64_t kShortestKillTimeout = 5'000'000'000;

std::string text_of(v1::ClientStatus status) {
  switch (status) {
    case v1::CLIENT_STATUS_RUNNING:
      return "running";
    case v1::CLIENT_STATUS_UNKNOWN:
      return "unknown";
    case v1::CLIENT_STATUS_COMPLETE:
      return "complete";
    case v1::CLIENT_STATUS_FAILED:
      return "failed";
    case v1::CLIENT_STATUS_LOST:
      return "lost";
    default:
      return "pending";
  }
}

double best_score(const v1::Allocation& alloc) {
  double best = 0;
  for (const v1::NodeScoreMeta& meta : alloc.metrics().score_meta_data()) best = std::max(best, meta.norm_score());
  return best;
}

int64_t running_since(const v1::Allocation& alloc) {
  int64_t since = 0;
  for (const auto& [name, state] : alloc.task_states()) since = std::max(since, state.started_at());
  return since == 0 ? INT64_MAX : since;
}

bool is_gone(v1::NodeStatus status) { return status == v1::NODE_STATUS_UNSPECIFIED || status == v1::NODE_STATUS_DOWN; }

}  // namespace

bool replaces_disconnected(const v1::TaskGroup& group) {
  if (group.prevent_reschedule_on_lost()) return false;
  return !group.disconnect().has_replace() || group.disconnect().replace();
}

std::optional<int64_t> stopped_on_client_at(const v1::Allocation& alloc, const v1::TaskGroup& group, int64_t now) {
  const auto after = stop_on_client_after(group);
  if (!after) return std::nullopt;
  int64_t lost_at = now;
  for (const v1::AllocState& state : alloc.alloc_states()) {
    if (state.value() != "lost") continue;
    lost_at = state.time();
    break;
  }
  int64_t kill_timeout = kShortestKillTimeout;
  for (const v1::Task& task : group.tasks()) kill_timeout = std::max(kill_timeout, task.kill_timeout());
  return lost_at + *after + kill_timeout;
}

BySituation split(const Allocs& allocs, int64_t now, bool replaces,
                  const std::function<v1::NodeStatus(const std::string& node_id)>& node_status,
                  const std::function<const v1::TaskGroup*(const v1::Allocation&)>& group_of) {
  BySituation by;
  for (Alloc alloc : allocs) {
    const v1::ClientStatus client = alloc->client_status();
    const bool away = needs_reconnect(*alloc);
    const v1::NodeStatus node = node_status(alloc->node_id());
    if (terminal(*alloc) && !away) {
      by.untainted.push_back(alloc);
      continue;
    }
    const v1::TaskGroup* group = away || node == v1::NODE_STATUS_DISCONNECTED ? group_of(*alloc) : nullptr;
    const bool has_window = group && lost_after(*group);
    const bool supports = has_window || !replaces;
    // A person's stop is what ends one whose node is down and that keeps its place.
    const bool keeps_place = !replaces && node != v1::NODE_STATUS_UNSPECIFIED && !alloc->desired_transition().migrate();
    const bool back = supports && away && (client == v1::CLIENT_STATUS_RUNNING || client == v1::CLIENT_STATUS_FAILED);
    if (back && client == v1::CLIENT_STATUS_FAILED && alloc->desired_status() == v1::DESIRED_STATUS_RUN) {
      by.reconnecting.push_back(alloc);
    } else if (node == v1::NODE_STATUS_DISCONNECTED && !supports) {
      by.lost.push_back(alloc);
    } else if (node == v1::NODE_STATUS_DISCONNECTED && client == v1::CLIENT_STATUS_RUNNING) {
      by.disconnecting.push_back(alloc);
    } else if (node == v1::NODE_STATUS_DISCONNECTED && client == v1::CLIENT_STATUS_PENDING) {
      by.lost.push_back(alloc);
    } else if (terminal(*alloc) && !back) {
      by.untainted.push_back(alloc);
    } else if (back && client == v1::CLIENT_STATUS_FAILED) {
      by.ignore.push_back(alloc);  // it failed away from us, and is stopped already
    } else if (server_terminal(*alloc) && is_gone(node)) {
      by.untainted.push_back(alloc);  // where it ends is said apart
    } else if (has_window && !keeps_place && expired(*alloc, *group, now)) {
      by.lost.push_back(alloc);
    } else if (is_gone(node) && !replaces && !keeps_place) {
      by.lost.push_back(alloc);
    } else if (is_gone(node) && keeps_place && client == v1::CLIENT_STATUS_RUNNING) {
      by.disconnecting.push_back(alloc);
    } else if (back && client == v1::CLIENT_STATUS_RUNNING && !is_gone(node)) {
      by.reconnecting.push_back(alloc);
    } else if (alloc->desired_transition().migrate() && !is_gone(node)) {
      by.migrate.push_back(alloc);
    } else if (supports && client == v1::CLIENT_STATUS_UNKNOWN) {
      by.ignore.push_back(alloc);  // it may come back
    } else if (is_gone(node)) {
      by.lost.push_back(alloc);
    } else {
      by.untainted.push_back(alloc);
    }
  }
  return by;
}

v1::AllocState client_state(v1::ClientStatus status, int64_t now) {
  v1::AllocState state;
  state.set_value(text_of(status));
  state.set_time(now);
  return state;
}

bool keeps_replacement(const v1::Allocation& back, const v1::Allocation& replacement, const std::string& strategy) {
  if (replacement.job_create_index() != back.job_create_index()) {
    return replacement.job_create_index() > back.job_create_index();
  }
  if (replacement.job_version() > back.job_version()) return true;
  if (strategy == "keep_original") return false;
  if (strategy == "keep_replacement") return true;
  if (strategy == "longest_running") return running_since(replacement) < running_since(back);
  if (best_score(replacement) <= best_score(back)) return false;
  return replacement.client_status() == v1::CLIENT_STATUS_RUNNING || back.client_status() != v1::CLIENT_STATUS_RUNNING;
}

}  // namespace drover::scheduler

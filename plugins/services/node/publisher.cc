#include "node/publisher.h"

#include <pthread.h>

#include <algorithm>

#include "drover/log.h"
#include "drover/pause.h"
#include "drover/v1/check_provider.pb.h"
#include "drover/v1/service_provider.pb.h"
#include "services.pb.h"

namespace drover::services {
namespace {

v1::CheckResult::Status status_of(ServiceStatus status) {
  switch (status) {
    case ServiceStatus::passing:
      return v1::CheckResult::PASSING;
    case ServiceStatus::warning:
      return v1::CheckResult::WARNING;
    case ServiceStatus::critical:
      return v1::CheckResult::CRITICAL;
  }
  return v1::CheckResult::PASSING;
}

void fill_in_health(v1::ServiceInstance& instance, const ServiceHealth& health) {
  const auto alloc = Uuid::parse(instance.alloc_id());
  if (!alloc) return;
  ServiceHealthNow now = health.health(*alloc, instance.task(), instance.service());
  instance.set_status(status_of(now.status));
  instance.set_status_output(std::move(now.output));
}

}  // namespace

void Publisher::start(std::function<std::optional<NodeProofOf>()> who, const ServiceHealth* health) {
  who_ = std::move(who);
  health_ = health;
}

void Publisher::offer(const std::string& name, ServiceProvider& provider) {
  MutexLock lock(mutex_);
  if (is_stopped_ || std::ranges::any_of(outlets_, [&](const auto& outlet) { return outlet->name == name; })) return;
  outlets_.push_back(std::make_unique<Outlet>(Outlet{.name = name, .provider = &provider, .at = outlets_.size()}));
  progress_.emplace_back();
  Outlet& outlet = *outlets_.back();
  outlet.thread = std::jthread([this, &outlet](const std::stop_token& stop) { run(outlet, stop); });
}

bool Publisher::has(std::string_view provider) {
  MutexLock lock(mutex_);
  return std::ranges::any_of(outlets_, [&](const auto& outlet) { return outlet->name == provider; });
}

void Publisher::stop() {
  std::vector<std::unique_ptr<Outlet>> all;
  {
    MutexLock lock(mutex_);
    is_stopped_ = true;
    all.swap(outlets_);
    settled_.notify_all();
  }
  for (const auto& outlet : all) outlet->thread.request_stop();
  for (const auto& outlet : all) {
    if (outlet->thread.joinable()) outlet->thread.join();
  }
}

void Publisher::changed() {
  ++change_;
  woken_.notify_all();
}

void Publisher::put(const WorkloadName& name, const v1::StoredInstances& instances) {
  MutexLock lock(mutex_);
  auto& kept = workloads_[name];
  if (kept && serialize(*kept) == serialize(instances)) return;
  kept = std::make_shared<const v1::StoredInstances>(instances);
  changed();
}

void Publisher::remove(const WorkloadName& name) {
  MutexLock lock(mutex_);
  if (workloads_.erase(name) > 0) changed();
}

bool Publisher::settle(std::chrono::nanoseconds patience, const std::set<std::string>& providers) {
  const SteadyTime end = SystemClock().steady() + patience;
  MutexLock lock(mutex_);
  const uint64_t until = change_;
  return settled_.wait_until(lock, end, [&]() DROVER_REQUIRES(mutex_) {
    return std::ranges::all_of(outlets_, [&](const auto& outlet) DROVER_REQUIRES(mutex_) {
      if (!providers.empty() && !providers.contains(outlet->name)) return true;
      return progress_[outlet->at].published >= until;
    });
  });
}

void Publisher::health_changed() { registered(); }

void Publisher::registered() {
  MutexLock lock(mutex_);
  for (Progress& each : progress_) each.is_due = true;
  woken_.notify_all();
}

void Publisher::run(Outlet& outlet, const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "services");
  std::chrono::nanoseconds retry = kFirstRetry;
  while (!stop.stop_requested()) {
    if (!who_()) {
      MutexLock lock(mutex_);
      woken_.wait(lock, stop, [&]() DROVER_REQUIRES(mutex_) { return progress_[outlet.at].is_due; });
      if (!progress_[outlet.at].is_due) return;
    }
    pause_for(kGather, stop);
    if (const Status status = sync(outlet, stop); !status.ok()) {
      if (stop.stop_requested()) return;
      log::warn("services", "services are not published", {{"provider", outlet.name}, {"error", status.message()}});
      pause_for(retry, stop);
      retry = std::min<std::chrono::nanoseconds>(retry * 2, kLastRetry);
      continue;
    }
    retry = kFirstRetry;
    MutexLock lock(mutex_);
    woken_.wait_for(lock, stop, outlet.provider->sync_every(), [&]() DROVER_REQUIRES(mutex_) {
      return progress_[outlet.at].is_due || progress_[outlet.at].published < change_;
    });
  }
}

Status Publisher::sync(Outlet& outlet, const std::stop_token& stop) {
  const auto node = who_();
  if (!node) return unavailable("the servers do not know this node yet");
  v1::SyncServicesRequest request;
  request.set_node_id(node->id.to_string());
  request.set_node_name(node->name);
  uint64_t change = 0;
  {
    MutexLock lock(mutex_);
    progress_[outlet.at].is_due = false;
    change = change_;
    for (const auto& [name, stored] : workloads_) {
      for (const auto& each : stored->instances()) {
        if (each.provider() == outlet.name) *request.add_instances() = each.instance();
      }
    }
  }
  if (health_) {
    for (v1::ServiceInstance& instance : *request.mutable_instances()) fill_in_health(instance, *health_);
  }
  auto answer = outlet.provider->sync(request, stop);
  MutexLock lock(mutex_);
  if (!answer) {
    progress_[outlet.at].is_due = true;
    return answer.status();
  }
  for (const v1::UnpublishedInstance& failure : answer->failures()) {
    log::warn("services", "a service is not published",
              {{"provider", outlet.name}, {"id", failure.id()}, {"error", failure.reason()}});
  }
  progress_[outlet.at].published = change;
  settled_.notify_all();
  return ok_status();
}

}  // namespace drover::services

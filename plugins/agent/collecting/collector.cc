#include "collecting/collector.h"

#include <pthread.h>

#include <algorithm>

#include "drover/log.h"
#include "drover/v1/allocation.pb.h"
#include "host_stats.h"

namespace drover::agent {
namespace {

constexpr auto kRemovalTime = std::chrono::minutes(1);

// The end of the last of its tasks.
int64_t end_of(const v1::Allocation& report) {
  int64_t end = 0;
  for (const auto& [name, task] : report.task_states()) end = std::max(end, task.finished_at());
  return end;
}

}  // namespace

CollectState measure_disk(const ClientConfig& config) {
  v1::HostDiskStats disk;
  CollectState state;
  if (!measure_file_system(config.alloc_dir, disk)) {
    state.free_mb = INT64_MAX;  // unknown: nothing is forgotten for it
    return state;
  }
  state.disk_percent = disk.used_percent();
  state.inodes_percent = disk.inodes_used_percent();
  state.free_mb = static_cast<int64_t>(disk.available() >> 20) - config.reserved_disk_mb;
  return state;
}

Collector::Collector(const Client& client, Allocations& allocations, Measure measure)
    : client_(client), allocations_(allocations), measure_(std::move(measure)) {}

Collector::~Collector() { stop(); }

void Collector::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Collector::stop() {
  {
    MutexLock lock(mutex_);
    is_stopped_ = true;
    changed_.notify_all();
  }
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void Collector::make_room(int64_t needed_mb, std::stop_token stop) {
  const auto request = std::make_shared<Request>(Request{.needed_mb = needed_mb});
  MutexLock lock(mutex_);
  requests_.push_back(request);
  changed_.notify_all();
  changed_.wait(lock, std::move(stop), [&]() DROVER_REQUIRES(mutex_) { return request->is_done || is_stopped_; });
}

void Collector::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "collector");
  SteadyTime next = client_.now() + client_.config.collect_interval;
  while (!stop.stop_requested()) {
    std::vector<std::shared_ptr<Request>> requests;
    {
      MutexLock lock(mutex_);
      changed_.wait_until(lock, stop, next, [&]() DROVER_REQUIRES(mutex_) { return !requests_.empty(); });
      requests.assign(requests_.begin(), requests_.end());
    }
    int64_t needed_mb = 0;
    for (const auto& request : requests) needed_mb += request->needed_mb;
    if (!requests.empty()) collect_while(need_of_start, needed_mb, stop);
    {
      MutexLock lock(mutex_);
      for (const auto& request : requests) request->is_done = true;
      requests_.erase(requests_.begin(), requests_.begin() + static_cast<ptrdiff_t>(requests.size()));
      changed_.notify_all();
    }
    if (client_.now() < next) continue;
    retry_left_behind();
    collect_while(need_of_look, 0, stop);
    next = client_.now() + client_.config.collect_interval;
  }
}

void Collector::retry_left_behind() {
  for (const auto& runner : allocations_.all()) {
    if (runner->is_left_behind()) (void)allocations_.collect(runner->id().bytes(), client_.now() + kRemovalTime);
  }
}

CollectState Collector::look(int64_t needed_mb) const {
  CollectState state = measure_();
  state.needed_mb = needed_mb;
  const auto runners = allocations_.all();
  state.allocations = static_cast<size_t>(
      std::ranges::count_if(runners, [](const auto& runner) { return !runner->is_left_behind(); }));
  return state;
}

std::vector<Collectable> Collector::collectables() const {
  std::vector<Collectable> all;
  for (const auto& runner : allocations_.all()) {
    if (runner->is_left_behind()) continue;
    Collectable one{.id = runner->id()};
    if (runner->is_terminal()) one.ended = end_of(runner->report());
    const AllocSpecPtr spec = runner->spec();
    const std::string& previous = spec->allocation->previous_allocation();
    if (previous.size() == 16 && runner->client_status() == v1::CLIENT_STATUS_PENDING)
      one.inherits = Uuid::from_bytes(previous);
    all.push_back(one);
  }
  return all;
}

void Collector::collect_while(Need need, int64_t needed_mb, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const CollectNeed now = need(client_.config.collect_limits, look(needed_mb));
    if (now.reason.empty()) return;
    const std::vector<Uuid> collect = first_to_go(collectables(), now.most);
    if (collect.empty()) {
      log::debug("agent", "nothing is over that could be forgotten", {{"reason", now.reason}});
      return;
    }
    for (const Uuid& id : collect) {
      log::info("agent", "forgets an allocation that is over", {{"alloc", id.to_string()}, {"reason", now.reason}});
      if (const auto runner = allocations_.find(id.bytes())) runner->destroy();
    }
    // One that cannot be removed is not planned for again; one that hangs holds nobody up.
    for (const Uuid& id : collect) {
      const Status status = allocations_.await_removal(id, client_.now() + kRemovalTime);
      if (status.code() == Code::deadline_exceeded) return;
    }
  }
}

}  // namespace drover::agent

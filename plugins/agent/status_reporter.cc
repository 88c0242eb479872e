#include "status_reporter.h"

#include <pthread.h>

#include <random>

#include "drover/log.h"
#include "drover/v1/node_service.pb.h"
#include "server_calls.h"

namespace drover::agent {

void StatusReporter::start() {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void StatusReporter::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void StatusReporter::changed(Uuid allocation, bool urgent) {
  {
    MutexLock lock(mutex_);
    batch_.changed(allocation, urgent, client_.now());
  }
  woken_.notify_all();
}

void StatusReporter::node_is_known() {
  {
    MutexLock lock(mutex_);
    known_ = true;
  }
  woken_.notify_all();
}

void StatusReporter::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "status");
  std::mt19937_64 random{std::random_device{}()};
  while (!stop.stop_requested()) {
    std::vector<Uuid> allocations;
    {
      MutexLock lock(mutex_);
      woken_.wait(lock, stop, [&]() DROVER_REQUIRES(mutex_) { return known_ && batch_.due(); });
      if (stop.stop_requested()) return;
      // A change that becomes urgent while this waits moves the time forward.
      while (!stop.stop_requested() && client_.now() < batch_.due()) {
        const SteadyTime until = *batch_.due();
        woken_.wait_until(lock, stop, until, [&]() DROVER_REQUIRES(mutex_) { return batch_.due() < until; });
      }
      allocations = batch_.take(client_.now());
    }
    if (allocations.empty()) continue;
    Status status = send(allocations, stop);
    MutexLock lock(mutex_);
    if (status.ok()) {
      batch_.delivered();
    } else {
      log::warn("agent", "allocation status not delivered", {{"error", status.message()}});
      batch_.failed(allocations, client_.now(), std::uniform_real_distribution<double>(0, 1)(random));
    }
  }
}

Status StatusReporter::send(const std::vector<Uuid>& allocations, const std::stop_token& stop) {
  v1::UpdateAllocationsRequest request;
  request.set_node_id(client_.identity.id.bytes());
  request.set_secret_id(client_.proof.in_request());
  for (v1::Allocation& allocation : describe_(allocations)) *request.add_allocations() = std::move(allocation);
  if (request.allocations_size() == 0) return ok_status();
  return call<v1::UpdateAllocationsResponse>(
             client_.host.caller(),
             node_call(client_, "/drover.v1.NodeAllocations/Update", std::chrono::seconds(15), stop), request)
      .status();
}

}  // namespace drover::agent

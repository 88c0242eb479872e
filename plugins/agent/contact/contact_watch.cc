#include "contact/contact_watch.h"

#include <pthread.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "drover/duration.h"
#include "drover/log.h"
#include "drover/model/disconnect.h"
#include "drover/pause.h"

namespace drover::agent {
namespace {

constexpr auto kGrace = std::chrono::seconds(5);      // of a new agent
constexpr auto kLookEvery = std::chrono::seconds(5);  // for allocations that came meanwhile

std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

}  // namespace

Status ContactWatch::start() {
  boot_ = boot_id();
  DROVER_TRY(const auto mark, client_.store.contact());
  {
    const MutexLock lock(mutex_);
    last_ = contact_of(mark, boot_, client_.now());
    is_marked_ = mark.has_value();
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  return ok_status();
}

void ContactWatch::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void ContactWatch::heard() {
  const SteadyTime now = client_.now();
  const bool is_asked_for = !limits().empty();
  {
    const MutexLock lock(mutex_);
    last_ = now;
    if (!is_asked_for && !is_marked_) return;
  }
  // A mark that nobody renews would be taken for a silence by whoever asks for it next: it goes.
  const Status written =
      is_asked_for ? client_.store.put_contact({boot_, std::chrono::nanoseconds(now.time_since_epoch()).count()})
                   : client_.store.erase_contact();
  if (!written.ok()) {
    log::warn("agent", "the time of the last contact with a server was not kept", {{"error", written.message()}});
    return;
  }
  const MutexLock lock(mutex_);
  is_marked_ = is_asked_for;
}

std::vector<ContactLimit> ContactWatch::limits() const {
  std::vector<ContactLimit> limits;
  for (const auto& runner : allocations_.all()) {
    const AllocSpecPtr spec = runner->spec();
    if (!spec->group || runner->is_terminal()) continue;
    if (const auto time = stop_on_client_after(*spec->group))
      limits.push_back({runner->id(), std::chrono::nanoseconds(*time)});
  }
  return limits;
}

void ContactWatch::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "contact");
  std::set<Uuid> told;
  SteadyTime next = client_.now() + kGrace;
  while (pause_until(next, stop)) {
    SteadyTime last;
    {
      const MutexLock lock(mutex_);
      last = last_;
    }
    const SteadyTime now = client_.now();
    const Overdue due = overdue(limits(), last, now);
    for (const Uuid& id : due.stop) {
      const auto runner = allocations_.find(id.bytes());
      if (!runner || !told.insert(id).second) continue;
      log::warn("agent", "no server was reached for as long as the allocation's group allows: stops it",
                {{"alloc", id.to_string()}, {"silence", format_duration(now - last)}});
      runner->stop();
    }
    next = now + kLookEvery;
    if (due.next) next = std::min(next, *due.next);
  }
}

}  // namespace drover::agent

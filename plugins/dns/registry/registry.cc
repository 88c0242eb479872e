#include "registry/registry.h"

#include <algorithm>

#include "drover/log.h"

namespace drover::dns {
namespace {

const Found& without_instances(Found::State state) {
  static const Found kNone, kAway{.state = Found::State::away}, kRefused{.state = Found::State::refused};
  return state == Found::State::away ? kAway : state == Found::State::refused ? kRefused : kNone;
}

}  // namespace

Registry::~Registry() {
  for (auto& [name, entry] : entries_) {
    for (auto& [spelling, followed] : entry.spellings) followed->stop.request_stop();
  }
}

void Registry::find(const ServiceName& lowered, Then then) {
  if (!std::exchange(is_tidied_, true)) loop_.after(kIdle / 10, [this] { forget_idle(); });
  if (const auto at = entries_.find(lowered); at != entries_.end()) {
    at->second.asked = loop_.now();
    if (const Found* found = found_in(at->second)) {
      // Gone in this spelling: it may be there in another one.
      if (found->state == Found::State::known && found->instances.empty()) read_names();
      return then(*found);
    }
    if (const uint64_t number = wait(lowered, std::move(then)); number > 0) at->second.waiting.push_back(number);
    return;
  }
  if (names_read_ && loop_.now() - *names_read_ < kNamesAge) return begin(lowered, std::move(then));
  const uint64_t number = wait(lowered, std::move(then));
  if (number == 0) return;
  waiting_for_names_.push_back(number);
  read_names();
  // They were asked for a moment ago, and the servers failed.
  if (!are_names_asked_) took_names(Status(names_outlook_.error, "asked a moment ago"));
}

// --- Those who wait

// Returns 0 when too many do: they are answered at once.
uint64_t Registry::wait(const ServiceName& lowered, Then then) {
  if (waiting_.size() >= kMaxWaiting) {
    then(without_instances(Found::State::away));
    return 0;
  }
  const uint64_t number = ++last_waiting_;
  waiting_.emplace(number, Waiting{.lowered = lowered, .then = std::move(then)});
  loop_.after(kPatience, [this, number] { answer(number, without_instances(Found::State::away)); });
  return number;
}

void Registry::answer(uint64_t waiting, const Found& found) {
  auto at = waiting_.extract(waiting);
  if (!at.empty()) at.mapped().then(found);
}

// --- What can be relied on

void Registry::failed(Outlook& outlook, const Status& status, const char* what) {
  if (!outlook.failing_since) {
    outlook.failing_since = loop_.now();
    log::warn("dns", "the servers are not read", {{"what", what}, {"error", status.message()}});
  }
  outlook.error = status.code();
}

// A permission that was taken away counts at once; servers that are away are given time.
Found::State Registry::state_of(const Outlook& outlook) {
  if (!outlook.failing_since) return Found::State::known;
  if (outlook.error == Code::permission_denied) return Found::State::refused;
  return loop_.now() - *outlook.failing_since > max_stale_ ? Found::State::away : Found::State::known;
}

// --- Names

void Registry::read_names() {
  const SteadyTime now = loop_.now();
  if (are_names_asked_ || (names_tried_ && now - *names_tried_ < kNamesAge)) return;
  are_names_asked_ = true;
  names_tried_ = now;
  reads_.names([weak = std::weak_ptr(self_)](const Result<Reads::Names>& names) {
    const auto self = weak.lock();
    if (!self) return;
    (*self)->are_names_asked_ = false;
    (*self)->took_names(names);
  });
}

void Registry::took_names(const Result<Reads::Names>& names) {
  if (names) {
    names_outlook_ = {};
    names_read_ = names_tried_;
    names_.clear();
    for (const ServiceName& name : *names)
      names_[{.name_space = lower(name.name_space), .name = lower(name.name)}].insert(name);
    for (auto& [lowered, entry] : entries_) add_spellings(lowered, entry);
  } else {
    failed(names_outlook_, names.status(), "names");
  }
  std::vector<uint64_t> waiting;
  waiting.swap(waiting_for_names_);
  const bool is_refused = !names && names.status().code() == Code::permission_denied;
  for (const uint64_t number : waiting) {
    if (!names) {
      // An old list does not say that there is no such service.
      answer(number, without_instances(is_refused ? Found::State::refused : Found::State::away));
    } else if (auto at = waiting_.extract(number); !at.empty()) {
      begin(at.mapped().lowered, std::move(at.mapped().then));
    }
  }
}

// Begins to follow the service, if there is one. Requires: the names are known.
void Registry::begin(const ServiceName& lowered, Then then) {
  if (!names_.contains(lowered)) return then(without_instances(Found::State::known));
  if (!entries_.contains(lowered)) make_room();
  Entry& entry = entries_[lowered];
  entry.asked = loop_.now();
  add_spellings(lowered, entry);
  if (const Found* found = found_in(entry)) return then(*found);
  if (const uint64_t number = wait(lowered, std::move(then)); number > 0) entry.waiting.push_back(number);
}

void Registry::add_spellings(const ServiceName& lowered, Entry& entry) {
  const auto names = names_.find(lowered);
  if (names == names_.end()) return;
  for (const ServiceName& name : names->second) {
    if (entry.spellings.contains(name)) continue;
    auto followed = std::make_shared<Followed>();
    followed->name = name;
    followed->lowered = lowered;
    entry.spellings.emplace(name, followed);
    entry.found.reset();
    read(followed);
  }
}

// --- Instances

void Registry::read(const std::shared_ptr<Followed>& followed) {
  if (followed->stop.stop_requested()) return;
  reads_.instances(followed->name, followed->next.index(), followed->stop.get_token(),
                   [weak = std::weak_ptr(self_), followed](Result<Reads::Instances> read) {
                     const auto self = weak.lock();
                     if (self && !followed->stop.stop_requested()) (*self)->took(followed, std::move(read));
                   });
}

void Registry::took(const std::shared_ptr<Followed>& followed, Result<Reads::Instances> read) {
  std::chrono::nanoseconds pause = kPace;
  if (read && read->last_contact > max_stale_) read = unavailable("the server has lost its leader");
  if (read) {
    followed->outlook = {};
    followed->is_known = true;
    followed->next.answered(read->index);
    followed->instances = std::move(read->all);
  } else {
    failed(followed->outlook, read.status(), "instances");
    followed->next.begin_anew();  // the next read does not wait for news: it shows that the servers are back
    pause = followed->next.failed();
  }
  if (const auto at = entries_.find(followed->lowered); at != entries_.end()) {
    if (read) at->second.found.reset();
    tell(at->second);
  }
  loop_.after(pause, [this, followed] { this->read(followed); });
}

void Registry::tell(Entry& entry) {
  const Found* found = found_in(entry);
  if (!found) return;
  std::vector<uint64_t> waiting;
  waiting.swap(entry.waiting);
  for (const uint64_t number : waiting) answer(number, *found);
}

// Null while a spelling has not been read yet. It holds until the entry changes.
const Found* Registry::found_in(Entry& entry) {
  for (const auto& [name, followed] : entry.spellings) {
    const Found::State state = state_of(followed->outlook);
    if (state != Found::State::known) return &without_instances(state);
    if (!followed->is_known) return nullptr;
  }
  if (entry.found) return &*entry.found;
  entry.found.emplace();
  for (const auto& [name, followed] : entry.spellings)
    entry.found->instances.insert(entry.found->instances.end(), followed->instances.begin(), followed->instances.end());
  return &*entry.found;
}

// --- What is forgotten

void Registry::forget_idle() {
  for (auto at = entries_.begin(); at != entries_.end();)
    at = loop_.now() - at->second.asked >= kIdle ? forget(at) : std::next(at);
  loop_.after(kIdle / 10, [this] { forget_idle(); });
}

// The one that nobody has asked for the longest time goes.
void Registry::make_room() {
  if (entries_.size() < kMaxFollowed) return;
  forget(std::ranges::min_element(entries_, {}, [](const auto& each) { return each.second.asked; }));
}

std::map<ServiceName, Registry::Entry>::iterator Registry::forget(std::map<ServiceName, Entry>::iterator at) {
  for (auto& [name, followed] : at->second.spellings) followed->stop.request_stop();
  return entries_.erase(at);
}

}  // namespace drover::dns

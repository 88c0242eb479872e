// Knows the services that this agent is asked for: the names that there are, read when somebody asks for one that is
// not followed, and the instances of those that are asked for, followed by one blocking read each. A name that
// nobody has registered costs the servers nothing beyond that one list of names.
//
//   asked ──not followed──▶ names known? read, at most once in kNamesAge ──▶ listed: followed, waits for its instances
//                                                                            └ not: no such service
//   followed ──answer──▶ known, and asked on behind its index …       not asked for kIdle, or too many: forgotten
//               └ failed: again, first after a short pause, then ever later; what was known stays for `max_stale`
//
// Names are equal whatever their case: services that differ in it only are answered together. All [dns].
#pragma once

#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <vector>

#include "drover/kept_answer.h"
#include "registry/reads.h"

namespace drover::dns {

class Registry {
 public:
  using Then = std::function<void(const Found&)>;

  static constexpr std::chrono::nanoseconds kNamesAge = std::chrono::seconds(1);
  static constexpr std::chrono::nanoseconds kPace = std::chrono::milliseconds(100);  // between answers to one read
  static constexpr std::chrono::nanoseconds kLongestPause = std::chrono::seconds(30);  // between reads that failed
  static constexpr std::chrono::nanoseconds kPatience = std::chrono::seconds(2);  // of those who ask
  static constexpr std::chrono::nanoseconds kIdle = std::chrono::minutes(10);
  static constexpr size_t kMaxFollowed = 1024, kMaxWaiting = 1024;

  // Both outlive the registry. `max_stale`: for how long what was known counts while the servers do not answer.
  Registry(Reads& reads, Loop& loop, std::chrono::nanoseconds max_stale)
      : reads_(reads), loop_(loop), max_stale_(max_stale) {}
  ~Registry();

  // The instances of a service; `lowered` is in small letters. `then` is called once, at the latest after kPatience.
  void find(const ServiceName& lowered, Then then);
  size_t followed() const { return entries_.size(); }

 private:
  // One read of the servers, again and again.
  struct Outlook {
    std::optional<SteadyTime> failing_since;
    Code error = Code::ok;
  };
  struct Followed {
    ServiceName name;  // as registered
    ServiceName lowered;
    std::stop_source stop;
    Outlook outlook;
    bool is_known = false;
    NextQuestion next{kLongestPause};
    std::vector<Instance> instances;
  };
  struct Entry {
    std::map<ServiceName, std::shared_ptr<Followed>> spellings;
    SteadyTime asked;
    std::vector<uint64_t> waiting;
    std::optional<Found> found;  // of all spellings together; none: to be put together
  };
  struct Waiting {
    ServiceName lowered;
    Then then;
  };

  void failed(Outlook& outlook, const Status& status, const char* what);
  Found::State state_of(const Outlook& outlook);
  uint64_t wait(const ServiceName& lowered, Then then);
  void answer(uint64_t waiting, const Found& found);

  void read_names();
  void took_names(const Result<Reads::Names>& names);
  void begin(const ServiceName& lowered, Then then);
  void add_spellings(const ServiceName& lowered, Entry& entry);

  void read(const std::shared_ptr<Followed>& followed);
  void took(const std::shared_ptr<Followed>& followed, Result<Reads::Instances> read);
  void tell(Entry& entry);
  const Found* found_in(Entry& entry);

  void forget_idle();
  void make_room();
  std::map<ServiceName, Entry>::iterator forget(std::map<ServiceName, Entry>::iterator at);

  Reads& reads_;
  Loop& loop_;
  const std::chrono::nanoseconds max_stale_;
  // The names that there are, as registered, by their small letters.
  std::map<ServiceName, std::set<ServiceName>> names_;
  Outlook names_outlook_;
  std::optional<SteadyTime> names_read_, names_tried_;
  bool are_names_asked_ = false;
  std::vector<uint64_t> waiting_for_names_;
  std::map<ServiceName, Entry> entries_;
  std::map<uint64_t, Waiting> waiting_;
  uint64_t last_waiting_ = 0;
  bool is_tidied_ = false;
  // Answers that come later find by it whether there is still a registry.
  std::shared_ptr<Registry*> self_ = std::make_shared<Registry*>(this);
};

}  // namespace drover::dns

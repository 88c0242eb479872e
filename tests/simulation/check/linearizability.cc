#include "tests/simulation/check/linearizability.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <vector>

#include "tests/simulation/world/random.h"

namespace drover::simulation {
namespace {

// A set of done operations and the value they lead to, as 128 bits of hash: at 2^32 remembered pairs the odds that two
// of them are confused, which could only turn good into bad, are below 2^-64.
struct Tried {
  uint64_t done = 0;
  uint64_t value = 0;
  friend bool operator==(const Tried&, const Tried&) = default;
};
struct TriedHash {
  size_t operator()(const Tried& tried) const { return tried.done ^ scatter(tried.value); }
};

// Changes one key's value as the operation does; false when this order gives another answer than the client saw.
bool apply(const Operation& operation, std::string& value) {
  switch (operation.kind) {
    case Kind::put:
      value = operation.first;
      return true;
    case Kind::append:
      value += operation.first;
      return true;
    case Kind::cas: {
      const bool does_match = value == operation.first;
      if (!operation.is_open() && does_match != operation.did_match) return false;
      if (does_match) value = operation.second;
      return true;
    }
    case Kind::read:
      return value == operation.value;
  }
  return false;
}

// The calls and returns of one key in the order of time, as a list from which operations are lifted when they are
// placed and into which they are put back when the search returns.
class Search {
 public:
  Search(std::vector<const Operation*> operations, uint64_t& steps)
      : operations_(std::move(operations)), steps_(steps) {
    build();
  }
  Judgement run();

 private:
  struct Event {
    size_t operation = 0;
    size_t match = 0;  // of a call: its return, or 0 for an open operation
    bool is_call = false;
    size_t previous = 0;
    size_t next = 0;
  };
  struct Placed {
    size_t call = 0;
    std::string former;
  };

  void build();
  void unlink(size_t event) {
    events_[events_[event].previous].next = events_[event].next;
    events_[events_[event].next].previous = events_[event].previous;
  }
  void relink(size_t event) {
    events_[events_[event].previous].next = event;
    events_[events_[event].next].previous = event;
  }
  size_t candidate(size_t& at, bool& is_open) const;
  bool place(size_t call);
  size_t take_back();
  Judgement fail(Verdict verdict) const;

  std::vector<const Operation*> operations_;
  uint64_t& steps_;            // left
  std::vector<Event> events_;  // 0 is the head and the end
  std::vector<Placed> placed_;
  std::unordered_set<Tried, TriedHash> tried_;
  uint64_t done_ = 0;
  size_t answers_ = 0;  // still to be explained
  std::string value_;
  size_t furthest_ = 0;        // how many were placed at best
  size_t furthest_stuck_ = 0;  // the operation whose return stood in the way then
  std::string furthest_value_;
};

void Search::build() {
  struct Moment {
    int64_t time;
    bool is_return;  // a call at the same microsecond goes first: the two may have overlapped
    size_t operation;
  };
  std::vector<Moment> moments;
  for (size_t i = 0; i < operations_.size(); ++i) {
    moments.push_back({operations_[i]->invoked, false, i});
    if (!operations_[i]->is_open()) moments.push_back({operations_[i]->returned, true, i});
  }
  std::ranges::stable_sort(moments, [](const Moment& a, const Moment& b) {
    return a.time != b.time ? a.time < b.time : a.is_return < b.is_return;
  });
  events_.resize(moments.size() + 1);
  std::vector<size_t> calls(operations_.size());
  for (size_t i = 0; i < moments.size(); ++i) {
    const size_t at = i + 1;
    events_[at] = {.operation = moments[i].operation,
                   .is_call = !moments[i].is_return,
                   .previous = at - 1,
                   .next = at + 1 == events_.size() ? 0 : at + 1};
    if (moments[i].is_return) {
      ++answers_;
      events_[calls[moments[i].operation]].match = at;
    } else {
      calls[moments[i].operation] = at;
    }
  }
  events_[0].next = moments.empty() ? 0 : 1;
  events_[0].previous = moments.size();
}

// Puts the operation next in the order, if its answer allows that and the outcome is a new one.
bool Search::place(size_t call) {
  std::string value = value_;
  const size_t operation = events_[call].operation;
  if (!apply(*operations_[operation], value)) return false;
  const uint64_t done = done_ ^ scatter(operation + 1);
  if (!tried_.insert({done, hash_text(value)}).second) return false;
  placed_.push_back({call, std::move(value_)});
  value_ = std::move(value);
  done_ = done;
  unlink(call);
  if (events_[call].match != 0) {
    unlink(events_[call].match);
    --answers_;
  }
  return true;
}

size_t Search::take_back() {
  Placed last = std::move(placed_.back());
  placed_.pop_back();
  value_ = std::move(last.former);
  done_ ^= scatter(events_[last.call].operation + 1);
  if (events_[last.call].match != 0) {
    relink(events_[last.call].match);
    ++answers_;
  }
  relink(last.call);
  return last.call;
}

Judgement Search::fail(Verdict verdict) const {
  std::string why = "key " + operations_[0]->key + ": " + std::to_string(furthest_) + " of " +
                    std::to_string(operations_.size()) + " operations can be put in order, then the value is \"" +
                    furthest_value_ + "\" and no order holds " + describe(*operations_[furthest_stuck_]);
  if (verdict == Verdict::unknown) why = "the search was given up; " + why;
  return {verdict, std::move(why)};
}

// The first operation from `at` on that may be next: one that was asked for before the first answer that is still to be
// explained. Those with an answer are tried first, since each of them must find its place anyway, then the open ones.
// 0: there is none, and `at` is where the way was barred.
size_t Search::candidate(size_t& at, bool& is_open) const {
  while (true) {
    while (at != 0 && events_[at].is_call) {
      if ((events_[at].match == 0) == is_open) return at;
      at = events_[at].next;
    }
    if (is_open) return 0;
    is_open = true;
    at = events_[0].next;
  }
}

Judgement Search::run() {
  size_t at = events_[0].next;
  bool is_open = false;
  while (answers_ > 0) {
    if (const size_t call = candidate(at, is_open); call != 0) {
      if (steps_ == 0) return fail(Verdict::unknown);
      --steps_;
      const bool is_placed = place(call);
      at = is_placed ? events_[0].next : events_[call].next;
      is_open = is_open && !is_placed;
      continue;
    }
    if (placed_.size() >= furthest_) {
      furthest_ = placed_.size();
      furthest_stuck_ = events_[at].operation;
      furthest_value_ = value_;
    }
    if (placed_.empty()) return fail(Verdict::bad);
    const size_t last = take_back();
    is_open = events_[last].match == 0;
    at = events_[last].next;
  }
  return {};  // only open operations are left
}

// True when somebody saw what an operation without an answer would have written.
bool was_seen(const Operation& operation, const std::vector<const Operation*>& all) {
  const std::string& text = operation.kind == Kind::cas ? operation.second : operation.first;
  return std::ranges::any_of(all, [&](const Operation* other) {
    if (other->is_open() || other->returned < operation.invoked) return false;
    if (other->kind == Kind::cas) return other->did_match && other->first.find(text) != std::string::npos;
    return other->kind == Kind::read && other->value.find(text) != std::string::npos;
  });
}

// The order of the log, where every operation names its index: reads follow the write of their index. When it explains
// all answers and contradicts no client's clock, it is an order, and nothing has to be searched.
bool is_explained_by_log(std::vector<const Operation*> operations) {
  std::ranges::stable_sort(operations, [](const Operation* a, const Operation* b) {
    const bool a_reads = a->kind == Kind::read, b_reads = b->kind == Kind::read;
    if (a->index != b->index) return a->index < b->index;
    return a_reads != b_reads ? b_reads : a->invoked < b->invoked;
  });
  std::string value;
  int64_t latest_call = std::numeric_limits<int64_t>::min();
  for (const Operation* operation : operations) {
    if (operation->index == 0 || operation->is_open() || operation->returned < latest_call) return false;
    latest_call = std::max(latest_call, operation->invoked);
    if (!apply(*operation, value)) return false;
  }
  return true;
}

// An order in which the unseen open operations never happened is an order. Only when there is none are they tried.
Judgement check_key(const std::vector<const Operation*>& all, uint64_t& steps) {
  if (is_explained_by_log(all)) return {};
  std::vector<const Operation*> likely = all;
  std::erase_if(likely, [&](const Operation* operation) { return operation->is_open() && !was_seen(*operation, all); });
  if (likely.size() < all.size()) {
    uint64_t half = steps / 2;
    steps -= half;
    const Judgement first = Search(std::move(likely), half).run();
    steps += half;
    if (first.verdict == Verdict::good) return first;
  }
  return Search(all, steps).run();
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::good:
      return "good";
    case Verdict::bad:
      return "bad";
    case Verdict::unknown:
      return "unknown";
  }
  return "?";
}

Judgement check_linearizability(const History& history, uint64_t max_steps) {
  std::map<std::string_view, std::vector<const Operation*>> keys;
  for (const Operation& operation : history) {
    if (operation.kind == Kind::read && operation.is_open()) continue;  // changed nothing, seen by nobody
    keys[operation.key].push_back(&operation);
  }
  Judgement gave_up;
  for (const auto& [key, operations] : keys) {
    Judgement judgement = check_key(operations, max_steps);
    if (judgement.verdict == Verdict::bad) return judgement;
    if (judgement.verdict == Verdict::unknown && gave_up.verdict == Verdict::good) gave_up = std::move(judgement);
  }
  return gave_up;
}

}  // namespace drover::simulation

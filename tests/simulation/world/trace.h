// The story of a run: what happened, when and to whom. A hash of all of it (two runs of one seed must agree), the last
// events for the report of a failure, and every event as it happens when somebody wants to read along. Single-owner.
#pragma once

#include <array>
#include <cstdint>
#include <iosfwd>
#include <string>

#include "tests/simulation/world/event_loop.h"
#include "tests/simulation/world/random.h"

namespace drover::simulation {

// A literal with a {} for each number.
struct Sentence {
  consteval Sentence(const char* literal) : text(literal), hash(hash_text(literal)) {}  // NOLINT: implicit by design
  const char* text;
  uint64_t hash;
};

class Trace {
 public:
  static constexpr size_t kKept = 200;
  static constexpr int kNobody = -1;

  // Also writes each event to `out` as it happens; null for none. `out` must outlive this object.
  Trace(const EventLoop& loop, std::ostream* out) : loop_(loop), out_(out) {}

  void note(const Sentence& sentence, int node, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0) {
    const auto at = static_cast<uint64_t>(loop_.now());
    hash_ = scatter(hash_ ^ sentence.hash ^ at) + static_cast<uint64_t>(node) * 0x9e3779b97f4a7c15u;
    hash_ = scatter(hash_ ^ a ^ (b << 17 | b >> 47) ^ (c << 31 | c >> 33) ^ (d << 47 | d >> 17));
    Event& event = kept_[count_++ % kKept];
    event = {loop_.now(), sentence.text, node, {a, b, c, d}};
    if (out_ != nullptr) tell(event);
  }

  uint64_t hash() const { return hash_; }
  // One line each, oldest first.
  std::string last_events() const;

 private:
  struct Event {
    Micros at = 0;
    const char* text = "";
    int node = kNobody;
    std::array<uint64_t, 4> numbers{};
  };
  static std::string line(const Event& event);
  void tell(const Event& event);

  const EventLoop& loop_;
  std::ostream* const out_;
  uint64_t hash_ = 0;
  size_t count_ = 0;
  std::array<Event, kKept> kept_{};
};

}  // namespace drover::simulation

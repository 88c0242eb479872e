// Virtual time: a counter of microseconds and the events that are due at each. Events of one microsecond happen in the
// order in which they were asked for. Single-owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace drover::simulation {

using Micros = int64_t;
constexpr Micros kSecond = 1'000'000;

class EventLoop {
 public:
  EventLoop() = default;
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  Micros now() const { return now_; }
  uint64_t events() const { return count_; }

  template <typename F>
  void at(Micros when, F action) {
    static_assert(sizeof(F) <= kActionBytes, "what an event carries is kept in place: make it smaller");
    const size_t slot = take_slot();
    new (actions_[slot].bytes) F(std::move(action));
    actions_[slot].run = [](void* self) { (*static_cast<F*>(self))(); };
    actions_[slot].destroy = [](void* self) { static_cast<F*>(self)->~F(); };
    push({when < now_ ? now_ : when, order_++, slot});
  }
  template <typename F>
  void after(Micros delay, F action) {
    at(now_ + delay, std::move(action));
  }

  // The next event, unless it lies behind `until`: then time moves to `until` and nothing happens.
  bool step(Micros until);

 private:
  static constexpr size_t kActionBytes = 256;
  struct Action {
    alignas(std::max_align_t) std::byte bytes[kActionBytes];
    void (*run)(void*) = nullptr;
    void (*destroy)(void*) = nullptr;
  };
  struct Due {
    Micros at = 0;
    uint64_t order = 0;
    size_t slot = 0;
    bool operator<(const Due& other) const { return at != other.at ? at > other.at : order > other.order; }
  };

  size_t take_slot();
  void push(Due due);

  Micros now_ = 0;
  uint64_t order_ = 0;
  uint64_t count_ = 0;
  std::vector<Due> heap_;
  std::deque<Action> actions_;  // places stay where they are while events run
  std::vector<size_t> free_;
};

}  // namespace drover::simulation

#include "cpu/sampler.h"

#include <sys/time.h>
#include <unwind.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <span>

#include "drover/clock.h"
#include "drover/pause.h"

namespace drover::status {
namespace {

constexpr size_t kDeepest = 64;
constexpr size_t kSlots = 512;                           // some five seconds' worth of one busy processor
constexpr auto kDrain = std::chrono::milliseconds(100);  // how often they are emptied

// Between the signal handler, which may run on every thread at once, and the one thread that collects.
struct Slot {
  enum State : int { free, being_filled, full };
  std::atomic<int> state{free};
  size_t depth = 0;
  std::array<uint64_t, kDeepest> calls{};
};
std::array<Slot, kSlots> slots;
std::atomic<size_t> next_slot{0};
std::atomic<int64_t> lost{0};
std::atomic<bool> is_recording{false};
std::atomic<bool> is_taken{false};
static_assert(std::atomic<size_t>::is_always_lock_free && std::atomic<int64_t>::is_always_lock_free);

struct Walk {
  std::span<uint64_t, kDeepest> calls;
  size_t depth = 0;
  bool is_in_handler = true;
};

// The frame of what was interrupted is the first one whose address is exact; before it come those of the handler.
_Unwind_Reason_Code step(_Unwind_Context* frame, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  int is_exact = 0;
  const uint64_t address = _Unwind_GetIPInfo(frame, &is_exact);
  if (is_exact) walk.is_in_handler = false;
  if (walk.is_in_handler) return _URC_NO_REASON;
  if (address == 0 || walk.depth == kDeepest) return _URC_END_OF_STACK;
  walk.calls[walk.depth++] = is_exact ? address : address - 1;  // a return address stands behind the call
  return _URC_NO_REASON;
}

// Takes no lock and no memory: since glibc 2.35 the unwinder finds its tables without either.
void on_tick(int, siginfo_t*, void*) {
  if (!is_recording.load(std::memory_order_acquire)) return;
  const int error = errno;
  Slot& slot = slots[next_slot.fetch_add(1, std::memory_order_relaxed) % kSlots];
  int expected = Slot::free;
  if (slot.state.compare_exchange_strong(expected, Slot::being_filled, std::memory_order_acquire)) {
    Walk walk{.calls = slot.calls};
    _Unwind_Backtrace(step, &walk);
    slot.depth = walk.depth;
    slot.state.store(Slot::full, std::memory_order_release);
  } else {
    lost.fetch_add(1, std::memory_order_relaxed);
  }
  errno = error;
}

void drain(CpuSamples& into) {
  for (Slot& slot : slots) {
    if (slot.state.load(std::memory_order_acquire) != Slot::full) continue;
    if (slot.depth == 0) {
      ++into.lost;
    } else {
      ++into.stacks[Stack(slot.calls.begin(), slot.calls.begin() + static_cast<std::ptrdiff_t>(slot.depth))];
    }
    slot.state.store(Slot::free, std::memory_order_release);
  }
}

// Stays for good: a signal that is on its way when the timer ends would end the process otherwise.
Status install_handler() {
  _Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_END_OF_STACK; }, nullptr);  // the first use may allocate
  struct sigaction action {};
  action.sa_sigaction = on_tick;
  action.sa_flags = SA_RESTART | SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  if (::sigaction(SIGPROF, &action, nullptr) != 0) return errno_status(errno, "handle SIGPROF");
  return ok_status();
}

// This timer's signal goes to the thread whose time it was; that of timer_create goes to the first one before Linux 6.4.
Status set_timer(std::chrono::microseconds period) {
  itimerval timer{};
  timer.it_interval.tv_usec = timer.it_value.tv_usec = static_cast<suseconds_t>(period.count());
  if (::setitimer(ITIMER_PROF, &timer, nullptr) != 0) return errno_status(errno, "set the timer of processor time");
  return ok_status();
}

}  // namespace

Result<CpuSamples> sample_cpu(std::chrono::nanoseconds time, const std::stop_token& stop) {
  if (is_taken.exchange(true)) return resource_exhausted("cpu profiling already in use");
  struct GiveBack {
    ~GiveBack() { is_taken = false; }
  } give_back;
  CpuSamples before, samples;
  drain(before);  // what came too late for an earlier one
  lost = 0;
  DROVER_RETURN_IF_ERROR(install_handler());
  const SystemClock clock;
  const SteadyTime began = clock.steady(), end = began + time;
  is_recording = true;
  Status status = set_timer(kSamplePeriod);
  while (status.ok() && !stop.stop_requested() && clock.steady() < end) {
    pause_until(std::min(end, clock.steady() + kDrain), stop);
    drain(samples);
  }
  if (const Status ended = set_timer({}); status.ok()) status = ended;
  is_recording = false;
  DROVER_RETURN_IF_ERROR(status);
  drain(samples);
  samples.lost += lost;
  samples.duration = clock.steady() - began;
  return samples;
}

}  // namespace drover::status

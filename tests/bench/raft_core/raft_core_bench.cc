// The cost of the consensus core: three cores in one thread, no network, no disk. A batch of proposals becomes a write
// and a message a peer; everything is delivered and confirmed at once; an entry is done when all three may apply it.
//
//   raft_core_bench [entries]     entries of 256 bytes (default 400000), in batches of 1, 16, 128 and 1024
//
// Processor time of this thread, so that a busy machine matters less. Payloads are made beforehand, in portions: they
// are the proposer's cost; giving them back is in the figure. A second thread exists, asleep, as in any real process:
// without one the library would count references without atomic instructions.
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernel/raft/core/core.h"

namespace {

using namespace drover::raft;

constexpr size_t kServers = 3;
constexpr size_t kEntryBytes = 256;

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

NodeId id_of(size_t server) {
  return NodeId::from_bytes(std::string(1, static_cast<char>(server + 1)) + std::string(15, '\0'));
}

class Trio {
 public:
  Trio() {
    Membership membership;
    for (size_t i = 0; i < kServers; ++i) membership.members.push_back({.id = id_of(i)});
    for (size_t i = 0; i < kServers; ++i) {
      cores_[i] =
          std::make_unique<Core>(CoreConfig{.id = id_of(i), .seed = i + 1}, CoreState{.memberships = {membership}});
    }
    step(0, Campaign{});
    run();
  }

  void propose(std::span<const std::shared_ptr<const std::string>> payloads) {
    Propose batch;
    batch.batch.reserve(payloads.size());
    for (const auto& payload : payloads) batch.batch.push_back({.token = ++token_, .payload = payload});
    step(0, std::move(batch));
    run();
  }

  Index applied_everywhere() const { return std::min(applied_[0], std::min(applied_[1], applied_[2])); }
  uint64_t resolved() const { return resolved_; }

 private:
  void step(size_t server, Input input) {
    cores_[server]->step(std::move(input));
    has_work_[server] = true;
  }

  // Effects are taken once for all that has arrived, as a driver does it.
  void run() {
    for (bool is_busy = true; is_busy;) {
      is_busy = false;
      for (size_t i = 0; i < kServers; ++i) {
        if (!std::exchange(has_work_[i], false)) continue;
        is_busy = true;
        Effects effects = cores_[i]->take_effects();
        for (Message& m : effects.send) {
          const size_t to = static_cast<unsigned char>(m.to.bytes()[0]) - 1u;
          step(to, Receive{std::move(m)});
        }
        if (effects.write) step(i, LogDurable{effects.write->write_seq});
        if (effects.apply_to != 0) {
          applied_[i] = effects.apply_to;
          step(i, AppliedTo{effects.apply_to});
        }
        resolved_ += effects.resolved.size();
      }
    }
  }

  std::array<std::unique_ptr<Core>, kServers> cores_;
  std::array<bool, kServers> has_work_{};
  std::array<Index, kServers> applied_{};
  uint64_t token_ = 0;
  uint64_t resolved_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const size_t entries = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 400000;
  std::promise<void> end;
  std::jthread sleeper([done = end.get_future()] { done.wait(); });
  std::printf("%8s %16s\n", "batch", "ns per entry");
  for (const size_t batch : {1, 16, 128, 1024}) {
    Trio trio;
    size_t done = 0;
    double seconds = 0;
    while (done < entries) {
      std::vector<std::shared_ptr<const std::string>> payloads(16384);
      for (auto& payload : payloads) payload = std::make_shared<const std::string>(kEntryBytes, 'x');
      const double start = processor_seconds();
      for (size_t at = 0; at < payloads.size(); at += batch) trio.propose(std::span(payloads).subspan(at, batch));
      seconds += processor_seconds() - start;
      done += payloads.size();
    }
    if (trio.resolved() != done || trio.applied_everywhere() != done + 1) {
      std::fprintf(stderr, "not everything was committed and applied\n");
      return 1;
    }
    std::printf("%8zu %16.0f\n", batch, seconds * 1e9 / static_cast<double>(done));
  }
  end.set_value();
  return 0;
}

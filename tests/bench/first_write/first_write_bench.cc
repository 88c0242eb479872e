// The cost of one acknowledged write: from propose to applied on one server, with every write waiting for the disk,
// beside the same disk's own 4 KiB block: written and fdatasynced, and written with O_DIRECT|O_DSYNC. All alternate in
// the same run, because the disk's speed changes by the minute; the ratio is the figure.
//
//   first_write_bench [folder] [rounds]
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "drover/log.h"
#include "kernel/raft/driver.h"
#include "tests/bench/disk.h"

namespace {

using namespace drover;
using Steady = std::chrono::steady_clock;

class Counter final : public raft::StateMachine {
 public:
  void apply(std::span<const raft::Entry> entries, std::vector<Result<std::string>>& answers) override {
    index_ = entries.back().index;
    answers.resize(answers.size() + entries.size(), std::string());
  }
  raft::Index applied_index() override { return index_; }
  std::unique_ptr<raft::SnapshotSource> snapshot() override { return nullptr; }
  Status restore(raft::ByteSource&) override { return unimplemented("this bench keeps no state"); }

 private:
  raft::Index index_ = 0;
};

double microseconds(Steady::duration d) { return std::chrono::duration<double, std::micro>(d).count(); }

double percentile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(p * static_cast<double>(values.size() - 1))];
}

// Keeps `width` proposals of 256 bytes open until `count` are applied.
Steady::duration propose(raft::Consensus& consensus, int width, int count, std::vector<double>& out) {
  std::mutex mutex;
  std::condition_variable changed;
  int open = 0;
  int done = 0;
  const auto begun = Steady::now();
  for (int i = 0; i < count; ++i) {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return open < width; });
      ++open;
    }
    const auto sent = Steady::now();
    consensus.propose(std::string(256, 'p'), SteadyTime::max(), [&, sent](Result<raft::Applied> applied) {
      DROVER_CHECK(applied.ok());
      const std::lock_guard lock(mutex);
      out.push_back(microseconds(Steady::now() - sent));
      --open;
      ++done;
      changed.notify_one();
    });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return done == count; });
  return Steady::now() - begun;
}

}  // namespace

int main(int argc, char** argv) {
  log::set_level(log::Level::error);
  std::string folder = std::string(argc > 1 ? argv[1] : ".") + "/first-write-XXXXXX";
  DROVER_CHECK(::mkdtemp(folder.data()) != nullptr);
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 40;
  {
    const auto files = raft::make_file_system();
    SystemClock clock;
    Counter machine;
    raft::Options options;
    options.directory = folder + "/raft";
    options.snapshot_threshold_bytes = UINT64_MAX;
    const auto consensus = raft::make_consensus(options, machine, *files, clock);
    std::mutex mutex;
    std::condition_variable changed;
    bool is_leading = false;
    consensus->subscribe_leadership([&](raft::Term, std::stop_token) {
      const std::lock_guard lock(mutex);
      is_leading = true;
      changed.notify_one();
    });
    const auto begun = Steady::now();
    const Status status = consensus->start();
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.to_string().c_str());
      return 1;
    }
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return is_leading; });
    }
    std::printf("start to leadership on an empty directory: %.1f ms\n", microseconds(Steady::now() - begun) / 1000);

    bench::Disk disk(folder + "/disk", false);
    bench::Disk direct_disk(folder + "/direct", true);
    std::vector<double> sync, direct, one, many;
    Steady::duration one_time{}, many_time{};
    const auto before = consensus->stats().log;
    for (int round = 0; round < rounds; ++round) {
      disk.run(25, sync);
      if (direct_disk.works()) direct_disk.run(25, direct);
      one_time += propose(*consensus, 1, 25, one);
      disk.run(25, sync);
      many_time += propose(*consensus, 64, 1600, many);
    }
    const auto after = consensus->stats().log;
    const double sync50 = percentile(sync, 0.5);
    const auto line = [&](const char* name, const std::vector<double>& values, Steady::duration time) {
      std::printf("%-34s p50 %8.0f us  p99 %8.0f us  p50/disk %5.2f", name, percentile(values, 0.5),
                  percentile(values, 0.99), percentile(values, 0.5) / sync50);
      if (time.count() > 0) std::printf("  %8.0f/s", static_cast<double>(values.size()) / (microseconds(time) / 1e6));
      std::printf("\n");
    };
    line("disk: 4 KiB pwrite + fdatasync", sync, {});
    if (!direct.empty()) line("disk: 4 KiB O_DIRECT|O_DSYNC", direct, {});
    line("propose to applied, 1 at a time", one, one_time);
    line("propose to applied, 64 at a time", many, many_time);
    std::printf(
        "log: %s, %.1f entries a batch, %.2f bytes written per payload byte\n",
        after.is_direct ? "O_DIRECT|O_DSYNC" : "fdatasync",
        static_cast<double>(after.entries - before.entries) / static_cast<double>(after.batches - before.batches),
        static_cast<double>(after.written_bytes - before.written_bytes) /
            static_cast<double>(after.payload_bytes - before.payload_bytes));
    consensus->stop();
  }
  std::filesystem::remove_all(folder);
  return 0;
}

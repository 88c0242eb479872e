// Power failures and kills under write load: acknowledged writes are there afterwards, once, in order.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdio>
#include <iostream>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "drover/log.h"
#include "gtest/gtest.h"
#include "kernel/raft/test_support.h"
#include "tests/support/fault_file_system.h"

extern char** environ;

namespace drover::raft {
namespace {

// The sanitizers make each life ten times as long; they look for other things than the thousandth crash.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kCrashes = 300;
#else
constexpr int kCrashes = 1200;
#endif

std::string g_program;

// The answers that the clients of one server got over all its lives.
struct Ledger {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::string, Index> acknowledged;
  int open = 0;
  bool is_down = false;

  void down() {
    const std::lock_guard lock(mutex);
    is_down = true;
    changed.notify_all();
  }
};

// Every acknowledged command is there exactly once, none is there twice, and the order is that of the indexes.
void check(const Ledger& ledger, const std::vector<std::string>& commands) {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < commands.size(); ++i) {
    ASSERT_TRUE(places.emplace(commands[i], i).second) << "applied twice: " << commands[i].substr(0, 20);
  }
  std::map<Index, size_t> by_index;
  for (const auto& [command, index] : ledger.acknowledged) {
    ASSERT_TRUE(places.contains(command)) << "lost: " << command.substr(0, 20) << " acknowledged at " << index;
    by_index.emplace(index, places[command]);
  }
  size_t last = 0;
  for (const auto& [index, place] : by_index) {
    ASSERT_TRUE(last == 0 || place >= last) << "out of order at " << index;
    last = place + 1;
  }
}

Options small_options() {
  Options options;
  options.directory = "/raft";
  options.snapshot_threshold_bytes = 12 << 10;
  options.snapshot_trail_bytes = 4 << 10;
  options.log.segment_bytes = 64 << 10;
  options.log.initial_segment_bytes = 16 << 10;
  options.log.idle_confirm = std::chrono::milliseconds(1);
  return options;
}

// One life: starts, takes writes until the power fails or `writes` were made.
void live(FaultFileSystem& files, Ledger& ledger, std::mt19937_64& random, int life, int writes, bool is_last) {
  Options options = small_options();
  options.log.on_failure = [&](const Status&) { ledger.down(); };
  if (random() % 4 == 0) options.log.cache_bytes = 0;  // replay from disk
  {
    const std::lock_guard lock(ledger.mutex);
    ledger.is_down = false;
    ledger.open = 0;
  }
  SystemClock clock;
  Journal machine;
  auto raft = make_consensus(options, machine, files, clock);
  bool is_leading = false;
  raft->subscribe_leadership([&](Term, std::stop_token) {
    const std::lock_guard lock(ledger.mutex);
    is_leading = true;
    ledger.changed.notify_all();
  });
  const Status started = raft->start();
  if (!started.ok()) {
    ASSERT_TRUE(files.has_crashed()) << "recovery failed: " << started.to_string();
    raft->stop();
    return;
  }
  bool has_led = false;
  {
    std::unique_lock lock(ledger.mutex);
    ledger.changed.wait(lock, [&] { return is_leading || ledger.is_down; });
    has_led = is_leading;
  }
  if (has_led) {
    check(ledger, machine.commands());
    for (int i = 0; i < writes; ++i) {
      const std::string command =
          std::to_string(life) + "." + std::to_string(i) + " " + std::string(random() % 3000, 'x');
      {
        std::unique_lock lock(ledger.mutex);
        ledger.changed.wait(lock, [&] { return ledger.open < 8 || ledger.is_down; });
        if (ledger.is_down) break;
        ++ledger.open;
      }
      raft->propose(command, SteadyTime::max(), [&ledger, command](Result<Applied> applied) {
        const std::lock_guard lock(ledger.mutex);
        --ledger.open;
        if (applied.ok()) ledger.acknowledged.emplace(command, applied->index);
        ledger.changed.notify_all();
      });
    }
  }
  raft->stop();
  ASSERT_EQ(ledger.open, 0) << "every proposal is answered";
  if (is_leading) check(ledger, machine.commands());  // before, not all may have been applied again
  if (is_last) {
    ASSERT_TRUE(is_leading);
  }
}

TEST(RaftCrash, NothingAcknowledgedIsLostWhenThePowerFails) {
  int crashes = 0;
  size_t acknowledged = 0;
  const char* only = std::getenv("RAFT_CRASH_SEED");  // to look at one again
  const uint64_t begin = only != nullptr ? std::stoull(only) : 1;
  for (uint64_t seed = begin; crashes < kCrashes && (only == nullptr || seed == begin); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    FaultFileSystem files(seed, /*takes_direct=*/seed % 3 != 0);
    Ledger ledger;
    const int lives = 6;
    for (int life = 0; life < lives; ++life) {
      const bool is_last = life + 1 == lives;
      if (!is_last) files.crash_after(1 + random() % (life == 0 ? 40 : 90));
      live(files, ledger, random, life, is_last ? 5 : 400, is_last);
      if (files.has_crashed()) ++crashes;
      if (testing::Test::HasFatalFailure()) {
        std::cerr << "seed " << seed << " life " << life << "\n";
        return;
      }
      files.reboot();
    }
    acknowledged += ledger.acknowledged.size();
  }
  std::cout << crashes << " power failures, " << acknowledged << " acknowledged writes\n";
}

Options disk_options(const std::string& folder) {
  Options options = small_options();
  options.directory = folder + "/raft";
  options.snapshot_threshold_bytes = 64 << 10;
  return options;
}

// The child: proposes numbers from `first` on and says each that was acknowledged, until it is killed.
int write_until_killed(const std::string& folder, uint64_t first) {
  const auto files = make_file_system();
  Server server(*files, disk_options(folder));
  if (const Status status = server.start(); !status.ok()) {
    std::cerr << status.to_string() << "\n";
    return 2;
  }
  std::mutex mutex;
  std::condition_variable changed;
  int open = 0;
  for (uint64_t i = first;; ++i) {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return open < 8; });
      ++open;
    }
    server.raft->propose(std::to_string(i), SteadyTime::max(), [&, i](Result<Applied> applied) {
      const std::string line = std::to_string(i) + "\n";
      if (applied.ok() && ::write(STDOUT_FILENO, line.data(), line.size()) < 0) std::_Exit(3);
      const std::lock_guard lock(mutex);
      --open;
      changed.notify_one();
    });
  }
}

TEST(RaftCrash, NothingAcknowledgedIsLostWhenTheProcessIsKilled) {
  TempFolder folder;
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<std::string> acknowledged;
  for (uint64_t kill = 1; kill <= 30; ++kill) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, pipe[0]);
    std::string first = std::to_string(kill * 1000000);
    std::string path = folder.path();
    std::string mode = "--write-until-killed";
    char* arguments[] = {g_program.data(), mode.data(), path.data(), first.data(), nullptr};
    pid_t child = 0;
    ASSERT_EQ(::posix_spawn(&child, g_program.c_str(), &actions, nullptr, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(pipe[1]);

    // Killed after a number of acknowledgements; what it still said before it died counts, too.
    const size_t enough = acknowledged.size() + random() % 300;
    bool is_killed = false;
    FILE* lines = ::fdopen(pipe[0], "r");
    char line[64];
    while (std::fgets(line, sizeof line, lines) != nullptr) {
      const std::string_view text = line;
      if (text.ends_with('\n')) acknowledged.emplace_back(text.substr(0, text.size() - 1));
      if (!is_killed && acknowledged.size() > enough) {
        is_killed = true;
        ::kill(child, SIGKILL);
      }
    }
    std::fclose(lines);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "kill " << kill << ": ended with " << status;
  }
  const auto files = make_file_system();
  Server server(*files, disk_options(folder.path()));
  ASSERT_EQ(server.start(), ok_status());
  std::map<std::string, int> counts;
  for (const std::string& command : server.machine.commands()) ASSERT_EQ(++counts[command], 1) << "twice: " << command;
  for (const std::string& command : acknowledged) ASSERT_EQ(counts[command], 1) << "lost: " << command;
  EXPECT_GT(acknowledged.size(), 30u);
  std::cout << acknowledged.size() << " acknowledged writes over 30 kills\n";
}

}  // namespace
}  // namespace drover::raft

int main(int argc, char** argv) {
  drover::log::set_level(std::getenv("RAFT_CRASH_SEED") ? drover::log::Level::trace : drover::log::Level::error);
  if (argc == 4 && std::string_view(argv[1]) == "--write-until-killed") {
    return drover::raft::write_until_killed(argv[2], std::stoull(argv[3]));
  }
  drover::raft::g_program = argv[0];
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

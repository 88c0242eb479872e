// Lives of allocations in the midst of kills: an agent's own code, in a process that is ended before a drawn step of a
// start or a stop, and the next one over the same files. Lanes live beside each other, each with its own processes,
// mounts and network.
//   DROVER_CRASH_STEPS_SEEDS=FIRST-LAST   these lives, and not those from 1 on for which there is time
//   DROVER_CRASH_STEPS_TIME=SECONDS       time for those (50)
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <thread>

#include "drover/uuid.h"
#include "sdk/testing/chance.h"
#include "tests/crash_steps/story.h"
#include "tests/crash_steps/world.h"

namespace drover::crash {
namespace {

using namespace std::chrono_literals;
using Time = std::chrono::steady_clock;

constexpr int kLanes = 6;
constexpr auto kPatience = 60s;
// Somewhat more than the steps until all runs, and from an order to its end.
constexpr int kStartSteps = 260, kStopSteps = 160;

struct Score {
  std::atomic<int> lives{0}, kills{0}, failures{0};
};

class LaneOfLives {
 public:
  LaneOfLives(Lane lane, Score& score)
      : lane_(std::move(lane)),
        score_(score),
        page_(*new (mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Page) {}

  // The first one is not killed: what stays of it is what stays.
  bool live(uint64_t seed) {
    seed_ = seed;
    Chance chance(seed * 7919 + 17);
    page_.~Page();
    new (&page_) Page;
    story_ = draw(chance, seed == 0);
    allocation_ = Uuid::random().bytes();
    kills_ = 0;
    const int starts = seed == 0 ? 0 : chance.between(2, 4);
    for (int i = 0; i < starts && agent_ == 0; ++i) {
      boot(chance.between(1, kStartSteps));
      if (!until("not all tasks run", [&] { return page_.all_run.load(); })) return false;
    }
    if (!settle("not all tasks run", [&] { return page_.all_run.load(); })) return false;
    if (verbose_) std::printf("life %llu: runs after %u steps\n", (unsigned long long)seed_, page_.steps.load());
    const std::vector<TaskRecord> before = records(lane_, allocation_, story_);
    for (const TaskRecord& task : before) {
      if (!task.problem.empty()) return fails(task.problem);
    }
    if (!order(kStopped, seed == 0 ? 0 : chance.between(1, kStopSteps))) return false;
    if (seed != 0 && chance.one_in(2) && !again(chance)) return false;
    if (!settle("not all has ended", [&] { return page_.is_over.load(); })) return false;
    if (verbose_) std::printf("life %llu: over after %u steps\n", (unsigned long long)seed_, page_.steps.load());
    if (page_.has_failed) return fails(std::string("it failed: ") + page_.told);
    const std::vector<TaskRecord> after = records(lane_, allocation_, story_);
    for (size_t i = 0; i < after.size(); ++i) {
      if (!after[i].problem.empty()) {
        std::printf("log: %s\n", after[i].tail.c_str());
        return fails(after[i].problem);
      }
      if ((page_.ran & (1U << i)) && after[i].starts != before[i].starts)
        return fails("a task that ran was started again");
      if (after[i].starts > kills_ + 1) return fails("a task was started too often");
    }
    if (!order(kRemoved, seed == 0 || chance.one_in(2) ? 0 : chance.between(1, kStopSteps))) return false;
    if (!settle("files or rows are left", [&] { return agent_ == 0 && page_.is_gone; })) return false;
    for (const auto end = Time::now() + kPatience;; std::this_thread::sleep_for(2ms)) {
      reap();
      const std::string now = world(lane_, own_);
      if (seed == 0 || world_.empty()) world_ = now;
      if (now == world_) break;
      if (Time::now() > end) return fails("something is left or gone:\n" + difference(world_, now));
    }
    ++score_.lives;
    return true;
  }
  void own(pid_t pid) { own_.push_back(pid); }

 private:
  Story draw(Chance& chance, bool all) {
    Story story{.has_bridge = all || chance.one_in(2), .tasks = {}};
    for (int i = all ? 2 : chance.between(1, 2); i > 0; --i) {
      const auto yes = [&](int many) { return chance.one_in(many) || all; };
      story.tasks.push_back({.is_isolated = all ? i == 1 : chance.one_in(2),
                             .has_template = yes(2),
                             .has_artifact = yes(4),
                             .has_volume = yes(2),
                             .has_payload = yes(2),
                             .has_identity = yes(2)});
    }
    return story;
  }
  void boot(int kill_at) {
    page_.steps = 0;
    page_.all_run = false;
    page_.is_over = false;
    page_.kill_at = static_cast<uint32_t>(kill_at);
    std::fflush(nullptr);
    agent_ = ::fork();
    if (agent_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const std::string log = lane_.folder + "/log";
      if (!std::freopen(log.c_str(), "a", stderr)) ::_exit(3);
      page_.armed = ::getpid();
      run_agent(lane_, story_, allocation_, page_);
    }
  }
  // Takes what has ended. False: the agent ended by itself and not well.
  bool reap() {
    int how = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &how, WNOHANG)) > 0;) {
      if (pid != agent_) continue;
      agent_ = 0;
      if (WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL) {
        ++kills_;
        ++score_.kills;
      } else if (!WIFEXITED(how) || WEXITSTATUS(how) != 0) {
        return fails("the agent ended, status " + std::to_string(how) + ": " + page_.told);
      }
    }
    return true;
  }
  // Until it holds, or the agent was killed as it was to be.
  template <typename Holds>
  bool until(const char* what, Holds holds) {
    for (const auto end = Time::now() + kPatience; !holds() && agent_ != 0; std::this_thread::sleep_for(300us)) {
      if (!reap()) return false;
      if (Time::now() > end) return fails(what);
    }
    return true;
  }
  // Without a kill from now on.
  template <typename Holds>
  bool settle(const char* what, Holds holds) {
    const bool is_ending = page_.kill_at.exchange(0) == kReached;
    if (is_ending && !until("the agent does not end", [] { return false; })) return false;
    if (!reap()) return false;
    if (agent_ == 0 && !page_.is_gone) boot(0);
    while (!holds()) {
      if (agent_ == 0) boot(0);  // the kill came before this was said
      if (!until(what, holds)) return false;
      if (!reap()) return false;
    }
    return true;
  }
  bool order(Wanted wanted, int kill_after) {
    if (agent_ == 0) boot(0);
    page_.kill_at = kill_after == 0 ? 0 : page_.steps + static_cast<uint32_t>(kill_after);
    page_.wanted = wanted;
    if (kill_after == 0) return true;
    const auto done = [&] { return wanted == kStopped ? page_.is_over.load() : page_.is_gone.load(); };
    return until(wanted == kStopped ? "not all has ended" : "files or rows are left", done);
  }
  bool again(Chance& chance) {
    if (agent_ != 0) return true;
    boot(chance.between(1, kStartSteps));
    return until("not all has ended", [&] { return page_.is_over.load(); });
  }
  bool fails(const std::string& why) {
    std::printf("life %llu, %d kills: %s\n  again: DROVER_CRASH_STEPS_SEEDS=%llu-%llu\n", (unsigned long long)seed_,
                kills_, why.c_str(), (unsigned long long)seed_, (unsigned long long)seed_);
    std::printf("%s\n  last report: %.*s\n", describe(story_).c_str(), static_cast<int>(sizeof page_.told), page_.told);
    std::fflush(stdout);
    ++score_.failures;
    return false;
  }

  const Lane lane_;
  Score& score_;
  Page& page_;
  const bool verbose_ = std::getenv("DROVER_CRASH_STEPS_SHOW") != nullptr;
  Story story_;
  std::string allocation_, world_;
  uint64_t seed_ = 0;
  int kills_ = 0;
  pid_t agent_ = 0;
  std::vector<pid_t> own_;
};

struct Range {
  uint64_t first = 1, last = 1'000'000;
  std::chrono::seconds time{50};
};

// The first process of a lane's own processes.
int run_lane(int number, const Lane& lane, const Range& range, Score& score) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (mount("proc", "/proc", "proc", 0, nullptr) != 0 || mount("run", "/run", "tmpfs", 0, nullptr) != 0 ||
      std::system("ip link set lo up") != 0) {
    std::printf("lane %d: cannot be set up: %s\n", number, std::strerror(errno));
    return ++score.failures, 1;
  }
  LaneOfLives lives(lane, score);
  const pid_t files = ::fork();
  if (files == 0) {
    ::execl("/bin/busybox", "busybox", "httpd", "-f", "-p", "127.0.0.1:8000", "-h",
            (lane.folder + "/served").c_str(), nullptr);
    ::_exit(127);
  }
  lives.own(files);
  load_modules(lane);
  bool is_well = lives.live(0);
  const auto end = Time::now() + range.time;
  for (uint64_t seed = range.first + static_cast<uint64_t>(number);
       is_well && seed <= range.last && Time::now() < end && score.failures == 0; seed += kLanes)
    is_well = lives.live(seed);
  return is_well ? 0 : 1;
}

Lane make_lane(const std::string& folder, int number) {
  const std::filesystem::path here = std::filesystem::canonical("/proc/self/exe").parent_path();
  Lane lane{.folder = folder + "/" + std::to_string(number),
            .group = "drover-steps-" + std::to_string(::getpid()) + "-" + std::to_string(number),
            .modules = (here.parent_path() / "lib/drover/plugins").string(),
            .task = folder + "/task",
            .artifact = "http://127.0.0.1:8000/fruit"};
  for (const std::string& path : {lane.data(), lane.volume(), lane.folder + "/served"})
    std::filesystem::create_directories(path);
  write_text(lane.volume() + "/fruit", "pear\n");
  write_text(lane.folder + "/served/fruit", "apple\n");
  std::filesystem::copy_file(here / "crash_task", lane.task, std::filesystem::copy_options::skip_existing);
  return lane;
}

int run() {
  if (::geteuid() != 0 || ::access("/bin/busybox", X_OK) != 0) {
    std::printf("skipped: missing: root, or busybox (busybox-static)\n");
    return 77;
  }
  Range range;
  if (const char* time = std::getenv("DROVER_CRASH_STEPS_TIME")) range.time = std::chrono::seconds(std::atoi(time));
  if (const char* seeds = std::getenv("DROVER_CRASH_STEPS_SEEDS")) {
    if (std::sscanf(seeds, "%lu-%lu", &range.first, &range.last) != 2) {
      std::printf("DROVER_CRASH_STEPS_SEEDS is FIRST-LAST\n");
      return 2;
    }
    range.time = std::chrono::hours(100);
  }
  std::string folder = (std::filesystem::temp_directory_path() / "drover-steps-XXXXXX").string();
  if (!::mkdtemp(folder.data())) return 2;
  std::filesystem::permissions(folder, std::filesystem::perms(0755));
  Score& score = *new (mmap(nullptr, sizeof(Score), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Score;
  std::vector<Lane> lanes;
  for (int i = 0; i < kLanes; ++i) lanes.push_back(make_lane(folder, i));
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int i = 0; i < kLanes; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC) != 0 ||
          mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
        ::_exit(1);
      const pid_t first = ::fork();
      if (first == 0) {
        const int code = run_lane(i, lanes[static_cast<size_t>(i)], range, score);
        std::fflush(nullptr);
        ::_exit(code);
      }
      int how = 0;
      ::waitpid(first, &how, 0);
      ::_exit(WIFEXITED(how) ? WEXITSTATUS(how) : 1);
    }
    children.push_back(child);
  }
  bool is_well = true;
  for (const pid_t child : children) {
    int how = 0;
    ::waitpid(child, &how, 0);
    is_well = is_well && how == 0;
  }
  for (const Lane& lane : lanes) remove_groups(lane);
  std::error_code ignored;
  if (is_well || !std::getenv("DROVER_CRASH_STEPS_KEEP")) std::filesystem::remove_all(folder, ignored);
  std::printf("%d lives, %d kills, %d failures\n", score.lives.load(), score.kills.load(), score.failures.load());
  return is_well && score.failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace drover::crash

int main() { return drover::crash::run(); }

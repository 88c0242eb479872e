#include "drover/launcher.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <mutex>

#include "drover/process.h"
#include "sdk/testing/waiting.h"

namespace drover {
namespace {

using namespace std::chrono_literals;

SteadyTime soon() { return SystemClock().steady() + 20s; }

class LauncherTest : public ::testing::Test {
 protected:
  LauncherTest() {
    char name[] = "/tmp/drover-launcher-XXXXXX";
    EXPECT_NE(nullptr, mkdtemp(name));
    folder_ = name;
  }
  ~LauncherTest() override {
    for (int pid : launchers_)
      EXPECT_TRUE(eventually([&] { return !is_alive(pid); })) << "launcher " << pid << " stays";
    std::filesystem::remove_all(folder_);
  }
  std::unique_ptr<Launcher> connect(Launcher::Callbacks callbacks = {}) {
    auto client =
        Launcher::connect({.folder = folder_ + "/run", .program = {}, .grace = 50ms}, std::move(callbacks), soon());
    EXPECT_TRUE(client.ok()) << client.status().to_string();
    if (!client.ok()) return nullptr;
    launchers_.push_back((*client)->pid());
    return *std::move(client);
  }
  // Collects exits.
  Launcher::Callbacks exits() {
    return {.exited =
                [this](const Launcher::Task& task) {
                  std::lock_guard lock(mutex_);
                  exits_[task.id] = *task.exit;
                  changed_.notify_all();
                },
            .lost = [this] { is_lost_ = true; }};
  }
  Launcher::Exit exit_of(const std::string& id) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, 20s, [&] { return exits_.contains(id); })) << id;
    return exits_[id];
  }
  static Launcher::Start shell(const std::string& id, const std::string& script) {
    return {.id = id,
            .program = "/bin/sh",
            .arguments = {"sh", "-c", script},
            .environment = {"PATH=/usr/bin:/bin"},
            .directory = "/",
            .stdout_path = {},
            .stderr_path = {},
            .user = std::nullopt,
            .cgroup_files = {}};
  }

  std::string folder_;
  std::vector<int> launchers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Launcher::Exit> exits_;  // guarded by mutex_
  std::atomic<bool> is_lost_ = false;
};

TEST_F(LauncherTest, PushesExitCodesAndSignals) {
  auto launcher = connect(exits());
  ASSERT_TRUE(launcher);
  ASSERT_TRUE(launcher->start(shell("a", "exit 9"), soon()).ok());
  ASSERT_TRUE(launcher->start(shell("b", "kill -TERM $$"), soon()).ok());
  EXPECT_EQ(9, exit_of("a").exit_code);
  EXPECT_EQ(0, exit_of("a").signal);
  EXPECT_EQ(15, exit_of("b").signal);
  EXPECT_TRUE(launcher->forget("a", soon()).ok());
  EXPECT_TRUE(launcher->forget("a", soon()).ok());
  EXPECT_TRUE(launcher->forget("b", soon()).ok());
}

TEST_F(LauncherTest, IsFoundAgainByTheNextClientAndKeepsResults) {
  auto first = connect();
  ASSERT_TRUE(first);
  auto started = first->start(shell("a", "exit 4"), soon());
  ASSERT_TRUE(started.ok());
  const int pid = first->pid();
  first.reset();
  ASSERT_TRUE(eventually([&] { return !is_alive(started->pid); }));

  auto second = connect();
  ASSERT_TRUE(second);

  EXPECT_EQ(pid, second->pid());
  auto tasks = second->list(soon());
  ASSERT_TRUE(tasks.ok());
  ASSERT_EQ(1u, tasks->size());
  EXPECT_EQ(started->pid, tasks->front().pid);
  EXPECT_EQ(started->start_time, tasks->front().start_time);
  ASSERT_TRUE(tasks->front().exit);
  EXPECT_EQ(4, tasks->front().exit->exit_code);
  EXPECT_TRUE(second->forget("a", soon()).ok());
  EXPECT_TRUE(second->list(soon())->empty());
}

TEST_F(LauncherTest, OutlivesAnAgentThatIsKilled) {
  const pid_t agent = fork();
  if (agent == 0) {
    auto client = Launcher::connect({.folder = folder_ + "/run", .program = {}, .grace = 50ms}, {}, soon());
    if (client.ok() && (*client)->start(shell("a", "exec sleep 3600"), soon()).ok()) kill(getpid(), SIGKILL);
    _exit(1);
  }
  int status = 0;
  ASSERT_EQ(agent, waitpid(agent, &status, 0));
  ASSERT_TRUE(WIFSIGNALED(status));

  auto next = connect(exits());

  ASSERT_TRUE(next);
  auto tasks = next->list(soon());
  ASSERT_TRUE(tasks.ok());
  ASSERT_EQ(1u, tasks->size());
  EXPECT_FALSE(tasks->front().exit);
  EXPECT_TRUE(is_alive(tasks->front().pid));
  EXPECT_TRUE(next->signal("a", SIGTERM, Launcher::To::group, soon()).ok());
  EXPECT_EQ(15, exit_of("a").signal);
  EXPECT_TRUE(next->forget("a", soon()).ok());
}

TEST_F(LauncherTest, ClientsThatComeTogetherShareOneLauncher) {
  std::vector<std::future<int>> pids;
  std::mutex mutex;
  std::vector<std::unique_ptr<Launcher>> clients;
  for (int i = 0; i < 8; ++i) {
    pids.push_back(std::async(std::launch::async, [&] {
      auto client = Launcher::connect({.folder = folder_ + "/run", .program = {}, .grace = 50ms}, {}, soon());
      if (!client.ok()) return -1;
      const int pid = (*client)->pid();
      std::lock_guard lock(mutex);
      clients.push_back(*std::move(client));
      return pid;
    }));
  }
  const int one = pids.front().get();
  EXPECT_GT(one, 0);
  for (size_t i = 1; i < pids.size(); ++i) EXPECT_EQ(one, pids[i].get());
  launchers_.push_back(one);
}

TEST_F(LauncherTest, KeepsItsFolderToItselfAndNeedsNoShortPath) {
  folder_ += "/" + std::string(120, 'd');
  std::filesystem::create_directory(folder_);
  auto launcher = connect();
  ASSERT_TRUE(launcher);
  struct stat info {};
  ASSERT_EQ(0, stat((folder_ + "/run").c_str(), &info));
  EXPECT_EQ(0700u, info.st_mode & 0777u);
  launcher.reset();
  EXPECT_TRUE(eventually([&] { return !is_alive(launchers_.front()); }));
  folder_.resize(folder_.rfind('/'));
}

TEST_F(LauncherTest, LeavesWhenNobodyNeedsItAndTheNextClientStartsAnother) {
  auto first = connect();
  ASSERT_TRUE(first);
  const int pid = first->pid();
  first.reset();
  ASSERT_TRUE(eventually([&] { return !is_alive(pid); }));
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/run/launcher.sock"));
  auto second = connect();
  ASSERT_TRUE(second);
  EXPECT_NE(pid, second->pid());
}

TEST_F(LauncherTest, ReportsWhyAProgramCouldNotRun) {
  auto launcher = connect();
  ASSERT_TRUE(launcher);
  Launcher::Start start = shell("a", "");
  start.program = "/bin/nope";
  EXPECT_EQ(invalid_argument("exec /bin/nope: No such file or directory"), launcher->start(start, soon()).status());
  start = shell("a", "");
  start.directory = "/nowhere";
  EXPECT_EQ(invalid_argument("chdir /nowhere: No such file or directory"), launcher->start(start, soon()).status());
  start = shell("a", "");
  start.cgroup_files = {"/no/cgroup.procs"};
  EXPECT_EQ(invalid_argument("join /no/cgroup.procs: No such file or directory"),
            launcher->start(start, soon()).status());
  start = shell("a", "");
  start.network_namespace = "/no/netns";
  EXPECT_EQ(invalid_argument("join the network namespace /no/netns: No such file or directory"),
            launcher->start(start, soon()).status());
  EXPECT_TRUE(launcher->list(soon())->empty());
}

TEST_F(LauncherTest, OutputGoesToAFifoAndNowhereElse) {
  auto launcher = connect({});
  const std::string file = folder_ + "/file", link = folder_ + "/link";
  std::ofstream(file) << "not yours";
  std::filesystem::create_symlink(file, link);
  for (const std::string& path : {file, link, folder_}) {
    Launcher::Start start = shell("a", "echo overwritten");
    start.stdout_path = path;
    const Status status = launcher->start(start, soon()).status();
    EXPECT_EQ(Code::invalid_argument, status.code()) << path;
    EXPECT_TRUE(status.message().starts_with("open " + path)) << status.message();
  }
  std::string content;
  std::getline(std::ifstream(file), content);
  EXPECT_EQ("not yours", content);
}

TEST_F(LauncherTest, RefusesKnownAndUnknownTasksByCode) {
  auto launcher = connect(exits());
  ASSERT_TRUE(launcher);
  ASSERT_TRUE(launcher->start(shell("a", "exec sleep 3600"), soon()).ok());
  EXPECT_EQ(Code::already_exists, launcher->start(shell("a", "true"), soon()).status().code());
  EXPECT_EQ(Code::failed_precondition, launcher->forget("a", soon()).code());
  EXPECT_EQ(Code::not_found, launcher->signal("b", SIGTERM, Launcher::To::process, soon()).code());
  EXPECT_TRUE(launcher->signal("a", SIGTERM, Launcher::To::group, soon()).ok());
  EXPECT_EQ(15, exit_of("a").signal);
  EXPECT_TRUE(launcher->signal("a", SIGTERM, Launcher::To::process, soon()).ok());
  EXPECT_TRUE(launcher->forget("a", soon()).ok());
}

TEST_F(LauncherTest, TellsWhenItIsLostAndItsTasksGoOn) {
  auto launcher = connect(exits());
  ASSERT_TRUE(launcher);
  auto started = launcher->start(shell("a", "exec sleep 3600"), soon());
  ASSERT_TRUE(started.ok());

  ASSERT_EQ(0, kill(launcher->pid(), SIGKILL));

  EXPECT_TRUE(eventually([&] { return is_lost_.load(); }));
  EXPECT_FALSE(launcher->is_connected());
  EXPECT_EQ(Code::unavailable, launcher->list(soon()).status().code());
  EXPECT_TRUE(is_alive(started->pid));
  auto next = connect();
  ASSERT_TRUE(next);
  EXPECT_TRUE(next->list(soon())->empty());
  EXPECT_TRUE(signal_process(started->pid, started->start_time, SIGKILL));
}

TEST_F(LauncherTest, HoldsPipesForWritersOfOthers) {
  const std::string fifo = folder_ + "/fifo";
  ASSERT_EQ(0, mkfifo(fifo.c_str(), 0600));
  ASSERT_TRUE(connect()->hold("t", {fifo}, soon()).ok());  // and this client goes

  const int writer = open(fifo.c_str(), O_WRONLY | O_NONBLOCK);  // refused where nobody reads
  ASSERT_GE(writer, 0);
  EXPECT_EQ(5, write(writer, "hello", 5));
  close(writer);
  auto next = connect();
  const int reader = open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  char bytes[8];
  EXPECT_EQ(5, read(reader, bytes, sizeof bytes));
  EXPECT_EQ(-1, read(reader, bytes, sizeof bytes));  // still held
  EXPECT_TRUE(next->release("t", soon()).ok());
  EXPECT_TRUE(next->release("t", soon()).ok());
  EXPECT_EQ(0, read(reader, bytes, sizeof bytes));
  close(reader);
  EXPECT_EQ(Code::invalid_argument, next->hold("t", {folder_ + "/none"}, soon()).code());
}

TEST_F(LauncherTest, EndsWhenItsFolderIsGoneAndNoTaskRuns) {
  const std::string fifo = folder_ + "/fifo";
  ASSERT_EQ(0, mkfifo(fifo.c_str(), 0600));
  auto launcher = connect(exits());
  ASSERT_TRUE(launcher);
  const int pid = launcher->pid();
  ASSERT_TRUE(launcher->hold("t", {fifo}, soon()).ok());
  ASSERT_TRUE(launcher->start(shell("ended", "exit 3"), soon()).ok());
  EXPECT_EQ(3, exit_of("ended").exit_code);
  auto running = launcher->start(shell("running", "exec sleep 3600"), soon());
  ASSERT_TRUE(running.ok());
  launcher.reset();

  std::filesystem::rename(folder_ + "/run", folder_ + "/moved");
  auto found = Launcher::connect({.folder = folder_ + "/moved", .program = {}, .grace = 50ms}, {}, soon());
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(pid, (*found)->pid()) << "a folder that was moved is still the way to it";
  EXPECT_EQ(2u, (*found)->list(soon())->size());
  found->reset();
  std::filesystem::remove_all(folder_ + "/moved");

  EXPECT_TRUE(is_alive(running->pid));
  EXPECT_TRUE(is_alive(pid)) << "a task runs";
  EXPECT_TRUE(signal_process(running->pid, running->start_time, SIGKILL));
  EXPECT_TRUE(eventually([&] { return !is_alive(pid); }));
}

TEST_F(LauncherTest, CarriesLargeArguments) {
  auto launcher = connect(exits());
  ASSERT_TRUE(launcher);
  Launcher::Start start = shell("a", "test ${#BIG} = 100000");
  start.environment.push_back("BIG=" + std::string(100000, 'x'));
  for (int i = 0; i < 10; ++i) start.environment.push_back("N" + std::to_string(i) + "=" + std::string(100000, 'y'));
  ASSERT_TRUE(launcher->start(start, soon()).ok());
  EXPECT_EQ(0, exit_of("a").exit_code);
  start.id = "b";
  start.environment.assign(100, std::string(100000, 'z'));
  EXPECT_EQ(Code::invalid_argument, launcher->start(start, soon()).status().code());
  EXPECT_TRUE(launcher->forget("a", soon()).ok());
}

TEST_F(LauncherTest, SaysThatItCannotBeStarted) {
  auto client = Launcher::connect({.folder = folder_ + "/run", .program = "/bin/nope", .grace = 50ms}, {}, soon());
  EXPECT_EQ(unavailable("start /bin/nope: No such file or directory"), client.status());
}

std::string namespace_of(int pid, const char* name) {
  return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/ns/" + name).string();
}

TEST_F(LauncherTest, SaysWhichStepOfAConfinementFailedAndGoesOn) {
  if (geteuid() != 0) GTEST_SKIP() << "missing: root";
  auto client = connect(exits());
  Launcher::Start start{.id = "a", .program = "/bin/sleep", .arguments = {"sleep", "3600"}};
  start.confinement = Confinement{.own = Confinement::mounts | Confinement::processes,
                                  .joins = {},
                                  .root = Confinement::Root{.folder = folder_ + "/none"}};
  const auto refused = client->start(start, soon());
  EXPECT_EQ(invalid_argument("mount the root " + folder_ + "/none: No such file or directory"), refused.status());

  // The next one is where the launcher is, and not where the last one was to be.
  start.confinement.reset();
  const auto plain = client->start(start, soon());
  ASSERT_TRUE(plain.ok()) << plain.status().to_string();
  EXPECT_EQ(namespace_of(getpid(), "pid"), namespace_of(plain->pid, "pid"));
  EXPECT_TRUE(client->signal("a", SIGKILL, Launcher::To::process, soon()).ok());
  EXPECT_EQ(SIGKILL, exit_of("a").signal);
  EXPECT_TRUE(client->forget("a", soon()).ok());
}

TEST_F(LauncherTest, JoinsTheProcessThatIsMeantAndNoOtherOfItsNumber) {
  if (geteuid() != 0) GTEST_SKIP() << "missing: root";
  auto client = connect(exits());
  Launcher::Start start{.id = "a", .program = "/bin/sleep", .arguments = {"sleep", "3600"}};
  start.confinement = Confinement{.own = Confinement::ipc | Confinement::processes};
  const auto task = client->start(start, soon());
  ASSERT_TRUE(task.ok()) << task.status().to_string();
  EXPECT_NE(namespace_of(getpid(), "ipc"), namespace_of(task->pid, "ipc"));

  start.id = "beside";
  start.confinement->joins = {.pid = task->pid, .start_time = task->start_time};
  const auto beside = client->start(start, soon());
  ASSERT_TRUE(beside.ok()) << beside.status().to_string();
  EXPECT_EQ(namespace_of(task->pid, "ipc"), namespace_of(beside->pid, "ipc"));
  EXPECT_EQ(namespace_of(task->pid, "pid"), namespace_of(beside->pid, "pid"));

  start.id = "stranger";
  start.confinement->joins.start_time += 1;
  EXPECT_EQ(Code::not_found, client->start(start, soon()).status().code());

  // With its first process a namespace ends, and all that is in there.
  EXPECT_TRUE(client->signal("a", SIGKILL, Launcher::To::process, soon()).ok());
  EXPECT_EQ(SIGKILL, exit_of("a").signal);
  EXPECT_EQ(SIGKILL, exit_of("beside").signal);
  for (const char* id : {"a", "beside"}) EXPECT_TRUE(client->forget(id, soon()).ok());
}

}  // namespace
}  // namespace drover

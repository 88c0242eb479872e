#include "tests/simulation/sweep.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "drover/result.h"
#ifdef DROVER_PLANTED_BUGS
#include "tests/simulation/planted/planted.h"
#endif

namespace drover::simulation {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// A file in memory that a child writes and its parent reads.
class Scratch {
 public:
  Scratch() : file_(::memfd_create("simulate", MFD_CLOEXEC)) { DROVER_CHECK(file_ >= 0); }
  ~Scratch() { ::close(file_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  int file() const { return file_; }
  std::string content() const {
    std::string text(static_cast<size_t>(::lseek(file_, 0, SEEK_END)), '\0');
    const ssize_t got = ::pread(file_, text.data(), text.size(), 0);
    text.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return text;
  }

 private:
  const int file_;
};

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n <= 0) return;
    text.remove_prefix(static_cast<size_t>(n));
  }
}

void limit_time(int seconds) {
  rlimit limit{};
  ::getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = static_cast<rlim_t>(seconds);  // the hard one could never be raised again for the next run
  DROVER_CHECK(::setrlimit(RLIMIT_CPU, &limit) == 0);
}

int g_events_file = -1;

// The process is at its end and nobody else runs in it, so reading the trace here is as safe as it needs to be.
void tell_events(int signal) {
  write_all(g_events_file, events_under_way());
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

Breach breach_of(int status, const std::string& errors) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
    return {"time", "the run took longer than " + std::to_string(kSecondsForARun) + " s of processor time"};
  const size_t line = errors.find("check failed");
  const size_t begin = line == std::string::npos ? 0 : errors.rfind('\n', line) + 1;
  std::string what = errors.substr(begin, errors.find('\n', begin) - begin);
  if (WIFSIGNALED(status)) what += " (signal " + std::to_string(WTERMSIG(status)) + ")";
  return {"abort", std::move(what)};
}

}  // namespace

Status plant_bug(const std::string& name) {
#ifdef DROVER_PLANTED_BUGS
  for (const raft::Bug bug : raft::all_bugs()) {
    if (raft::to_string(bug) != name) continue;
    raft::plant(bug);
    return ok_status();
  }
  return name.empty() ? ok_status() : invalid_argument("there is no bug called \"" + name + "\"; see --bugs");
#else
  if (name.empty()) return ok_status();
  return failed_precondition("this program has no bugs to plant: use simulate_planted");
#endif
}

std::vector<std::string> plantable_bugs() {
  std::vector<std::string> names;
#ifdef DROVER_PLANTED_BUGS
  for (const raft::Bug bug : raft::all_bugs()) {
    if (bug != raft::Bug::none) names.emplace_back(raft::to_string(bug));
  }
#endif
  return names;
}

Outcome run_isolated(uint64_t seed, const Configuration& configuration) {
  const Scratch results, errors, events;
  const pid_t child = ::fork();
  DROVER_CHECK(child >= 0);
  if (child == 0) {
    ::dup2(errors.file(), STDERR_FILENO);
    g_events_file = events.file();
    for (const int signal : {SIGABRT, SIGSEGV, SIGXCPU}) ::signal(signal, tell_events);
    limit_time(kSecondsForARun);
    const Outcome outcome = run(seed, configuration);
    write_all(events.file(), outcome.last_events);
    std::string text = std::to_string(outcome.trace_hash) + " " + std::to_string(outcome.virtual_us) + "\n";
    text += outcome.breach.property + "\n" + outcome.breach.what;
    write_all(results.file(), text);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  Outcome outcome{.last_events = events.content()};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    outcome.breach = breach_of(status, errors.content());
    return outcome;
  }
  const std::string text = results.content();
  const size_t first = text.find('\n');
  const size_t second = text.find('\n', first + 1);
  char* end = nullptr;
  outcome.trace_hash = std::strtoull(text.c_str(), &end, 10);
  outcome.virtual_us = std::strtoll(end, nullptr, 10);
  outcome.breach = {text.substr(first + 1, second - first - 1), text.substr(second + 1)};
  return outcome;
}

namespace {

// One worker's message to the parent, in memory that both see. Only the worker writes.
struct Slot {
  volatile uint64_t seed = 0;  // under way
  Totals totals;
};

Outcome run_drawn(uint64_t seed, const std::string& overrides) {
  Configuration configuration = draw_configuration(seed);
  if (!set_fields(configuration, overrides).ok()) ::_exit(2);
  return run(seed, configuration);
}

void tell_marks(int file) {
#ifdef DROVER_PLANTED_BUGS
  for (const auto& [mark, count] : raft::reached()) write_all(file, std::to_string(count) + " " + mark + "\n");
#else
  static_cast<void>(file);
#endif
}

void add_marks(const std::string& text, std::map<std::string, uint64_t>& marks) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const size_t space = text.find(' ', at);
    marks[text.substr(space + 1, end - space - 1)] += std::strtoull(text.c_str() + at, nullptr, 10);
    at = end + 1;
  }
}

// Seeds plan.from + index, + jobs, … until it fails or is told to end.
[[noreturn]] void work(const Sweep& plan, int index, Slot& slot, int marks) {
  const auto step = static_cast<uint64_t>(plan.jobs);
  const double end = plan.seconds > 0 ? now() + plan.seconds : 0;
  if (::freopen("/dev/null", "w", stderr) == nullptr) ::_exit(2);
  for (uint64_t i = static_cast<uint64_t>(index); plan.count == 0 || i < plan.count; i += step) {
    if (end > 0 && now() > end) break;
    const uint64_t seed = plan.from + i;
    slot.seed = seed;
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    limit_time(static_cast<int>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + kSecondsForARun);
    const Outcome outcome = run_drawn(seed, plan.overrides);
    const bool agrees = !plan.must_agree || run_drawn(seed, plan.overrides).trace_hash == outcome.trace_hash;
    slot.totals.add(outcome);
    if (!outcome.is_good() || !agrees) ::_exit(1);
  }
  tell_marks(marks);
  ::_exit(0);
}

// A worker and the pipe whose other end it holds: it closes when the worker ends, however it ends.
struct Worker {
  pid_t process = 0;
  int pipe = -1;
  std::unique_ptr<Scratch> marks = std::make_unique<Scratch>();

  void begin(const Sweep& plan, int index, Slot& slot) {
    int ends[2];
    DROVER_CHECK(::pipe2(ends, O_CLOEXEC) == 0);
    process = ::fork();
    DROVER_CHECK(process >= 0);
    if (process == 0) work(plan, index, slot, marks->file());
    ::close(ends[1]);
    pipe = ends[0];
  }
  // How it ended, as waitpid() has it: 0 when all was good.
  int end() {
    int status = 0;
    ::waitpid(process, &status, 0);
    ::close(pipe);
    pipe = -1;
    return status;
  }
};

}  // namespace

void Totals::add(const Outcome& outcome) {
  ++seeds;
  events += outcome.events;
  operations += outcome.operations;
  entries += outcome.entries;
  virtual_us += static_cast<uint64_t>(outcome.virtual_us);
}

void Totals::add(const Totals& other) {
  seeds += other.seeds;
  events += other.events;
  operations += other.operations;
  entries += other.entries;
  virtual_us += other.virtual_us;
}

SweepResult sweep(const Sweep& plan, const std::function<void(const SweepResult&)>& progress) {
  const auto jobs = static_cast<size_t>(plan.jobs);
  void* const memory = ::mmap(nullptr, jobs * sizeof(Slot), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  DROVER_CHECK(memory != MAP_FAILED);
  Slot* const slots = static_cast<Slot*>(memory);
  std::vector<Worker> workers(jobs);
  const double begun = now();
  for (size_t i = 0; i < jobs; ++i) workers[i].begin(plan, static_cast<int>(i), *new (&slots[i]) Slot);

  SweepResult result;
  const auto add_up = [&] {
    result.totals = {};
    for (size_t i = 0; i < jobs; ++i) result.totals.add(slots[i].totals);
    result.seconds = now() - begun;
  };
  for (size_t left = jobs; left > 0;) {
    std::vector<pollfd> pipes;
    for (const Worker& worker : workers) pipes.push_back({.fd = worker.pipe, .events = POLLIN});  // -1 is passed over
    if (::poll(pipes.data(), pipes.size(), 1000) == 0) {
      add_up();
      if (progress) progress(result);
      continue;
    }
    for (size_t i = 0; i < jobs; ++i) {
      if (pipes[i].fd < 0 || pipes[i].revents == 0) continue;
      --left;
      const int status = workers[i].end();
      if (status == 0) continue;
      if (!result.has_failed) {  // otherwise ended by us after another one's failure: that one counts
        result.failed_seed = slots[i].seed;
        result.failed_signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      }
      result.has_failed = true;
      for (const Worker& worker : workers) {
        if (worker.pipe >= 0) ::kill(worker.process, SIGKILL);
      }
    }
  }
  for (const Worker& worker : workers) add_marks(worker.marks->content(), result.marks);
  add_up();
  ::munmap(memory, jobs * sizeof(Slot));
  return result;
}

}  // namespace drover::simulation

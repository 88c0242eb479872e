#include <algorithm>
#include <mutex>
#include <thread>

#include "trial.h"

namespace drover::conformance {
namespace {

using Verdict = Outcome::Verdict;

// Why a check that needs it says nothing about this plugin; empty when it does.
std::string missing_input(uint32_t needs, const Setup& setup) {
  struct Input {
    uint32_t need;
    const char* block;
    const char* kind;
  };
  static constexpr Input kInputs[] = {{Check::endless, "task", "endless"},  {Check::ending, "task", "ending"},
                                      {Check::deaf, "task", "deaf"},        {Check::talking, "task", "talking"},
                                      {Check::invalid, "task", "invalid"},  {Check::passing, "check", "passing"},
                                      {Check::warning, "check", "warning"}, {Check::critical, "check", "critical"},
                                      {Check::slow, "check", "slow"},       {Check::refusable, "check", "invalid"},
                                      {Check::good, "login", "good"},       {Check::refused, "login", "refused"},
                                      {Check::browser, "login", "browser"}, {Check::misconfigured, "login", "invalid"}};
  for (const Input& input : kInputs) {
    if (!(needs & input.need)) continue;
    const std::string_view block = input.block;
    const bool is_there = block == "task"    ? setup.tasks.contains(input.kind)
                          : block == "check" ? setup.checks.contains(input.kind)
                                             : setup.logins.contains(input.kind);
    if (!is_there)
      return "there is no " + std::string(block) + " \"" + input.kind + "\" to " + (block == "login" ? "try" : "run") +
             " (-task)";
  }
  if ((needs & Check::published) && !setup.published)
    return "nobody says what is published: there is no block `published` (-task)";
  return {};
}

Result<std::string> missing(const Check& check, Trial& trial) {
  const uint32_t needs = check.needs;
  if ((needs & Check::sdk) && !trial.setup().is_sdk)
    return std::string("the plugin is not known to be made with this SDK (-sdk)");
  if ((needs & Check::program) && !dynamic_cast<ProgramSubject*>(&trial.subject()))
    return std::string("the plugin is not a program of its own");
  if (std::string why = missing_input(needs, trial.setup()); !why.empty()) return why;
  if (needs & Check::schema) {
    DROVER_TRY(const std::string config, trial.config_bytes());
    if (config.empty()) return std::string("the plugin takes no configuration");
  }
  if ((needs & Check::exec) && !trial.setup().runs_programs)
    return std::string("commands in its tasks do what the task says, and run no programs");
  constexpr uint32_t kCapabilities = Check::signals | Check::exec | Check::no_exec | Check::network | Check::no_network;
  if (needs & kCapabilities) {
    DROVER_TRY(const auto can, trial.capabilities());
    if ((needs & Check::signals) && !can.send_signals()) return std::string("the driver does not send signals");
    if ((needs & Check::exec) && !can.exec()) return std::string("the driver runs no commands in tasks");
    if ((needs & Check::no_exec) && can.exec()) return std::string("the driver runs commands in tasks");
    if ((needs & Check::network) && !can.must_create_network()) return std::string("the driver makes no networks");
    if ((needs & Check::no_network) && can.must_create_network()) return std::string("the driver makes networks");
  }
  if (needs & Check::stats) {
    DROVER_TRY(const Task task, trial.launch("endless"));
    const auto first = trial.next(trial.stats(task.id));
    if (first.status().code() == Code::unimplemented ||
        first.status().message().find("stats not implemented") != std::string::npos)
      return std::string("the driver has no statistics");
    DROVER_RETURN_IF_ERROR(trial.destroy(task.id, true));
  }
  return std::string();
}

Status judge(const Check& check, Trial& trial, std::string& why_not) {
  // The handshake's and the information's checks meet a plugin that nobody has configured.
  const std::string_view group = check.group();
  if (group != "handshake" && group != "information" && group != "configuration")
    DROVER_RETURN_IF_ERROR(trial.configure());
  DROVER_TRY(why_not, missing(check, trial));
  if (!why_not.empty()) return ok_status();
  Status status = check.run(trial);
  why_not = trial.why_inapplicable();
  return status;
}

}  // namespace

Outcome run(const Check& check, const SubjectFactory& factory, const Setup& setup) {
  const auto began = std::chrono::steady_clock::now();
  Outcome outcome;
  const TemporaryFolder folder;
  if (folder.path().empty()) return {Verdict::failed, "no folder can be made in /tmp", {}};
  auto subject = factory();
  if (!subject) {
    outcome = {Verdict::failed, subject.status().with_context("the plugin does not start").message(), {}};
  } else {
    Trial trial(**subject, setup, folder.path());
    std::string why_not;
    const Status status = judge(check, trial, why_not);
    if (!status.ok()) {
      outcome = {Verdict::failed, status.message(), {}};
    } else if (!why_not.empty()) {
      outcome = {Verdict::not_applicable, why_not, {}};
    }
    trial.clean();
    if (outcome.verdict == Verdict::failed && status.code() == Code::unavailable) {
      (*subject)->kill();
      if (const std::string how = (*subject)->epitaph(); !how.empty()) outcome.detail += "; the program: " + how;
    }
  }
  outcome.took = std::chrono::steady_clock::now() - began;
  return outcome;
}

std::vector<Outcome> run_all(std::span<const Check* const> checks, const SubjectFactory& factory, const Setup& setup,
                             int parallel, const std::function<void(size_t, const Outcome&)>& done) {
  std::vector<Outcome> outcomes(checks.size());
  std::mutex mutex;
  size_t next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < std::max(parallel, 1); ++i) {
    threads.emplace_back([&] {
      std::unique_lock lock(mutex);
      while (next < checks.size()) {
        const size_t mine = next++;
        lock.unlock();
        Outcome outcome = run(*checks[mine], factory, setup);
        lock.lock();
        outcomes[mine] = std::move(outcome);
        if (done) done(mine, outcomes[mine]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

}  // namespace drover::conformance

#include "run.h"

#include <sys/mount.h>

#include <algorithm>
#include <filesystem>

#include "catalogue/catalogue.h"
#include "trial.h"

namespace drover::csi_kit {
namespace {

using Verdict = Outcome::Verdict;

Outcome failed(const Trial& trial, const Status& why) {
  return {.verdict = Verdict::failed, .found = why.message(), .asked = trial.asked(), .came = trial.came()};
}

Outcome judged(const Check& check, Session& session) {
  Trial trial(session);
  const Status held = check.run(trial);
  Outcome outcome;
  if (!held.ok()) {
    outcome = failed(trial, held);
  } else if (!trial.why_inapplicable().empty()) {
    outcome = {.verdict = Verdict::left_out, .found = trial.why_inapplicable()};
  }
  const Status undone = trial.undo();
  if (!undone.ok() && outcome.verdict != Verdict::failed) outcome = failed(trial, undone);
  return outcome;
}

}  // namespace

std::vector<const Check*> all_checks() {
  std::vector<const Check*> all;
  for (const auto& group :
       {identity_checks(), controller_checks(), publish_checks(), snapshot_checks(), expansion_checks(),
        paging_checks(), node_checks(), publish_table_checks(), idempotency_checks(), error_checks(), hostile_checks(),
        concurrency_checks(), restart_checks(), clean_checks()}) {
    for (const Check& each : group) all.push_back(&each);
  }
  return all;
}

std::vector<const Check*> select(std::string_view pattern) {
  std::vector<const Check*> out;
  for (const Check* each : all_checks()) {
    if (each->name == pattern) return {each};
    if (each->name.find(pattern) != std::string_view::npos || each->sentence.find(pattern) != std::string_view::npos)
      out.push_back(each);
  }
  return out;
}

Outcome run(const Check& check, Session& session) {
  const auto began = std::chrono::steady_clock::now();
  const std::string why_not = missing(check.needs, session.abilities, session.settings);
  Outcome outcome = why_not.empty() ? judged(check, session) : Outcome{.verdict = Verdict::left_out, .found = why_not};
  if (!session.subject.is_alive()) {
    outcome.verdict = Verdict::failed;
    outcome.found += session.subject.epitaph();
    if (const Status again = session.subject.start(); !again.ok())
      outcome.found += "; started again: " + again.message();
  }
  outcome.took = std::chrono::steady_clock::now() - began;
  return outcome;
}

std::vector<Outcome> run_all(std::span<const Check* const> checks, Session& session,
                             const std::function<bool(size_t, const Outcome&)>& done) {
  std::vector<Outcome> outcomes;
  for (const Check* check : checks) {
    outcomes.push_back(run(*check, session));
    if (!done(outcomes.size() - 1, outcomes.back())) break;
  }
  return outcomes;
}

void clear(const std::string& folder) {
  for (const std::string& each : mounts_below(folder)) (void)::umount2(each.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
  if (!mounts_below(folder).empty()) return;  // never delete through a mount
  std::error_code error;
  std::filesystem::remove_all(folder, error);
}

}  // namespace drover::csi_kit

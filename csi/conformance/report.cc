#include "report.h"

#include <map>
#include <nlohmann/json.hpp>

#include "drover/duration.h"

namespace drover::csi_kit {
namespace {

using Verdict = Outcome::Verdict;

const char* word(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "passed";
    case Verdict::failed:
      return "failed";
    case Verdict::left_out:
      return "left_out";
  }
  return "";
}

std::string padded(std::string_view text, size_t width) {
  std::string out(text);
  out.resize(std::max(out.size() + 1, width), ' ');
  return out;
}

}  // namespace

Tally tally(const std::vector<Outcome>& outcomes) {
  Tally count;
  for (const Outcome& each : outcomes)
    ++(each.verdict == Verdict::passed   ? count.passed
       : each.verdict == Verdict::failed ? count.failed
                                         : count.left_out);
  return count;
}

void Progress::ended(size_t index, const Outcome& outcome) {
  const Check& check = *checks_[index];
  print(check, outcome);
  group_.push_back(outcome);
  if (index + 1 == checks_.size() || checks_[index + 1]->group() != check.group()) close_group(check.group());
  out_.flush();
}

void Progress::print(const Check& check, const Outcome& outcome) {
  if (outcome.verdict == Verdict::failed) {
    out_ << "  FAIL  " << check.sentence << "\n        asked:    " << outcome.asked
         << "\n        came:     " << outcome.came << "\n        found:    " << outcome.found
         << "\n        contract: " << check.contract << "\n        alone:    -run " << check.name << "\n";
  } else if (is_verbose_) {
    out_ << (outcome.verdict == Verdict::passed ? "  ok    " : "  out   ") << check.sentence;
    if (outcome.verdict == Verdict::left_out) out_ << " (" << outcome.found << ")";
    out_ << "\n";
  }
}

void Progress::close_group(std::string_view name) {
  const Tally count = tally(group_);
  std::map<std::string, size_t> reasons;
  for (const Outcome& each : group_) {
    if (each.verdict == Verdict::left_out) ++reasons[each.found];
  }
  out_ << padded(name, 16) << count.passed << " passed";
  if (count.failed > 0) out_ << ", " << count.failed << " failed";
  for (const auto& [reason, times] : reasons) out_ << ", " << times << " left out: " << reason;
  out_ << "\n";
  group_.clear();
}

std::string summary(const std::vector<Outcome>& outcomes) {
  const Tally count = tally(outcomes);
  std::chrono::nanoseconds took{};
  for (const Outcome& each : outcomes) took += each.took;
  const auto rounded = std::chrono::duration_cast<std::chrono::milliseconds>(took);
  return std::to_string(count.passed) + " passed, " + std::to_string(count.failed) + " failed, " +
         std::to_string(count.left_out) + " left out in " + format_duration(rounded);
}

std::string to_json(const std::string& tried, const std::vector<const Check*>& checks,
                    const std::vector<Outcome>& outcomes) {
  const Tally count = tally(outcomes);
  nlohmann::ordered_json out = {
      {"plugin", tried}, {"passed", count.passed}, {"failed", count.failed}, {"left_out", count.left_out}};
  auto& list = out["checks"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    list.push_back({{"name", checks[i]->name},
                    {"sentence", checks[i]->sentence},
                    {"verdict", word(outcome.verdict)},
                    {"seconds", std::chrono::duration<double>(outcome.took).count()}});
    if (outcome.verdict != Verdict::passed) list.back()["found"] = outcome.found;
    if (outcome.verdict != Verdict::failed) continue;
    list.back()["asked"] = outcome.asked;
    list.back()["came"] = outcome.came;
    list.back()["contract"] = checks[i]->contract;
  }
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string listing(const std::vector<const Check*>& checks) {
  std::string out;
  for (const Check* each : checks) out.append(padded(each->name, 36)).append(each->sentence).append("\n");
  return out + std::to_string(checks.size()) + " checks\n";
}

}  // namespace drover::csi_kit

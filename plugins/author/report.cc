#include "report.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "drover/duration.h"

namespace drover::author {
namespace {

using conformance::Outcome;
using Verdict = conformance::Outcome::Verdict;

const char* word(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed:
      return "passed";
    case Verdict::failed:
      return "failed";
    case Verdict::not_applicable:
      return "not_applicable";
  }
  return "";
}

std::string seconds(std::chrono::nanoseconds time) {
  char text[32];
  (void)std::snprintf(text, sizeof text, "%.3f", std::chrono::duration<double>(time).count());
  return text;
}

// Text as XML has it; what XML cannot hold becomes a question mark.
std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t' ? c : '?';
    }
  }
  return out;
}

// As a shell takes it for one word.
std::string shell_word(const std::string& text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./=:,@%+").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string indented(std::string text) {
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1))
    text.insert(at + 1, "              ");
  return text;
}

}  // namespace

Tally tally(const std::vector<Judged>& all) {
  Tally count;
  for (const Judged& judged : all) {
    const Verdict verdict = judged.outcome.verdict;
    ++(verdict == Verdict::passed ? count.passed : verdict == Verdict::failed ? count.failed : count.not_applicable);
  }
  return count;
}

std::string command_again(std::string_view check, const Options& options) {
  std::string out = "drover plugin test -run " + std::string(check);
  for (const char* option : {"config", "task", "arg", "timeout"}) {
    if (options.on(option)) out += std::string(" -") + option + " " + shell_word(options.value(option));
  }
  if (options.on("sdk")) out += " -sdk";
  for (const std::string& file : options.arguments()) out += " " + shell_word(file);
  return out;
}

Progress::Progress(std::ostream& out, std::vector<const conformance::Check*> checks, Options options)
    : out_(out), is_known_(checks.size()), options_(std::move(options)) {
  for (const auto* check : checks) judged_.push_back({check, {}});
}

void Progress::ended(size_t index, const Outcome& outcome) {
  judged_[index].outcome = outcome;
  is_known_[index] = true;
  while (next_ < judged_.size() && is_known_[next_]) {
    print(judged_[next_++]);
    if (next_ == judged_.size() || judged_[next_].check->group() != judged_[next_ - 1].check->group()) close_group();
  }
  out_.flush();
}

void Progress::print(const Judged& judged) {
  const auto& [check, outcome] = judged;
  if (outcome.verdict == Verdict::failed) {
    out_ << "  FAIL  " << check->sentence << "\n        found:   " << indented(outcome.detail)
         << "\n        look at: " << check->remedy << "\n        again:   " << command_again(check->name, options_)
         << "\n";
  } else if (options_.on("verbose")) {
    out_ << (outcome.verdict == Verdict::passed ? "  ok    " : "  n/a   ") << check->sentence;
    if (outcome.verdict == Verdict::not_applicable) out_ << " (" << outcome.detail << ")";
    out_ << "\n";
  }
}

void Progress::close_group() {
  const std::vector<Judged> group(judged_.begin() + static_cast<std::ptrdiff_t>(group_began_),
                                  judged_.begin() + static_cast<std::ptrdiff_t>(next_));
  const Tally count = tally(group);
  std::map<std::string, size_t> reasons;
  for (const Judged& judged : group) {
    if (judged.outcome.verdict == Verdict::not_applicable) ++reasons[judged.outcome.detail];
  }
  std::string name(group.front().check->group());
  name.resize(std::max<size_t>(name.size() + 1, 16), ' ');
  out_ << name << count.passed << " passed";
  if (count.failed > 0) out_ << ", " << count.failed << " failed";
  for (const auto& [reason, times] : reasons) out_ << ", " << times << " not applicable: " << reason;
  out_ << "\n";
  group_began_ = next_;
}

std::string summary(const std::vector<Judged>& all, std::chrono::nanoseconds took) {
  const Tally count = tally(all);
  const auto rounded = std::chrono::duration_cast<std::chrono::milliseconds>(took);
  return std::to_string(count.passed) + " passed, " + std::to_string(count.failed) + " failed, " +
         std::to_string(count.not_applicable) + " not applicable in " + format_duration(rounded);
}

std::string to_json(const std::string& file, const std::vector<Judged>& all) {
  const Tally count = tally(all);
  nlohmann::ordered_json out = {
      {"file", file}, {"passed", count.passed}, {"failed", count.failed}, {"not_applicable", count.not_applicable}};
  auto& list = out["checks"] = nlohmann::ordered_json::array();
  for (const auto& [check, outcome] : all) {
    list.push_back({{"name", check->name},
                    {"sentence", check->sentence},
                    {"verdict", word(outcome.verdict)},
                    {"detail", outcome.detail},
                    {"seconds", std::chrono::duration<double>(outcome.took).count()}});
    if (outcome.verdict == Verdict::failed) list.back()["remedy"] = check->remedy;
  }
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string to_junit(const std::string& file, const std::vector<Judged>& all) {
  const Tally count = tally(all);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"" + escape(file) + "\" tests=\"" +
                    std::to_string(all.size()) + "\" failures=\"" + std::to_string(count.failed) + "\" skipped=\"" +
                    std::to_string(count.not_applicable) + "\">\n";
  for (const auto& [check, outcome] : all) {
    out += "  <testcase classname=\"" + escape(check->group()) + "\" name=\"" + escape(check->sentence) + "\" time=\"" +
           seconds(outcome.took) + "\"";
    if (outcome.verdict == Verdict::passed) {
      out += "/>\n";
    } else if (outcome.verdict == Verdict::failed) {
      out +=
          "><failure message=\"" + escape(outcome.detail) + "\">" + escape(check->remedy) + "</failure></testcase>\n";
    } else {
      out += "><skipped message=\"" + escape(outcome.detail) + "\"/></testcase>\n";
    }
  }
  return out + "</testsuite>\n";
}

}  // namespace drover::author

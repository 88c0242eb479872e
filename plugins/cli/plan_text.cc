#include "plan_text.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "drover/duration.h"
#include "drover/time.h"
#include "output.h"
#include "placement.h"

namespace drover::cli {
namespace {

using nlohmann::json;

class DiffPrinter {
 public:
  explicit DiffPrinter(bool is_verbose) : is_verbose_(is_verbose) {}

  void job(const json& diff) {
    line(diff, 0, "Job: \"" + text(diff, "ID") + "\"");
    if (shows_parts(diff)) parts(diff, 0);
    for (const json& each : member(diff, "TaskGroups")) group(each);
  }
  std::string take() { return std::move(out_); }

 private:
  static std::string marker(const json& diff) {
    const std::string type = text(diff, "Type");
    return type == "Added" ? "+   " : type == "Deleted" ? "-   " : type == "Edited" ? "+/- " : "    ";
  }
  bool shows_parts(const json& diff) const { return is_verbose_ || text(diff, "Type") == "Edited"; }

  void line(const json& diff, size_t indent, const std::string& rest) {
    out_ += std::string(indent, ' ') + marker(diff) + rest + "\n";
  }

  static std::string in_parentheses(const std::string& words) { return words.empty() ? "" : " (" + words + ")"; }

  static std::string annotations(const json& diff) {
    std::string words;
    for (const json& word : member(diff, "Annotations")) words += (words.empty() ? "" : ", ") + word.get<std::string>();
    return in_parentheses(words);
  }

  void group(const json& diff) {
    std::string updates;
    const json& counts = member(diff, "Updates");
    for (const char* name :
         {"create", "destroy", "create/destroy update", "in-place update", "migrate", "canary", "ignore"}) {
      const int64_t count = number(counts, name);
      if (count > 0) updates += (updates.empty() ? "" : ", ") + std::to_string(count) + " " + name;
    }
    line(diff, 0, "Task Group: \"" + text(diff, "Name") + "\"" + in_parentheses(updates));
    if (shows_parts(diff)) parts(diff, 2);
    for (const json& task : member(diff, "Tasks")) {
      line(task, 2, "Task: \"" + text(task, "Name") + "\"" + annotations(task));
      if (shows_parts(task)) parts(task, 4);
    }
  }

  void parts(const json& diff, size_t indent) {
    for (const json& field : member(diff, "Fields")) {
      const std::string type = text(field, "Type"), before = quoted(text(field, "Old")),
                        after = quoted(text(field, "New"));
      const std::string value = type == "Added" ? after : type == "Deleted" ? before : before + " => " + after;
      line(field, indent, text(field, "Name") + ": " + value + annotations(field));
    }
    for (const json& object : member(diff, "Objects")) {
      line(object, indent, text(object, "Name") + " {");
      parts(object, indent + 2);
      out_ += std::string(indent + 4, ' ') + "}\n";
    }
  }

  static std::string quoted(const std::string& words) { return "\"" + words + "\""; }

  const bool is_verbose_;
  std::string out_;
};

}  // namespace

std::string diff_text(const json& diff, bool is_verbose) {
  DiffPrinter printer(is_verbose);
  printer.job(diff);
  return printer.take();
}

std::string dry_run_text(const json& plan, const json& job, int64_t now) {
  if (member(plan, "Annotations").is_null()) return "- WARNING: Nothing was placed; the warnings say why.\n";
  std::string out;
  const json& failed = member(plan, "FailedTGAllocs");
  if (failed.empty()) {
    out += "- All tasks successfully allocated.\n";
  } else {
    out += text(job, "Type") == "system" ? "- WARNING: Failed to place allocations on all nodes.\n"
                                         : "- WARNING: Failed to place all allocations.\n";
    for (const auto& [group, metric] : failed.items()) {
      out += "  " + failure_headline(group, metric) + "\n" + format_metric(metric, "    ");
    }
  }
  for (const json& eval : member(plan, "CreatedEvals")) {
    if (text(eval, "TriggeredBy") != "rolling-update") continue;
    const int64_t left = std::max<int64_t>(parse_time(text(eval, "WaitUntil")).value_or(now) - now, 0);
    out += "- Rolling update, next evaluation will be in " +
           format_duration(std::chrono::seconds(left / 1'000'000'000)) + ".\n";
  }
  // The year one stands for "never".
  const int64_t next = parse_time(text(plan, "NextPeriodicLaunch")).value_or(0);
  if (next > 0) {
    out += "- If submitted now, next periodic launch would be at " + full_time(next) + " (" + relative_time(next, now) +
           ").\n";
  }
  return out;
}

bool changes_allocations(const json& plan) {
  for (const json& updates : member(member(plan, "Annotations"), "DesiredTGUpdates")) {
    for (const char* name : {"Place", "Stop", "Migrate", "DestructiveUpdate", "Canary"}) {
      if (number(updates, name) > 0) return true;
    }
  }
  return false;
}

}  // namespace drover::cli

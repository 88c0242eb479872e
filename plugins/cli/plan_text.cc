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

// A diff's lines. Behind the markers of a block stand as many spaces as its longest needs, behind its names likewise.
class DiffPrinter {
 public:
  explicit DiffPrinter(bool is_verbose) : is_verbose_(is_verbose) {}

  std::string job(const json& diff) const {
    std::string out = marker(diff) + "Job: " + quoted(text(diff, "ID")) + "\n";
    Widths widths = widths_of(diff);
    for (const json& each : member(diff, "TaskGroups")) widths.marker = std::max(widths.marker, marker(each).size());
    if (shows_parts(diff)) out += ended(parts(diff, 0, widths));
    for (const json& each : member(diff, "TaskGroups")) out += group(each, widths.marker - marker(each).size()) + "\n";
    return out;
  }

 private:
  struct Widths {
    size_t name = 0;
    size_t marker = 0;
  };

  static std::string marker(const json& diff) {
    const std::string type = text(diff, "Type");
    return type == "Added" ? "+ " : type == "Deleted" ? "- " : type == "Edited" ? "+/- " : "";
  }

  static Widths widths_of(const json& diff) {
    Widths widths;
    for (const json& field : member(diff, "Fields")) {
      widths.name = std::max(widths.name, text(field, "Name").size());
      widths.marker = std::max(widths.marker, marker(field).size());
    }
    for (const json& object : member(diff, "Objects")) widths.marker = std::max(widths.marker, marker(object).size());
    return widths;
  }

  bool shows_parts(const json& diff) const { return is_verbose_ || text(diff, "Type") == "Edited"; }

  static std::string ended(std::string lines) { return lines.empty() ? lines : lines + "\n"; }
  static std::string spaces(size_t count) { return std::string(count, ' '); }
  static std::string quoted(const std::string& words) {
    return json(words).dump(-1, ' ', false, json::error_handler_t::replace);
  }
  static std::string in_parentheses(const std::string& words) { return words.empty() ? "" : " (" + words + ")"; }

  static std::string annotations(const json& diff) {
    std::string words;
    for (const json& word : member(diff, "Annotations")) words += (words.empty() ? "" : ", ") + word.get<std::string>();
    return in_parentheses(words);
  }

  std::string group(const json& diff, size_t padding) const {
    std::string updates;
    for (const auto& [name, count] : member(diff, "Updates").items()) {
      updates += (updates.empty() ? "" : ", ") + std::to_string(count.get<int64_t>()) + " " + name;
    }
    std::string out =
        marker(diff) + spaces(padding) + "Task Group: " + quoted(text(diff, "Name")) + in_parentheses(updates) + "\n";
    Widths widths = widths_of(diff);
    for (const json& each : member(diff, "Tasks")) widths.marker = std::max(widths.marker, marker(each).size());
    const size_t indent = padding + 2;
    if (shows_parts(diff)) out += ended(parts(diff, indent, widths));
    for (const json& each : member(diff, "Tasks")) {
      out += task(each, indent, widths.marker - marker(each).size()) + "\n";
    }
    return out;
  }

  std::string task(const json& diff, size_t indent, size_t padding) const {
    std::string out =
        spaces(indent) + marker(diff) + spaces(padding) + "Task: " + quoted(text(diff, "Name")) + annotations(diff);
    if (text(diff, "Type") == "None" || !shows_parts(diff)) return out;
    return out + "\n" + parts(diff, indent + 2, widths_of(diff));
  }

  std::string parts(const json& diff, size_t indent, Widths widths) const {
    std::string out;
    const auto add = [&](const std::string& part) { out += (out.empty() ? "" : "\n") + part; };
    for (const json& each : member(diff, "Fields")) add(field(each, indent, widths));
    for (const json& each : member(diff, "Objects")) add(object(each, indent, widths.marker - marker(each).size()));
    return out;
  }

  static std::string field(const json& diff, size_t indent, Widths widths) {
    const std::string type = text(diff, "Type"), name = text(diff, "Name"), before = quoted(text(diff, "Old")),
                      after = quoted(text(diff, "New"));
    return spaces(indent) + marker(diff) + spaces(widths.marker - marker(diff).size()) + name + ": " +
           spaces(widths.name - name.size()) +
           (type == "Deleted"  ? before
            : type == "Edited" ? before + " => " + after
                               : after) +
           annotations(diff);
  }

  std::string object(const json& diff, size_t indent, size_t padding) const {
    return spaces(indent) + marker(diff) + spaces(padding) + text(diff, "Name") + " {\n" +
           parts(diff, indent + padding + 2, widths_of(diff)) + "\n" + spaces(indent + marker(diff).size() + padding) +
           "}";
  }

  const bool is_verbose_;
};

}  // namespace

std::string diff_text(const json& diff, bool is_verbose) {
  std::string out = DiffPrinter(is_verbose).job(diff);
  while (out.ends_with('\n')) out.pop_back();
  return out + "\n";
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

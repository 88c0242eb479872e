#include "plan_text.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <vector>

#include "drover/api/allocations.pb.h"
#include "drover/api/plan.pb.h"
#include "drover/duration.h"
#include "output.h"
#include "placement.h"

namespace drover::cli {
namespace {

constexpr int kMostPreemptions = 10;  // that are named one by one

// A diff's lines. Behind the markers of a block stand as many spaces as its longest needs, behind its names likewise.
class DiffPrinter {
 public:
  explicit DiffPrinter(bool is_verbose) : is_verbose_(is_verbose) {}

  std::string job(const v1::JobDiff& diff) const {
    std::string out = marker(diff) + "Job: " + quoted(diff.id()) + "\n";
    Widths widths = widths_of(diff);
    for (const v1::TaskGroupDiff& each : diff.task_groups())
      widths.marker = std::max(widths.marker, marker(each).size());
    if (shows_parts(diff)) out += ended(parts(diff, 0, widths));
    for (const v1::TaskGroupDiff& each : diff.task_groups())
      out += group(each, widths.marker - marker(each).size()) + "\n";
    return out;
  }

 private:
  struct Widths {
    size_t name = 0;
    size_t marker = 0;
  };

  // `Diff`: of a job, a group, a task, an object or a field.
  template <typename Diff>
  static std::string marker(const Diff& diff) {
    switch (diff.type()) {
      case v1::DIFF_TYPE_ADDED:
        return "+ ";
      case v1::DIFF_TYPE_DELETED:
        return "- ";
      case v1::DIFF_TYPE_EDITED:
        return "+/- ";
      default:
        return "";
    }
  }

  template <typename Diff>
  static Widths widths_of(const Diff& diff) {
    Widths widths;
    for (const v1::FieldDiff& field : diff.fields()) {
      widths.name = std::max(widths.name, field.name().size());
      widths.marker = std::max(widths.marker, marker(field).size());
    }
    for (const v1::ObjectDiff& object : diff.objects()) widths.marker = std::max(widths.marker, marker(object).size());
    return widths;
  }

  template <typename Diff>
  bool shows_parts(const Diff& diff) const {
    return is_verbose_ || diff.type() == v1::DIFF_TYPE_EDITED;
  }

  static std::string ended(std::string lines) { return lines.empty() ? lines : lines + "\n"; }
  static std::string spaces(size_t count) { return std::string(count, ' '); }
  static std::string quoted(const std::string& words) {
    return nlohmann::json(words).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  static std::string in_parentheses(const std::string& words) { return words.empty() ? "" : " (" + words + ")"; }

  template <typename Diff>
  static std::string annotations(const Diff& diff) {
    std::string words;
    for (const std::string& word : diff.annotations()) words += (words.empty() ? "" : ", ") + word;
    return in_parentheses(words);
  }

  std::string group(const v1::TaskGroupDiff& diff, size_t padding) const {
    std::string updates;
    for (const auto& [name, count] : sorted(diff.updates()))
      updates += (updates.empty() ? "" : ", ") + std::to_string(count) + " " + name;
    std::string out =
        marker(diff) + spaces(padding) + "Task Group: " + quoted(diff.name()) + in_parentheses(updates) + "\n";
    Widths widths = widths_of(diff);
    for (const v1::TaskDiff& each : diff.tasks()) widths.marker = std::max(widths.marker, marker(each).size());
    const size_t indent = padding + 2;
    if (shows_parts(diff)) out += ended(parts(diff, indent, widths));
    for (const v1::TaskDiff& each : diff.tasks()) out += task(each, indent, widths.marker - marker(each).size()) + "\n";
    return out;
  }

  std::string task(const v1::TaskDiff& diff, size_t indent, size_t padding) const {
    std::string out =
        spaces(indent) + marker(diff) + spaces(padding) + "Task: " + quoted(diff.name()) + annotations(diff);
    if (diff.type() == v1::DIFF_TYPE_NONE || !shows_parts(diff)) return out;
    return out + "\n" + parts(diff, indent + 2, widths_of(diff));
  }

  template <typename Diff>
  std::string parts(const Diff& diff, size_t indent, Widths widths) const {
    std::string out;
    const auto add = [&](const std::string& part) { out += (out.empty() ? "" : "\n") + part; };
    for (const v1::FieldDiff& each : diff.fields()) add(field(each, indent, widths));
    for (const v1::ObjectDiff& each : diff.objects()) add(object(each, indent, widths.marker - marker(each).size()));
    return out;
  }

  static std::string field(const v1::FieldDiff& diff, size_t indent, Widths widths) {
    const std::string before = quoted(diff.old()), after = quoted(diff.new_());
    return spaces(indent) + marker(diff) + spaces(widths.marker - marker(diff).size()) + diff.name() + ": " +
           spaces(widths.name - diff.name().size()) +
           (diff.type() == v1::DIFF_TYPE_DELETED  ? before
            : diff.type() == v1::DIFF_TYPE_EDITED ? before + " => " + after
                                                  : after) +
           annotations(diff);
  }

  std::string object(const v1::ObjectDiff& diff, size_t indent, size_t padding) const {
    return spaces(indent) + marker(diff) + spaces(padding) + diff.name() + " {\n" +
           parts(diff, indent + padding + 2, widths_of(diff)) + "\n" + spaces(indent + marker(diff).size() + padding) +
           "}";
  }

  const bool is_verbose_;
};

}  // namespace

std::string diff_text(const v1::JobDiff& diff, bool is_verbose) {
  std::string out = DiffPrinter(is_verbose).job(diff);
  while (out.ends_with('\n')) out.pop_back();
  return out + "\n";
}

std::string dry_run_text(const v1::PlanJobResponse& plan, const std::string& type, int64_t now) {
  if (!plan.has_annotations()) return "- WARNING: Nothing was placed; the warnings say why.\n";
  std::string out;
  if (plan.failed_tg_allocs().empty()) {
    out += "- All tasks successfully allocated.\n";
  } else {
    out += type == "system" ? "- WARNING: Failed to place allocations on all nodes.\n"
                            : "- WARNING: Failed to place all allocations.\n";
  }
  for (const auto& [group, metric] : sorted(plan.failed_tg_allocs()))
    out += "  " + failure_headline(group, metric) + "\n" + format_metric(metric, "    ");
  for (const v1::Evaluation& eval : plan.created_evals()) {
    if (eval.triggered_by() != "rolling-update") continue;
    const int64_t left = eval.wait_until() == 0 ? 0 : std::max<int64_t>(eval.wait_until() - now, 0);
    out += "- Rolling update, next evaluation will be in " +
           format_duration(std::chrono::seconds(left / 1'000'000'000)) + ".\n";
  }
  // The year one stands for "never".
  if (const int64_t next = plan.next_periodic_launch(); next > 0) {
    out += "- If submitted now, next periodic launch would be at " + full_time(next) + " (" + relative_time(next, now) +
           ").\n";
  }
  return out;
}

std::string preemptions_text(const v1::PlanJobResponse& plan) {
  const auto& preempted = plan.annotations().preempted_allocs();
  std::vector<std::vector<std::string>> rows;
  if (preempted.size() > kMostPreemptions) {
    std::map<std::tuple<std::string, std::string, std::string>, int> jobs;
    for (const v1::AllocationListStub& each : preempted) ++jobs[{each.job_id(), each.namespace_(), each.job_type()}];
    rows.push_back({"Job ID", "Namespace", "Job Type", "Preemptions"});
    for (const auto& [job, count] : jobs) {
      rows.push_back({std::get<0>(job), std::get<1>(job), std::get<2>(job), std::to_string(count)});
    }
  } else if (!preempted.empty()) {
    rows.push_back({"Alloc ID", "Job ID", "Task Group"});
    for (const v1::AllocationListStub& each : preempted)
      rows.push_back({id_text(each.id()), each.job_id(), each.task_group()});
  }
  std::string out = rows.empty() ? "" : format_list(rows);
  if (const uint64_t unnamed = plan.annotations().unnamed_preemptions(); unnamed > 0) {
    out += std::to_string(unnamed) + (rows.empty() ? "" : " more") + (unnamed == 1 ? " allocation" : " allocations") +
           " of jobs that you may not read\n";
  }
  return out;
}

bool changes_allocations(const v1::PlanJobResponse& plan) {
  return std::ranges::any_of(plan.annotations().desired_tg_updates(), [](const auto& group) {
    const v1::DesiredUpdates& updates = group.second;
    return updates.place() + updates.stop() + updates.migrate() + updates.destructive_update() + updates.canary() > 0;
  });
}

}  // namespace drover::cli

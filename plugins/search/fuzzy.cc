#include "fuzzy.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "drover/v1/job.pb.h"
#include "drover/v1/service.pb.h"
#include "drover/v1/task.pb.h"

namespace drover::search {
namespace {

// Values of a task's configuration by which its task is known, whichever driver runs it.
constexpr std::array<std::pair<const char*, std::string_view>, 3> kConfigParts = {
    {{"image", "images"}, {"command", "commands"}, {"class", "classes"}}};
constexpr std::array<std::string_view, 3> kOtherParts = {"groups", "services", "tasks"};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

class JobSearch {
 public:
  JobSearch(std::string_view text, Matches& matches) : text_(text), matches_(matches) {}

  void look_at(const v1::Job& job) {
    scope_ = {job.namespace_(), job.id()};
    note("jobs", job.name().empty() ? job.id() : job.name());
    for (const v1::TaskGroup& group : job.task_groups()) look_at(group);
  }

 private:
  void look_at(const v1::TaskGroup& group) {
    note("groups", group.name());
    scope_.push_back(group.name());
    for (const v1::Service& service : group.services()) note("services", service.name());
    for (const v1::Task& task : group.tasks()) look_at(task);
    scope_.pop_back();
  }

  void look_at(const v1::Task& task) {
    note("tasks", task.name());
    scope_.push_back(task.name());
    for (const v1::Service& service : task.services()) note("services", service.name());
    const auto config = nlohmann::json::parse(task.config(), nullptr, false);
    for (const auto& [key, context] : kConfigParts) {
      if (!config.is_object()) break;
      const auto value = config.find(key);
      if (value != config.end() && value->is_string()) note(context, value->get<std::string>());
    }
    scope_.pop_back();
  }

  void note(std::string_view context, const std::string& name) {
    if (const auto place = place_in(name, text_)) matches_[std::string(context)].push_back({name, scope_, *place});
  }

  const std::string_view text_;
  Matches& matches_;
  std::vector<std::string> scope_;
};

}  // namespace

std::optional<size_t> place_in(std::string_view name, std::string_view text) {
  const auto at = std::ranges::search(name, text, {}, lower);
  // The end of an empty text lies at its beginning.
  if (at.empty() && !text.empty()) return std::nullopt;
  return static_cast<size_t>(at.begin() - name.begin());
}

bool is_part_of_jobs(std::string_view context) {
  return std::ranges::find(kOtherParts, context) != kOtherParts.end() ||
         std::ranges::any_of(kConfigParts, [&](const auto& part) { return part.second == context; });
}

void add_matches(const v1::Job& job, std::string_view text, Matches& matches) {
  JobSearch(text, matches).look_at(job);
}

void arrange(std::vector<Match>& matches) {
  const auto order = [](const Match& match) {
    return std::tuple<size_t, size_t, const std::string&, const std::vector<std::string>&>(
        match.place, match.name.size(), match.name, match.scope);
  };
  std::ranges::sort(matches, [&](const Match& a, const Match& b) { return order(a) < order(b); });
}

}  // namespace drover::search

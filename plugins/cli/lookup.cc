#include "lookup.h"

#include <nlohmann/json.hpp>

#include "output.h"

namespace drover::cli {
namespace {

using nlohmann::json;

// The identifiers are hexadecimal; the API takes an even number of digits.
Result<json> find_by_prefix(Run& run, const std::string& typed, const std::string& list, const std::string& one,
                            const std::string& what) {
  std::string prefix;
  for (char c : typed) {
    if (c != '-') prefix += c;
  }
  if (typed.size() < 2)
    return invalid_argument("identifier \"" + typed + "\" is too short; type at least two characters");
  if (prefix.size() % 2 != 0) prefix.pop_back();
  DROVER_TRY(json matches, run.client.get(list, {{"prefix", prefix}}));
  std::vector<json> fitting;
  for (const json& match : matches) {
    std::string id = text(match, "ID");
    std::string bare;
    for (char c : id) {
      if (c != '-') bare += c;
    }
    std::string wanted;
    for (char c : typed) {
      if (c != '-') wanted += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    if (bare.starts_with(wanted)) fitting.push_back(match);
  }
  if (fitting.empty()) return not_found("No " + what + " with prefix or id \"" + typed + "\" found");
  if (fitting.size() > 1) {
    std::string ids;
    for (const json& match : fitting) ids += "\n" + text(match, "ID");
    return invalid_argument("Prefix matched multiple " + what + "\n" + ids);
  }
  return run.client.get(one + text(fitting.front(), "ID"));
}

}  // namespace

Result<json> find_job(Run& run, const std::string& id) {
  DROVER_TRY(json matches, run.client.get("/v1/jobs", {{"prefix", id}}));
  const json* found = nullptr;
  for (const json& match : matches) {
    if (text(match, "ID") == id) found = &match;
  }
  if (!found && matches.size() == 1) found = &matches.front();
  if (!found && matches.empty()) return not_found("No job(s) with prefix or ID \"" + id + "\" found");
  if (!found) {
    std::string ids;
    for (const json& match : matches) ids += "\n" + text(match, "ID");
    return invalid_argument("Prefix matched multiple jobs\n" + ids);
  }
  return run.client.get("/v1/job/" + escape(text(*found, "ID")));
}

Result<json> find_alloc(Run& run, const std::string& id) {
  return find_by_prefix(run, id, "/v1/allocations", "/v1/allocation/", "allocation(s)");
}
Result<json> find_node(Run& run, const std::string& id) {
  return find_by_prefix(run, id, "/v1/nodes", "/v1/node/", "node(s)");
}
Result<json> find_eval(Run& run, const std::string& id) {
  return find_by_prefix(run, id, "/v1/evaluations", "/v1/evaluation/", "evaluation(s)");
}

Result<std::string> pick_task(const json& alloc, const std::string& wanted) {
  std::vector<std::string> tasks;
  for (const json& group : member(member(alloc, "Job"), "TaskGroups")) {
    if (text(group, "Name") != text(alloc, "TaskGroup")) continue;
    for (const json& task : member(group, "Tasks")) tasks.push_back(text(task, "Name"));
  }
  std::string names;
  for (const std::string& task : tasks) {
    if (task == wanted) return task;
    names += "\n  * " + task;
  }
  if (wanted.empty() && tasks.size() == 1) return tasks.front();
  if (wanted.empty())
    return invalid_argument("Allocation " + short_id(text(alloc, "ID")) + " is running the following tasks:" + names +
                            "\n\nPlease specify the task.");
  return invalid_argument("Could not find task named: " + wanted + ", found:" + names);
}

}  // namespace drover::cli

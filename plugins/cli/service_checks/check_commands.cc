#include "service_checks/check_commands.h"

#include <algorithm>
#include <tuple>

#include "drover/api/allocations.pb.h"
#include "drover/api/client_checks.pb.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"

namespace drover::cli {
namespace {

std::vector<const v1::CheckQueryResult*> in_order(const v1::AllocationChecksResponse& checks) {
  std::vector<const v1::CheckQueryResult*> rows;
  for (const auto& [id, check] : checks.checks()) rows.push_back(&check);
  std::ranges::sort(rows, {}, [](const v1::CheckQueryResult* row) {
    return std::tie(row->service(), row->task(), row->check(), row->id());
  });
  return rows;
}

std::string task_of(const v1::CheckQueryResult& check) { return check.task().empty() ? "(group)" : check.task(); }

Result<Answer<v1::AllocationChecksResponse>> checks_of(Run& run, const std::string& alloc_id) {
  v1::AllocationChecksRequest request;
  request.set_alloc_id(alloc_id);
  return run.client.call<v1::ClientChecks::List>(request);
}

int alloc_checks(Run& run) {
  auto alloc = find_alloc(run, run.arguments.positional()[0]);
  if (!alloc) return run.fail("Error querying allocation", alloc.status());
  auto answer = checks_of(run, alloc->message.allocation().allocation().id());
  if (!answer) return run.fail("Error querying allocation checks", answer.status());
  if (auto code = print_object(run, *answer)) return *code;
  run.out << checks_text(answer->message);
  return 0;
}

}  // namespace

std::string checks_text(const v1::AllocationChecksResponse& checks) {
  const auto rows = in_order(checks);
  if (rows.empty()) return "No checks found for allocation\n";
  std::string text = "Status of " + std::to_string(rows.size()) + " Nomad Service Checks\n";
  for (const v1::CheckQueryResult* row : rows) {
    std::vector<std::pair<std::string, std::string>> pairs = {{"ID", row->id()},
                                                              {"Name", row->check()},
                                                              {"Group", row->group()},
                                                              {"Task", task_of(*row)},
                                                              {"Service", row->service()},
                                                              {"Status", row->status()}};
    if (row->status_code() > 0) pairs.emplace_back("StatusCode", std::to_string(row->status_code()));
    pairs.emplace_back("Mode", row->mode());
    pairs.emplace_back("Timestamp", row->timestamp() == 0 ? "N/A" : full_time(row->timestamp() * 1'000'000'000));
    pairs.emplace_back("Output", row->output());
    text += "\n" + format_pairs(pairs);
  }
  return text;
}

std::string checks_table(const v1::AllocationChecksResponse& checks) {
  std::vector<std::vector<std::string>> rows = {{"Service", "Task", "Name", "Mode", "Status"}};
  for (const v1::CheckQueryResult* row : in_order(checks))
    rows.push_back({row->service(), task_of(*row), row->check(), row->mode(), row->status()});
  return rows.size() == 1 ? "" : format_list(rows);
}

std::string checks_section(Run& run, const std::string& alloc_id) {
  const auto answer = checks_of(run, alloc_id);
  const std::string table = answer ? checks_table(answer->message) : "";
  return table.empty() ? "" : "\nNomad Service Checks:\n" + table;
}

std::vector<Definition> check_commands() {
  return {{"alloc checks",
           "Shows the last results of the checks of an allocation's services.",
           "<allocation>",
           "",
           with_object_flags({on_off("verbose", "Show full identifiers")}),
           1,
           1,
           alloc_checks}};
}

}  // namespace drover::cli

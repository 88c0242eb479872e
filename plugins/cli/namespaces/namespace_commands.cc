// namespace apply, delete, inspect, list, status.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "drover/api/namespaces.pb.h"
#include "drover/v1/namespace.pb.h"
#include "input.h"
#include "namespaces/namespace_file.h"
#include "object_output.h"
#include "output.h"

namespace drover::cli {
namespace {

using Rows = google::protobuf::RepeatedPtrField<v1::Namespace>;

std::string table_of(const Rows& namespaces) {
  if (namespaces.empty()) return "No namespaces found\n";
  std::vector<std::vector<std::string>> rows = {{"Name", "Description"}};
  for (const v1::Namespace& each : namespaces) rows.push_back({each.name(), each.description()});
  return format_list(rows);
}

int namespace_list(Run& run) {
  const auto found = run.client.call<v1::Namespaces::List>({});
  if (!found) return run.fail("Error retrieving namespaces", found.status());
  if (auto code = print_object(run, *found)) return *code;
  run.out << table_of(found->message.namespaces());
  return 0;
}

struct Found {
  v1::Namespace row;
  nlohmann::json json;
};

// The namespace with this name, or the only one whose name begins so; nothing when that was said to be an error.
std::optional<Found> find_namespace(Run& run, const std::string& typed) {
  const auto answer = run.client.call<v1::Namespaces::List>({}, {{"prefix", typed}});
  if (!answer) return run.fail("Error retrieving namespaces", answer.status()), std::nullopt;
  const Rows& matches = answer->message.namespaces();
  if (matches.empty()) {
    const Status none = not_found("Namespace \"" + typed + "\" matched no namespaces");
    return run.fail("Error retrieving namespaces", none), std::nullopt;
  }
  auto at = std::ranges::find(matches, typed, [](const v1::Namespace& each) { return each.name(); });
  if (at == matches.end() && matches.size() == 1) at = matches.begin();
  if (at == matches.end()) {
    run.err << "Prefix matched multiple namespaces\n\n" << table_of(matches);
    return std::nullopt;
  }
  return Found{*at, answer->json()[static_cast<size_t>(at - matches.begin())]};
}

int namespace_inspect(Run& run) {
  const auto found = find_namespace(run, run.arguments.positional()[0]);
  if (!found) return 1;
  if (auto code = print_by_template(run, found->json)) return *code;
  run.out << found->json.dump(4) << "\n";
  return 0;
}

std::string enabled(const google::protobuf::RepeatedPtrField<std::string>& names) {
  return names.empty() ? "*" : joined(names, ",");
}

int namespace_status(Run& run) {
  const auto found = find_namespace(run, run.arguments.positional()[0]);
  if (!found) return 1;
  if (auto code = print_object(run, found->json)) return *code;
  const v1::Namespace& row = found->row;
  const v1::NamespaceCapabilities& may = row.capabilities();
  run.out << format_pairs({{"Name", row.name()},
                           {"Description", row.description()},
                           {"Quota", row.quota()},
                           {"EnabledDrivers", enabled(may.enabled_task_drivers())},
                           {"DisabledDrivers", joined(may.disabled_task_drivers(), ",")},
                           {"EnabledNetworkModes", enabled(may.enabled_network_modes())},
                           {"DisabledNetworkModes", joined(may.disabled_network_modes(), ",")}});
  if (row.meta().empty()) return 0;
  const auto meta = sorted(row.meta());
  run.out << "\nMetadata\n" << format_pairs({meta.begin(), meta.end()});
  return 0;
}

// The namespace as it is, or a new one, with what the flags say of it.
Result<v1::NamespaceSpec> by_flags(Run& run, const std::string& name) {
  v1::NamespaceRequest request;
  request.set_name(name);
  const auto found = run.client.call<v1::Namespaces::Get>(request);
  if (!found && found.status().code() != Code::not_found) return found.status();
  v1::NamespaceSpec spec;
  spec.set_name(name);
  if (found) {
    const v1::Namespace& row = found->message.namespace_();
    spec.set_description(row.description());
    if (row.has_capabilities()) *spec.mutable_capabilities() = row.capabilities();
    *spec.mutable_meta() = row.meta();
  }
  if (run.arguments.is_set("description")) spec.set_description(run.arguments.value("description"));
  if (run.arguments.is_set("quota")) spec.set_quota(run.arguments.value("quota"));
  return spec;
}

Result<v1::NamespaceSpec> by_file(Run& run, const std::string& path) {
  if (run.arguments.is_set("description") || run.arguments.is_set("quota"))
    run.err << "Flags are ignored when a file is specified!\n";
  DROVER_TRY(const std::string text, read_text(run, path));
  return run.arguments.on("json") ? read_namespace_json(text)
                                  : read_namespace_file(path == "-" ? "<stdin>" : path, text);
}

int namespace_apply(Run& run) {
  const std::string& input = run.arguments.positional()[0];
  if (input.empty()) return run.usage("Namespace name required");
  std::error_code unreadable;  // then it is a name
  const bool is_file =
      input == "-" || (std::filesystem::exists(input, unreadable) && !std::filesystem::is_directory(input, unreadable));
  const auto spec = is_file ? by_file(run, input) : by_flags(run, input);
  if (!spec) return run.fail(is_file ? "Failed to parse input content" : "Error looking up namespace", spec.status());
  v1::ApplyNamespaceRequest request;
  *request.mutable_namespace_() = *spec;
  const auto applied = run.client.call<v1::Namespaces::Apply>(request);
  if (!applied) return run.fail("Error applying namespace", applied.status());
  run.out << "Successfully applied namespace \"" << spec->name() << "\"!\n";
  return 0;
}

int namespace_delete(Run& run) {
  v1::NamespaceRequest request;
  request.set_name(run.arguments.positional()[0]);
  const auto deleted = run.client.call<v1::Namespaces::Delete>(request);
  if (!deleted) return run.fail("Error deleting namespace", deleted.status());
  run.out << "Successfully deleted namespace \"" << request.name() << "\"!\n";
  return 0;
}

}  // namespace

std::vector<Definition> namespace_commands() {
  return {{"namespace apply",
           "Creates a namespace or changes one.",
           "<namespace>|<file>",
           "  The argument names a file in HCL, or a namespace where there is no such file; - reads standard input.\n"
           "  By its name only what the flags say changes; a file says all.\n",
           {with_value("description", "", "What the namespace is for"),
            with_value("quota", "", "The name of a quota; there are none, so that every name is refused"),
            on_off("json", "The file is JSON in the API's form")},
           1,
           1,
           namespace_apply},
          {"namespace delete",
           "Deletes a namespace that nothing is in.",
           "<namespace>",
           "  It has no job that may still run, no allocation that does, and no variable.\n",
           {},
           1,
           1,
           namespace_delete},
          {"namespace inspect",
           "Shows a namespace as the servers hold it.",
           "<namespace>",
           "",
           {template_flag()},
           1,
           1,
           namespace_inspect},
          {"namespace list", "Lists namespaces.", "", "", with_object_flags({}), 0, 0, namespace_list},
          {"namespace status", "Shows a namespace.", "<namespace>", "", with_object_flags({}), 1, 1, namespace_status}};
}

}  // namespace drover::cli

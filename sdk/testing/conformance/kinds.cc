// The parts of the kit for each kind of plugin: a row.
#include <algorithm>
#include <iterator>

#include "drover/serve.h"
#include "trial.h"

namespace drover::conformance {
namespace {

// "a*c" matches where the text has an "a" and later a "c".
bool matches(std::string_view text, std::string_view pattern) {
  for (size_t star = 0; star != std::string_view::npos;) {
    star = pattern.find('*');
    const std::string_view part = pattern.substr(0, star);
    const size_t at = text.find(part);
    if (at == std::string_view::npos) return false;
    text.remove_prefix(at + part.size());
    if (star != std::string_view::npos) pattern.remove_prefix(star + 1);
  }
  return true;
}

// Groups in the order of their first checks, each in one piece.
std::vector<Check> in_groups(const std::vector<Check>& all) {
  std::vector<std::string_view> groups;
  for (const Check& check : all) {
    if (std::ranges::find(groups, check.group()) == groups.end()) groups.push_back(check.group());
  }
  std::vector<Check> out;
  for (const std::string_view group : groups)
    std::ranges::copy_if(all, std::back_inserter(out), [&](const Check& check) { return check.group() == group; });
  return out;
}

std::vector<Check> joined(std::initializer_list<std::span<const Check>> parts) {
  std::vector<Check> all;
  for (const auto part : parts) all.insert(all.end(), part.begin(), part.end());
  return in_groups(all);
}

std::vector<Check> driver_checks() {
  return joined({handshake_checks(), information_checks(), start_checks(), end_checks(), look_checks(), reach_checks(),
                 recover_checks(), crash_checks(), output_checks(), load_checks()});
}

// The checks for every plugin that need no task, and then those of its own kind.
template <std::span<const Check> (*own)()>
std::vector<Check> with_common() {
  std::vector<Check> all;
  const auto is_common = [](const Check& check) {
    const std::string_view group = check.group();
    return (check.needs & Check::endless) == 0 &&
           (group == "handshake" || group == "information" || group == "configuration") &&
           check.name != "information.type" && check.name != "configuration.init" &&
           !check.name.starts_with("configuration.task-schema");
  };
  for (const auto part : {handshake_checks(), information_checks()})
    std::ranges::copy_if(part, std::back_inserter(all), is_common);
  return joined({all, own()});
}

struct KindRow {
  PluginKind kind;
  std::vector<Check> (*checks)();
  Status (*check_setup)(Trial& trial, const Setup& setup) = nullptr;  // null: the plugin has no schema for any of it
};

constexpr KindRow kRows[] = {{TaskDriver::kKind, driver_checks, check_tasks},
                             {DevicePlugin::kKind, with_common<device_checks>},
                             {CheckProvider::kKind, with_common<check_provider_checks>, check_checks},
                             {ServiceProvider::kKind, with_common<service_provider_checks>},
                             {AuthMethod::kKind, with_common<auth_method_checks>}};

const KindRow& row_of(const PluginKind& kind) {
  const auto row = std::ranges::find(kRows, kind, &KindRow::kind);
  DROVER_CHECK(row != std::end(kRows));
  return *row;
}

}  // namespace

std::span<const Check> checks(const PluginKind& kind) {
  static const auto all = [] {
    std::map<std::string_view, std::vector<Check>> of_kinds;
    for (const KindRow& row : kRows) of_kinds[row.kind.point] = row.checks();
    return of_kinds;
  }();
  return all.at(row_of(kind).kind.point);
}

std::vector<const Check*> select(const PluginKind& kind, std::string_view pattern) {
  std::vector<const Check*> out;
  for (const Check& check : checks(kind)) {
    if (check.name == pattern) return {&check};
    if (matches(check.name, pattern) || matches(check.sentence, pattern)) out.push_back(&check);
  }
  return out;
}

Status check_setup(const PluginKind& kind, const SubjectFactory& factory, const Setup& setup) {
  DROVER_TRY(auto subject, factory());
  const TemporaryFolder folder;
  Trial trial(*subject, setup, folder.path());
  DROVER_RETURN_IF_ERROR(check_own_config(trial));
  const auto check_rest = row_of(kind).check_setup;
  return check_rest ? check_rest(trial, setup) : ok_status();
}

Result<const PluginKind*> kind_of(const SubjectFactory& factory) {
  DROVER_TRY(auto subject, factory());
  const Setup setup;
  DROVER_TRY(const std::string bytes, subject->channel().call(base_method("PluginInfo"), "",
                                                              std::chrono::steady_clock::now() + setup.limit, {}));
  DROVER_TRY(const auto info, parse_message<base::PluginInfoResponse>(bytes));
  const PluginKind* const kind = kind_of_type(info.type());
  if (kind) return kind;
  return failed_precondition("the plugin says that it is not " + std::string(plugin_kinds_text()) + ", but of type " +
                             std::to_string(info.type()));
}

}  // namespace drover::conformance

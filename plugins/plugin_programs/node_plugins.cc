#include "node_plugins.h"

#include "process_use.h"

namespace drover::plugin_programs {
namespace {

std::string times(uint64_t count) { return count == 1 ? "once" : std::to_string(count) + " times"; }

v1::PluginUse use_of(const ProgramHost& program, pid_t pid) {
  v1::PluginUse out = plugin_programs::use_of(pid);
  const PluginLimits& limits = program.options().settings.limits;
  if (!limits.has_group()) return out;
  const PluginCgroup::Use group = program.group_use();
  out.set_cgroup(group.folder);
  if (group.memory != 0) out.set_memory(group.memory);
  if (group.cpu_ns) out.set_cpu(static_cast<int64_t>(*group.cpu_ns));
  out.set_processes(group.processes);
  out.set_oom_kills(group.oom_kills);
  out.set_memory_limit(limits.memory);
  out.set_processes_limit(limits.processes);
  out.set_cpu_limit(limits.cpu);
  return out;
}

void set_upgrade(const UpgradeReport& report, v1::PluginUpgrade& out) {
  out.set_state(std::string(to_string(report.state)));
  out.set_is_over(report.state >= Upgrade::State::upgraded);
  out.set_reason(report.reason);
  out.set_file(report.file);
  out.set_from_version(report.from_version);
  out.set_to_version(report.to_version);
  out.set_tasks(static_cast<int32_t>(report.tasks));
  out.set_pause(report.pause.count());
  out.set_at(report.at);
}

void set_crashes(const PluginLife::View& view, v1::NodePlugin& out) {
  for (const CrashRecord& record : view.crashes) {
    v1::PluginCrash& crash = *out.add_crashes();
    crash.set_at(record.at);
    crash.set_reason(record.reason);
    crash.set_uptime(record.uptime.count());
    crash.set_digest(record.digest);
    for (const std::string& line : record.last_lines) crash.add_last_lines(line);
    for (const std::string& call : record.calls) crash.add_calls(call);
  }
}

// Lists its faults in plain words.
std::vector<std::string> remarks_on(const PluginLife::View& view, const v1::NodePlugin& plugin, uint64_t garbled) {
  std::vector<std::string> out;
  const auto remark = [&](uint64_t count, const std::string& text) {
    if (count != 0) out.push_back(text);
  };
  remark(view.missed_checks,
         "it did not answer a health check, " + times(view.missed_checks) + " since the agent started");
  remark(view.dropped_lines, "it wrote more than 1,000 lines a second; " + std::to_string(view.dropped_lines) +
                                 " lines are not in the log");
  remark(garbled, "it gave an answer that is no message of the protocol, " + times(garbled));
  remark(view.forced_ends, "it did not end when it was told to and was killed, " + times(view.forced_ends));
  const v1::PluginUse& use = plugin.use();
  const bool is_short = use.descriptors() * 10 >= use.descriptors_limit() * 9;
  remark(use.descriptors_limit() != 0 && (is_short || view.is_short_of_descriptors),
         "it has " + std::to_string(use.descriptors()) + " of " + std::to_string(use.descriptors_limit()) +
             " descriptors open; it may be losing them");
  remark(use.oom_kills(),
         "it or what it started was killed for the memory of its control group, " + times(use.oom_kills()));
  uint64_t refused = 0;
  for (const auto& [method, count] : plugin.refused()) refused += count;
  remark(refused, "it asked for what it was not granted, " + times(refused));
  return out;
}

// Advice on its state for the operator, or empty.
std::string advice_on(const ProgramHost& program, Supervision::State state) {
  if (state == Supervision::State::parked) {
    // Only an agent that starts reads these.
    if (program.options().resident) return "repair what the problem names and restart the agent";
    if (program.is_config_refused()) return "repair its `config` in the agent's configuration and restart the agent";
    return "repair what the problem names, then: drover plugin restart " + program.file_name();
  }
  if (state == Supervision::State::backoff)
    return "it is started again by itself; at once with: drover plugin restart " + program.file_name();
  return {};
}

}  // namespace

v1::PluginUse use_of(pid_t pid) {
  v1::PluginUse out;
  const ProcessUse process = process_use(pid);
  out.set_memory(process.memory);
  out.set_cpu(process.cpu_ns);
  out.set_processes(1);
  out.set_descriptors(open_descriptors(pid));
  out.set_descriptors_limit(descriptor_limit(pid));
  return out;
}

v1::NodePlugin describe(const HostedPlugin& plugin) {
  const ProgramHost& program = plugin.program();
  const PluginLife::View view = program.view();
  const auto info = program.info();
  const bool is_resident = program.options().resident != nullptr;
  v1::NodePlugin out;
  out.set_name(program.file_name());
  out.set_called(info.name());
  if (const PluginKind* kind = plugin.kind()) out.set_type(std::string(kind->word));
  out.set_form(is_resident ? "resident" : "program");
  if (!is_resident) out.set_path(program.options().file);
  out.set_digest(view.digest);
  out.set_pinned(!program.options().settings.digests.empty());
  out.set_version(info.plugin_version());
  for (const std::string& version : info.plugin_api_versions())
    out.set_protocol(out.protocol() + (out.protocol().empty() ? "" : ", ") + version);
  out.set_state(std::string(to_string(view.state)));
  out.set_since(view.since);
  out.set_pid(view.pid);
  out.set_restarts(view.restarts);
  out.set_problem(view.problem);
  out.set_next_try(view.next_try);
  for (const std::string& task : plugin.tasks()) out.add_tasks(task);
  set_crashes(view, out);
  if (view.pid != 0) *out.mutable_use() = use_of(program, view.pid);
  if (is_resident) {
    const Grants::Counts counts = program.grants();
    for (const auto& [method, used] : counts.used) {
      v1::PluginGrant& grant = *out.add_grants();
      grant.set_method(method);
      grant.set_used(used);
    }
    for (const auto& [method, times] : counts.refused) (*out.mutable_refused())[method] = times;
  }
  out.set_dropped_lines(view.dropped_lines);
  out.set_missed_checks(view.missed_checks);
  for (const std::string& call : program.calls()) out.add_calls(call);
  out.set_user(program.options().settings.user);
  if (const UpgradeReport report = program.upgrade(); report.state != Upgrade::State::idle)
    set_upgrade(report, *out.mutable_upgrade());
  for (const std::string& remark : remarks_on(view, out, program.garbled_answers())) out.add_remarks(remark);
  out.set_advice(advice_on(program, view.state));
  return out;
}

}  // namespace drover::plugin_programs

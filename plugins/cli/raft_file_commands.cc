// operator raft info, logs, state: what a stopped server's files hold. No agent is asked; nothing is changed.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli_command.h"
#include "drover/base64.h"
#include "output.h"
#include "state_json.h"
#include "storage/segment_recovery.h"
#include "storage/snapshot_files.h"

namespace drover::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr uint64_t kAllEntries = std::numeric_limits<uint64_t>::max();  // stay in memory: a log is some 100 MiB at most

// A log that nobody writes while this lives.
struct StoppedLog {
  std::unique_ptr<raft::FileSystem> files = raft::make_file_system();
  std::string directory;
  std::unique_ptr<raft::FileLock> lock;
};

Result<StoppedLog> open_stopped(const std::string& data_dir) {
  StoppedLog log;
  for (const char* below : {"/server/raft", "/raft", ""}) {
    std::error_code ignored;
    if (log.directory.empty() && fs::exists(data_dir + below + "/LOCK", ignored)) log.directory = data_dir + below;
  }
  if (log.directory.empty()) {
    return not_found(data_dir +
                     ": no server's log is below it (server/raft/LOCK is missing); name the agent's data_dir");
  }
  Result<std::unique_ptr<raft::FileLock>> lock = log.files->lock(log.directory + "/LOCK");
  if (!lock) {
    if (lock.status().code() != Code::failed_precondition) return lock.status();
    return failed_precondition("an agent is using these files; stop it first: " + lock.status().message());
  }
  log.lock = *std::move(lock);
  return log;
}

Result<raft::Recovery> recover(StoppedLog& log) {
  return raft::recover_log(*log.files, log.directory, {}, {}, kAllEntries);
}

// --- the snapshots on the disk ---------------------------------------------------------------------------------------

struct Found {
  std::string directory;
  raft::Manifest manifest;
};

// The newest whose manifest is whole. Damaged ones are named in `problems`.
Result<std::optional<Found>> newest_snapshot(StoppedLog& log, std::vector<std::string>& problems) {
  std::optional<Found> newest;
  DROVER_TRY(const std::vector<std::string> names, log.files->list(log.directory));
  for (const std::string& name : names) {
    if (!raft::parse_snapshot_name(name)) continue;
    const std::string directory = log.directory + "/" + name;
    Result<raft::Manifest> manifest = raft::read_manifest(*log.files, directory);
    if (!manifest) {
      problems.push_back(manifest.status().message());
    } else if (!newest || manifest->info.index > newest->manifest.info.index) {
      newest = Found{.directory = directory, .manifest = *std::move(manifest)};
    }
  }
  return newest;
}

// --- info ------------------------------------------------------------------------------------------------------------

int info(Run& run) {
  auto log = open_stopped(run.arguments.positional()[0]);
  if (!log) return run.fail("Error opening the log", log.status());
  const auto recovered = recover(*log);
  if (!recovered) return run.fail("Error reading the log", recovered.status());
  std::vector<std::string> problems;
  const auto snapshot = newest_snapshot(*log, problems);
  if (!snapshot) return run.fail("Error reading the snapshots", snapshot.status());
  const raft::LogState& state = recovered->state;
  std::vector<std::pair<std::string, std::string>> pairs = {
      {"Path", log->directory},
      {"Server", recovered->node_id.to_string()},
      {"Cluster", recovered->cluster_id.to_string()},
      {"Term", std::to_string(state.hard_state.term)},
      {"Length", std::to_string(state.last_index + 1 - state.first_index)},
      {"First index", std::to_string(state.first_index)},
      {"Last index", std::to_string(state.last_index)},
      {"Last term", std::to_string(state.last_term)},
      {"Stopped in order", state.was_clean ? "true" : "false"}};
  if (*snapshot) pairs.emplace_back("Snapshot", std::to_string((*snapshot)->manifest.info.index));
  run.out << format_pairs(pairs);
  std::vector<std::vector<std::string>> rows = {{"Server", "Address", "Voter"}};
  for (const raft::Member& member : state.membership.members) {
    rows.push_back(
        {member.id.to_string(), member.address, member.suffrage == raft::Suffrage::voter ? "true" : "false"});
  }
  if (rows.size() > 1) run.out << "\n" << format_list(rows);
  for (const std::string& problem : problems) run.err << "Warning: " << problem << "\n";
  return 0;
}

// --- logs ------------------------------------------------------------------------------------------------------------

std::string_view type_of(raft::EntryType type) {
  switch (type) {
    case raft::EntryType::noop:
      return "noop";
    case raft::EntryType::command:
      return "command";
    case raft::EntryType::membership:
      return "membership";
  }
  return "unknown";
}

// A command stands in its entry as the length of its name in one byte, the name, and its message.
std::string entry_json(const raft::Entry& entry) {
  std::string line = "{\"Index\":" + std::to_string(entry.index) + ",\"Term\":" + std::to_string(entry.term) +
                     ",\"Type\":\"" + std::string(type_of(entry.type)) + '"';
  const std::string_view bytes = entry.bytes();
  if (entry.type == raft::EntryType::command && !bytes.empty()) {
    const size_t length = std::min<size_t>(static_cast<unsigned char>(bytes[0]), bytes.size() - 1);
    const std::string name(bytes.substr(1, length));
    line += ",\"Command\":" + json(name).dump(-1, ' ', false, json::error_handler_t::replace) +
            ",\"Body\":" + row_json(name, bytes.substr(1 + length));
  } else if (entry.type == raft::EntryType::membership) {
    json members = json::array();
    if (const auto membership = raft::decode_membership(bytes)) {
      for (const raft::Member& member : membership->members) {
        members.push_back({{"ID", member.id.to_string()},
                           {"Address", member.address},
                           {"Voter", member.suffrage == raft::Suffrage::voter}});
      }
    }
    line += ",\"Servers\":" + members.dump(-1, ' ', false, json::error_handler_t::replace);
  }
  return line + "}";
}

int logs(Run& run) {
  auto log = open_stopped(run.arguments.positional()[0]);
  if (!log) return run.fail("Error opening the log", log.status());
  const auto recovered = recover(*log);
  if (!recovered) return run.fail("Error reading the log", recovered.status());
  for (raft::Index at = recovered->state.first_index; at <= recovered->state.last_index; ++at) {
    if (!recovered->index.is_cached(at)) continue;
    for (const raft::Entry& entry : recovered->index.cached(at, at, kAllEntries)) {
      const std::string line = entry_json(entry);
      const json pretty = run.arguments.on("pretty") ? json::parse(line, nullptr, false) : json();
      run.out << (pretty.is_object() ? pretty.dump(2) : line) << "\n";
    }
  }
  return 0;
}

// --- state -----------------------------------------------------------------------------------------------------------

int state(Run& run) {
  auto log = open_stopped(run.arguments.positional()[0]);
  if (!log) return run.fail("Error opening the log", log.status());
  const auto recovered = recover(*log);
  if (!recovered) return run.fail("Error reading the log", recovered.status());
  std::vector<std::string> problems;
  const auto snapshot = newest_snapshot(*log, problems);
  if (!snapshot) return run.fail("Error reading the snapshots", snapshot.status());
  for (const std::string& problem : problems) run.err << "Warning: " << problem << "\n";
  if (!*snapshot) {
    return run.fail("Error reading the state",
                    not_found("this server has taken no snapshot yet; operator raft logs shows what it has"));
  }
  const raft::Index index = (*snapshot)->manifest.info.index;
  auto source = raft::read_snapshot_data(*log->files, (*snapshot)->directory);
  const Status printed = source ? print_state(**source, index, run.out) : source.status();
  if (!printed.ok()) return run.fail("Error reading the state", printed);
  if (recovered->state.last_index > index) {
    run.err << "The log goes on to index " << recovered->state.last_index << "; entries after " << index
            << " are not in this state (operator raft logs shows them).\n";
  }
  return 0;
}

}  // namespace

std::vector<Definition> raft_file_commands() {
  const std::string stopped = "  Of a server that is stopped: while an agent uses the files they are left alone.\n";
  return {{"operator raft info", "Shows what a stopped server's log holds.", "<data_dir>", stopped, {}, 1, 1, info},
          {"operator raft logs",
           "Shows the entries of a stopped server's log, one JSON object each.",
           "<data_dir>",
           stopped,
           {on_off("pretty", "Over several lines")},
           1,
           1,
           logs},
          {"operator raft state",
           "Shows the rows of a stopped server's newest snapshot as JSON.",
           "<data_dir>",
           stopped + "  What the log holds beyond the snapshot is not carried out; its extent is told.\n",
           {},
           1,
           1,
           state}};
}

}  // namespace drover::cli

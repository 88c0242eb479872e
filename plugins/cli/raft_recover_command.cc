// drover operator raft recover: shows what the stopped servers of a lost quorum hold, and writes the peers.json by
// which they go on. Offline: it reads and writes data folders, no agent is asked.
#include <algorithm>
#include <cstdlib>
#include <istream>
#include <memory>

#include "cli_command.h"
#include "output.h"
#include "storage/file_system.h"
#include "storage/peers_file.h"
#include "storage/segment_recovery.h"

namespace drover::cli {
namespace {

using raft::Member;

struct Folder {
  std::string data_dir;
  std::string raft_dir;
  std::unique_ptr<raft::FileLock> lock;  // as long as this is held no agent starts on it
  std::unique_ptr<raft::Recovery> log;
};

Result<Folder> open_folder(raft::FileSystem& files, const std::string& data_dir) {
  Folder folder{.data_dir = data_dir, .raft_dir = data_dir + "/server/raft"};
  DROVER_RETURN_IF_ERROR(files.list(folder.raft_dir).status());  // before a lock file would be made
  DROVER_TRY(folder.lock, files.lock(folder.raft_dir + "/LOCK"));
  DROVER_TRY(raft::Recovery log, raft::recover_log(files, folder.raft_dir, {}, {}, 0, raft::OnDamage::keep_prefix));
  folder.log = std::make_unique<raft::Recovery>(std::move(log));
  return folder;
}

// The index of the newest snapshot, by its name; 0 when there is none.
uint64_t newest_snapshot(raft::FileSystem& files, const std::string& raft_dir) {
  const auto names = files.list(raft_dir);
  uint64_t newest = 0;
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    if (!name.starts_with("snap-") && !name.starts_with("recv-")) continue;
    newest = std::max<uint64_t>(newest, std::strtoull(name.c_str() + 5, nullptr, 10));
  }
  return newest;
}

std::string voter_or_not(const Member& member) {
  return member.suffrage == raft::Suffrage::voter ? "voter" : "non-voter";
}

void show(Run& run, raft::FileSystem& files, const Folder& folder) {
  const raft::LogState& state = folder.log->state;
  const auto number = [](uint64_t value) { return std::to_string(value); };
  const uint64_t snapshot = newest_snapshot(files, folder.raft_dir);
  run.out << folder.data_dir << "\n"
          << format_pairs({{"Server ID", folder.log->node_id.to_string()},
                           {"Cluster ID", folder.log->cluster_id.to_string()},
                           {"Log", number(state.first_index) + " to " + number(state.last_index)},
                           {"Last entry's term", number(state.last_term)},
                           {"Term", number(state.hard_state.term)},
                           {"Known to be committed", number(snapshot) + " (snapshot), of the rest nothing is known"},
                           {"Whole", state.is_damaged ? "no: entries that it had confirmed are lost" : "yes"}})
          << "\n";
  std::vector<std::vector<std::string>> rows = {{"Member", "Address", "Voter"}};
  for (const Member& member : state.membership.members) {
    rows.push_back({member.id.to_string(), member.address, voter_or_not(member)});
  }
  run.out << format_list(rows) << "\n";
}

// "ID=HOST:PORT[,nonvoter]"
Result<Member> parse_server(const std::string& text) {
  const size_t equals = text.find('=');
  const auto id = Uuid::parse(text.substr(0, equals));
  if (equals == std::string::npos || !id)
    return invalid_argument("-server=" + text + ": expected ID=HOST:PORT[,nonvoter]");
  Member member{.id = *id, .address = text.substr(equals + 1)};
  if (const size_t comma = member.address.find(','); comma != std::string::npos) {
    const std::string role = member.address.substr(comma + 1);
    if (role != "nonvoter" && role != "voter") {
      return invalid_argument("-server=" + text + ": \"" + role + "\" is neither voter nor nonvoter");
    }
    if (role == "nonvoter") member.suffrage = raft::Suffrage::learner;
    member.address.resize(comma);
  }
  return member;
}

Result<std::string> peers_of(Run& run, const std::vector<Folder>& folders) {
  std::vector<Member> members;
  for (const std::string& text : run.arguments.values("server")) {
    DROVER_TRY(Member member, parse_server(text));
    members.push_back(std::move(member));
  }
  std::string text = raft::format_peers(members);
  DROVER_RETURN_IF_ERROR(raft::parse_peers(text, "-server").status());
  for (const Folder& folder : folders) {
    DROVER_RETURN_IF_ERROR(raft::check_peers(members, *folder.log, folder.data_dir));
  }
  return text;
}

Status write_peers(raft::FileSystem& files, const Folder& folder, const std::string& text) {
  const std::string path = folder.raft_dir + "/" + raft::kPeersFile;
  const std::string temporary = folder.raft_dir + "/tmp-peers-file";
  DROVER_TRY(const std::unique_ptr<raft::File> file, files.open(temporary, raft::OpenMode::create));
  DROVER_RETURN_IF_ERROR(file->write(0, text));
  DROVER_RETURN_IF_ERROR(file->sync());
  DROVER_RETURN_IF_ERROR(files.rename(temporary, path));
  return files.sync_directory(folder.raft_dir);
}

bool agrees(Run& run) {
  run.out
      << "Servers that are not named are shut out of the cluster for good, and what only they had committed is lost.\n"
      << "Write this into the folders above? [y/N] " << std::flush;
  std::string answer;
  std::getline(run.host.in(), answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int recover(Run& run) {
  const std::unique_ptr<raft::FileSystem> files = raft::make_file_system();
  if (!run.arguments.is_set("data-dir")) return run.usage("-data-dir is needed");
  std::vector<Folder> folders;
  for (const std::string& data_dir : run.arguments.values("data-dir")) {
    Result<Folder> folder = open_folder(*files, data_dir);
    if (!folder.ok()) return run.fail("Error reading " + data_dir, folder.status());
    show(run, *files, *folder);
    folders.push_back(*std::move(folder));
  }
  if (!run.arguments.is_set("server")) {
    run.out << "Nothing was changed. Name those that go on with -server.\n";
    return 0;
  }
  const Result<std::string> text = peers_of(run, folders);
  if (!text.ok()) return run.fail("Error in the new membership", text.status());
  run.out << *text << "\n";
  if (!run.arguments.on("yes") && !agrees(run)) {
    run.out << "Nothing was changed.\n";
    return 1;
  }
  for (const Folder& folder : folders) {
    if (const Status written = write_peers(*files, folder, *text); !written.ok()) {
      return run.fail("Error writing into " + folder.data_dir, written);
    }
    run.out << "Wrote " << folder.raft_dir << "/" << raft::kPeersFile << "; the agent carries it out when it starts.\n";
  }
  return 0;
}

}  // namespace

std::vector<Definition> raft_recover_commands() {
  return {{"operator raft recover",
           "Brings back a cluster that has lost its quorum for good.",
           "",
           "  Offline: every agent that still exists is stopped first. Shows what each data folder holds, then writes\n"
           "  the same peers.json into each of them. Give every server that is left the same list.\n",
           {with_value("data-dir", "", "A stopped server's data_dir; may be given several times"),
            with_value("server", "", "ID=HOST:PORT[,nonvoter]: one that goes on; may be given several times"),
            on_off("yes", "Do not ask")},
           0,
           0,
           recover}};
}

}  // namespace drover::cli

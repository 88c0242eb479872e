#include "storage/peers_file.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "drover/crc32c.h"
#include "drover/log.h"
#include "storage/segment_repair.h"

namespace drover::raft {
namespace {

using Json = nlohmann::ordered_json;

Result<Member> parse_member(const Json& json) {
  if (!json.is_object()) return invalid_argument("must be an object");
  Member member;
  for (const auto& [key, value] : json.items()) {
    if (key == "id" && value.is_string()) {
      const auto id = Uuid::parse(value.get<std::string>());
      if (!id || id->is_zero()) return invalid_argument("\"id\": not a server's identifier");
      member.id = *id;
    } else if (key == "address" && value.is_string()) {
      member.address = value.get<std::string>();
    } else if (key == "non_voter" && value.is_boolean()) {
      member.suffrage = value.get<bool>() ? Suffrage::learner : Suffrage::voter;
    } else {
      const bool is_known = key == "id" || key == "address" || key == "non_voter";
      return invalid_argument("\"" + key + "\": " + (is_known ? "has a wrong type" : "is not known"));
    }
  }
  if (member.id.is_zero()) return invalid_argument("\"id\" is missing");
  const size_t colon = member.address.rfind(':');
  if (colon == 0 || colon == std::string::npos || colon + 1 == member.address.size()) {
    return invalid_argument("\"address\": expected HOST:PORT, not \"" + member.address + "\"");
  }
  return member;
}

std::vector<Member> sorted(std::vector<Member> members) {
  std::ranges::sort(members, {}, &Member::id);
  return members;
}

Status write_header(FileSystem& files, const std::string& directory, const Recovery& log, ClusterId cluster,
                    const std::vector<Member>& members) {
  const LogState& state = log.state;
  const uint64_t seq = log.segments.empty() ? 1 : log.segments.back().seq + 1;
  AlignedBuffer block;
  encode_segment_header({.cluster_id = cluster,
                         .node_id = log.node_id,
                         .seq = seq,
                         .capacity = kBlock,  // the next batch begins a segment of its own
                         .salt = get<uint64_t>(Uuid::random().bytes().data()),
                         .next_batch_seq = log.batch_seq + 1,
                         .chain = log.chain,
                         .begins_cluster = true,
                         .first_index = state.first_index,
                         .prev_term = state.prev_term,
                         .last_index = state.last_index,
                         .last_term = state.last_term,
                         .hard_state = {.term = first_term_of(epoch_of(state.hard_state.term) + 1), .vote = {}},
                         .write_seq = state.write_seq,
                         .membership = {.index = 1, .members = members}},
                        block.reset(kBlock));
  const std::string temporary = directory + "/tmp-peers";
  DROVER_TRY(const std::unique_ptr<File> file, files.open(temporary, OpenMode::create));
  DROVER_RETURN_IF_ERROR(file->write(0, block.view()));
  DROVER_RETURN_IF_ERROR(file->sync());
  DROVER_RETURN_IF_ERROR(files.rename(temporary, directory + "/" + segment_name(seq)));
  return files.sync_directory(directory);
}

}  // namespace

Result<std::vector<Member>> parse_peers(std::string_view text, const std::string& path) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::string_view before = text.substr(0, std::min(error.byte == 0 ? 0 : error.byte - 1, text.size()));
    const auto line = 1 + std::ranges::count(before, '\n');
    return invalid_argument(path + ": line " + std::to_string(line) + ": not JSON");
  }
  if (!json.is_array()) return invalid_argument(path + ": must be an array of servers");
  std::vector<Member> members;
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string place = path + ": server " + std::to_string(i + 1);
    DROVER_TRY(Member member, parse_member(json[i]).with_context(place));
    for (const Member& other : members) {
      if (other.id == member.id)
        return invalid_argument(place + ": \"id\" " + member.id.to_string() + " is named twice");
      if (other.address == member.address) {
        return invalid_argument(place + ": \"address\" " + member.address + " is named twice");
      }
    }
    members.push_back(std::move(member));
  }
  const auto is_voter = [](const Member& member) { return member.suffrage == Suffrage::voter; };
  if (std::ranges::none_of(members, is_voter)) return invalid_argument(path + ": names no voter");
  if (encode_membership({.members = members}).size() > kMaxHeaderMembership) {
    return invalid_argument(path + ": names more servers than a segment header holds");
  }
  return members;
}

std::string format_peers(const std::vector<Member>& members) {
  Json json = Json::array();
  for (const Member& member : members) {
    json.push_back({{"id", member.id.to_string()},
                    {"address", member.address},
                    {"non_voter", member.suffrage == Suffrage::learner}});
  }
  return json.dump(2) + "\n";
}

Status check_peers(const std::vector<Member>& members, const Recovery& log, const std::string& path) {
  const std::vector<Member>& known = log.state.membership.members;
  if (log.cluster_id.is_zero() || known.empty()) {
    return failed_precondition(path + ": the log beside it belongs to no cluster, there is nothing to recover");
  }
  if (std::ranges::find(members, log.node_id, &Member::id) == members.end()) {
    return invalid_argument(path + ": does not name this server, " + log.node_id.to_string());
  }
  for (const Member& member : members) {
    if (std::ranges::find(known, member.id, &Member::id) != known.end()) continue;
    return invalid_argument(path + ": the log does not know server " + member.id.to_string() +
                            "; new servers join when the cluster runs again");
  }
  return ok_status();
}

ClusterId draw_cluster(const std::string& bytes) {
  std::string id;
  for (uint32_t seed = 1; id.size() < 16; ++seed) {
    char part[4];
    put<uint32_t>(part, crc32c(bytes, seed));
    id.append(part, sizeof part);
  }
  return ClusterId::from_bytes(id);
}

ClusterId cluster_after(ClusterId former, const std::vector<Member>& members) {
  return draw_cluster(former.bytes() + encode_membership({.members = sorted(members)}));
}

Result<bool> apply_peers_file(FileSystem& files, const std::string& directory, const Recovery& log) {
  DROVER_TRY(const std::vector<std::string> names, files.list(directory));
  if (std::ranges::find(names, kPeersFile) == names.end()) return false;
  const std::string path = directory + "/" + kPeersFile;
  DROVER_TRY(const std::unique_ptr<File> file, files.open(path, OpenMode::read));
  DROVER_TRY(const uint64_t size, file->size());
  if (size > kBlock * 16) return invalid_argument(path + ": larger than any list of servers");
  std::string text(size, '\0');
  DROVER_TRY(const size_t got, file->read(0, text));
  text.resize(got);
  DROVER_TRY(std::vector<Member> members, parse_peers(text, path));
  members = sorted(std::move(members));

  const bool is_done =
      !log.former_cluster_id.is_zero() && cluster_after(log.former_cluster_id, members) == log.cluster_id;
  if (!is_done) {
    DROVER_RETURN_IF_ERROR(check_peers(members, log, path));
    const ClusterId cluster = cluster_after(log.cluster_id, members);
    DROVER_RETURN_IF_ERROR(write_header(files, directory, log, cluster, members));
    log::warn("raft", "the membership was replaced by peers.json: who is not in it is no longer part of this cluster",
              {{"servers", members.size()},
               {"cluster", cluster.to_string()},
               {"former_cluster", log.cluster_id.to_string()},
               {"last_index", log.state.last_index},
               {"damaged", log.state.is_damaged}});
  }
  if (log.state.is_damaged) DROVER_RETURN_IF_ERROR(remove_damage_mark(files, directory));
  DROVER_RETURN_IF_ERROR(files.rename(path, path + ".applied"));
  DROVER_RETURN_IF_ERROR(files.sync_directory(directory));
  return true;
}

}  // namespace drover::raft

// Recovery from a lost quorum. The operator stops what is left of the servers and gives each the same `peers.json`, in
// the form that Nomad's operators know; at its next start a server goes on with the members that stand in it:
//
//   [{"id": "2a7f…", "address": "10.0.0.7:4647", "non_voter": false}]
//
// It becomes one segment header, durable before it has its name: a new cluster id, which every server that is given the
// same file derives alike, so that servers of the old quorum that come back are refused; the members; and a term of the
// next epoch (membership_bytes.h), in which memberships that were set before are void wherever they are read. Entries
// are neither added nor removed: which of them survive is decided by an election, as ever.
//
// Idempotent: the file is renamed to `peers.json.applied` when the header is durable, and a start in between sees that
// it has been carried out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"
#include "storage/file_system.h"
#include "storage/segment_recovery.h"

namespace drover::raft {

inline constexpr const char* kPeersFile = "peers.json";

// Errors: invalid_argument names `path` and the line or the entry.
Result<std::vector<Member>> parse_peers(std::string_view text, const std::string& path);
std::string format_peers(const std::vector<Member>& members);

// Checks that a server with this log may go on with these members. Errors: failed_precondition when the log belongs to
// no cluster; invalid_argument when this server is not named, or a server that the log does not know is.
Status check_peers(const std::vector<Member>& members, const Recovery& log, const std::string& path);

// The identity that everybody draws from the same bytes.
ClusterId draw_cluster(const std::string& bytes);
ClusterId cluster_after(ClusterId former, const std::vector<Member>& members);

// Carries out the directory's peers file, if there is one. True when the log has to be read again. A damage mark is
// removed with it: the remaining servers decide which entries there are.
// Errors: those of the two above; the disk's own. Nothing is changed then.
Result<bool> apply_peers_file(FileSystem& files, const std::string& directory, const Recovery& log);

}  // namespace drover::raft

// The rules by which the keys of the gossip are changed while the servers run: no step may leave two servers that do
// not understand each other. Pure. [any]
//
//     install on all ──▶ use on all ──▶ remove the old one from all
#pragma once

#include <string>
#include <vector>

#include "drover/result.h"

namespace drover::v1 {
enum GossipKeyStep : int;
class GossipKeysResponse;
}  // namespace drover::v1

namespace drover::gossip {

using Step = drover::v1::GossipKeyStep;

// The answer of a server that lives, or why it gave none.
struct ServerKeys {
  std::string name;
  Status status;
  std::vector<std::string> keys;  // canonical; it seals with the first
};

// The keys of one server after its own part of a step. Errors: failed_precondition for a key that it has not or seals
// with; invalid_argument for a step that there is not.
Result<std::vector<std::string>> keys_after(Step step, const std::string& key,
                                            std::vector<std::string> keys);

// Errors: why the step may not begin, of all servers that stand in its way; failed_precondition, or unavailable when
// only the answers of some are missing.
Status may_begin(Step step, const std::string& key, const std::vector<ServerKeys>& servers);

// The sum of what the servers said after their part. Errors: unavailable, naming those that did not do it and why.
Result<drover::v1::GossipKeysResponse> summary_of(Step step, const std::vector<ServerKeys>& servers);

// A file's content: a list of keys in JSON, the one to seal with first. Errors: invalid_argument, saying what is wrong
// with it and never what it holds.
Result<std::vector<std::string>> read_keys(const std::string& json);
std::string write_keys(const std::vector<std::string>& keys);

}  // namespace drover::gossip

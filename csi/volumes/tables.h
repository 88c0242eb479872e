// The tables of volumes and of claims, and what the log's commands do to them. Deterministic. [apply]
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/keyring.h"
#include "drover/plugin.h"
#include "drover/tables.h"

namespace drover::v1 {
class CsiClaim;
class CsiVolume;
class RootKey;
}  // namespace drover::v1

namespace drover::volumes {

struct Tables {
  Table<v1::CsiVolume> volumes;
  Table<v1::CsiClaim> claims;
  TableId nodes, jobs, job_versions, allocs, root_keys;
  std::optional<TableId> namespaces = {};
};

inline constexpr std::string_view kUnknownVolume = "volume not found";
inline constexpr std::string_view kNoClaimLeft = "volume max claims reached";
inline constexpr auto kProposeTime = std::chrono::seconds(10);  // until an entry of the log is given up

// All claims on a volume, in the order of their allocations.
std::vector<v1::CsiClaim> claims_on(const ReadView& view, const Tables& tables, std::string_view name_space,
                                    std::string_view volume_id);
// True when the allocation's node has said that it ended, or nobody knows the allocation any more.
bool has_ended(const ReadView& view, const Tables& tables, std::string_view alloc_id);

// Counts what root keys seal here.
class Uses final : public KeyUser {
 public:
  explicit Uses(const Tables& tables) : tables_(tables) {}
  uint64_t uses(const ReadView& view, std::string_view key_id, uint64_t most) const override;

 private:
  const Tables& tables_;
};

Status declare_tables(Declarations& declare, Tables& tables);

}  // namespace drover::volumes

// Claims on volumes that allocations will make: a plan in flight places them, or has placed them, and their nodes have
// not come to it. Others must not be promised the same volume meanwhile. Pure; one owner.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "drover/v1/csi.pb.h"
#include "drover/v1/job.pb.h"

namespace drover::v1 {
class Allocation;
}

namespace drover::scheduler {

// True when a volume of the group is of the type "csi".
bool wants_storage(const v1::TaskGroup& group);
// True when each allocation of the group has a volume of its own.
bool has_own_volumes(const v1::TaskGroup& group);
// The claims that the allocation makes, as far as its job tells: without the storage's names of anything.
std::vector<v1::CsiClaim> claims_of(const v1::TaskGroup& group, const v1::Allocation& alloc);

class ComingClaims {
 public:
  using Volume = std::pair<std::string, std::string>;  // namespace, identifier
  using ByVolume = std::map<Volume, std::vector<v1::CsiClaim>>;

  // A version of a job, whose allocations may come; nothing is kept of one without volumes.
  void put_job(const v1::Job& version);
  void erase_job(const v1::Job& version);
  // An allocation whose node has not started it.
  void put(const v1::Allocation& alloc);
  void erase(const std::string& alloc_id);
  // The claim is made.
  void made(const v1::CsiClaim& claim);
  // Forgets everything but the claims of these allocations.
  void clear_but(const std::set<std::string>& alloc_ids);

  // Those that are to come now, which stay as they are for who has them. Null: none.
  std::shared_ptr<const ByVolume> all() const {
    if (coming_->empty()) return nullptr;
    is_shared_ = true;
    return coming_;
  }

 private:
  using Version = std::tuple<std::string, std::string, uint64_t>;
  using Groups = std::map<std::string, v1::TaskGroup>;  // of those with volumes only name and volumes
  ByVolume& edit();
  void erase_from(const Volume& volume, const std::string& alloc_id);

  std::map<Version, Groups> jobs_;
  std::map<std::string, std::vector<Volume>> volumes_;  // by allocation
  std::shared_ptr<ByVolume> coming_ = std::make_shared<ByVolume>();
  mutable bool is_shared_ = false;  // somebody has, or had, `coming_`
};

}  // namespace drover::scheduler

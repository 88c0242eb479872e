#include "fingerprint.h"

#include <set>

#include "drover/v1/node.pb.h"
#include "observed/observed_check.h"

namespace drover::checks {
namespace {

constexpr std::string_view kPrefix = "check.";

}  // namespace

Status ChecksFingerprint::describe(v1::Node& node) {
  refresh(node);
  return ok_status();
}

bool ChecksFingerprint::refresh(v1::Node& node) {
  std::set<std::string> wanted{std::string(kPrefix) + kScript};
  for (const std::string& type : providers_->types()) wanted.insert(std::string(kPrefix) + type);
  auto& attributes = *node.mutable_attributes();
  bool is_other = false;
  for (auto at = attributes.begin(); at != attributes.end();) {
    const bool is_gone = at->first.starts_with(kPrefix) && !wanted.contains(at->first);
    is_other = is_other || is_gone;
    at = is_gone ? attributes.erase(at) : std::next(at);
  }
  for (const std::string& name : wanted) is_other = attributes.insert({name, "1"}).second || is_other;
  return is_other;
}

void ChecksFingerprint::watch(std::function<void()> changed) {
  const MutexLock lock(mutex_);
  changed_ = std::move(changed);
}

void ChecksFingerprint::changed() const {
  std::function<void()> told;
  {
    const MutexLock lock(mutex_);
    told = changed_;
  }
  if (told) told();
}

}  // namespace drover::checks

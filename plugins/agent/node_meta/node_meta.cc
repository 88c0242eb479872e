#include "node_meta/node_meta.h"

#include <utility>

#include "drover/api/client.pb.h"

namespace drover::agent {

Status NodeMeta::open(AgentStore& store, Variables configured, std::function<void()> changed) {
  DROVER_TRY(MetaChanges changes, store.meta());
  const MutexLock lock(mutex_);
  store_ = &store;
  changed_ = std::move(changed);
  configured_ = std::move(configured);
  changes_ = std::move(changes);
  return ok_status();
}

Variables NodeMeta::all() const {
  const MutexLock lock(mutex_);
  return merged_meta(configured_, changes_);
}

Result<v1::NodeMetaResponse> NodeMeta::read(const v1::NodeMetaRequest&, Call&) {
  const MutexLock lock(mutex_);
  if (!store_) return unavailable("the agent is starting");
  return response();
}

Result<v1::NodeMetaResponse> NodeMeta::apply(const v1::ApplyNodeMetaRequest& request, Call&) {
  DROVER_TRY(const MetaChanges next, parse_meta(request.meta()));
  const MutexLock lock(mutex_);
  if (!store_) return unavailable("the agent is starting");
  MetaChanges changes = changed_meta(changes_, next, configured_);
  if (changes == changes_) return response();
  DROVER_RETURN_IF_ERROR(store_->put_meta(changes));
  changes_ = std::move(changes);
  changed_();
  return response();
}

v1::NodeMetaResponse NodeMeta::response() const {
  v1::NodeMetaResponse response;
  for (const auto& [key, value] : merged_meta(configured_, changes_)) (*response.mutable_meta())[key] = value;
  for (const auto& [key, value] : configured_) (*response.mutable_static_())[key] = value;
  response.set_dynamic(meta_json(changes_));
  return response;
}

}  // namespace drover::agent

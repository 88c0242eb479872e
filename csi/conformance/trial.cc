#include "trial.h"

#include <algorithm>
#include <filesystem>

#include "csi/protocol/method_path.h"
#include "csi/protocol/redact.h"
#include "drover/pause.h"
#include "drover/printable.h"
#include "drover/uuid.h"

namespace drover::csi_kit {
namespace {

namespace pb = google::protobuf;
using Rpc = v1::ControllerServiceCapability::RPC;
using NodeRpc = v1::NodeServiceCapability::RPC;

constexpr size_t kShown = 600;  // characters of a message
constexpr auto kBetween = std::chrono::milliseconds(200);

std::string method_of(const pb::Descriptor& request) {
  const std::string path = csi::method_path(request);
  return path.substr(path.rfind('/') + 1);
}

std::string shown(const pb::Message& message) {
  const std::unique_ptr<pb::Message> copy(message.New());
  copy->CopyFrom(message);
  const pb::FieldDescriptor* secrets = copy->GetDescriptor()->FindFieldByName("secrets");
  if (secrets) copy->GetReflection()->ClearField(copy.get(), secrets);
  std::string text = copy->ShortDebugString();
  if (text.size() > kShown) text = text.substr(0, kShown) + "…";
  return text;
}

// Undone is undone, whoever did it.
Status unless_gone(const Status& status) { return status.code() == Code::not_found ? ok_status() : status; }

std::string attachment_key(const std::string& volume, const std::string& node) { return volume + " at " + node; }

template <typename Types, typename Answer>
void fill(Types& types, const Answer& answer) {
  for (const auto& each : answer.capabilities()) types.insert(each.rpc().type());
}

}  // namespace

// Learns by calls of its own: what the plugin says wrongly is for the checks to find.
Status Session::learn() {
  const csi::CallLimits limits{.each_try = settings.limit, .tries = 1};
  DROVER_TRY(const auto plugin,
             client.call<v1::GetPluginCapabilitiesResponse>(v1::GetPluginCapabilitiesRequest(), limits));
  for (const auto& each : plugin.capabilities()) {
    if (each.has_service()) abilities.plugin.insert(each.service().type());
  }
  const auto controller =
      client.call<v1::ControllerGetCapabilitiesResponse>(v1::ControllerGetCapabilitiesRequest(), limits);
  abilities.has_controller = controller.ok();
  if (controller) fill(abilities.controller, *controller);
  const auto node = client.call<v1::NodeGetCapabilitiesResponse>(v1::NodeGetCapabilitiesRequest(), limits);
  abilities.has_node = node.ok();
  if (node) fill(abilities.node, *node);
  for (const Status& each : {controller.status(), node.status()}) {
    if (!each.ok() && each.code() != Code::unimplemented) return each;
  }
  const auto info = client.call<v1::NodeGetInfoResponse>(v1::NodeGetInfoRequest(), limits);
  if (info) abilities.node_id = info->node_id();
  return {};
}

Status Trial::inapplicable(std::string why) {
  inapplicable_ = std::move(why);
  return {};
}

std::string Trial::asked() const {
  const MutexLock lock(mutex_);
  return asked_;
}

std::string Trial::came() const {
  const MutexLock lock(mutex_);
  return came_;
}

void Trial::note(const pb::Message& request, const pb::Message* answer, const Status& status) {
  const std::string asked = method_of(*request.GetDescriptor()) + " {" + shown(request) + "}";
  const std::string came = answer ? "OK {" + shown(*answer) + "}" : status.to_string();
  const MutexLock lock(mutex_);
  asked_ = printable(asked);
  came_ = csi::without_secrets(came, request);
}

Status Trial::send(const pb::Descriptor& request, std::string bytes) {
  const size_t count = bytes.size();
  const auto answer = session_.raw->call(csi::method_path(request), std::move(bytes),
                                         std::chrono::steady_clock::now() + settings().limit);
  const MutexLock lock(mutex_);
  asked_ = method_of(request) + " with " + std::to_string(count) + " bytes";
  came_ = printable(answer.status().to_string());
  return answer.status();
}

std::string Trial::new_name() { return "drover-csi-test-" + Uuid::random().to_string(); }

v1::VolumeCapability Trial::capability() const {
  std::string word = settings().access_mode;
  for (char& c : word) c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  AccessMode::Mode mode = AccessMode::UNKNOWN;
  (void)AccessMode::Mode_Parse(word, &mode);
  return capability(mode);
}

v1::VolumeCapability Trial::capability(AccessMode::Mode mode) const {
  v1::VolumeCapability out;
  out.mutable_access_mode()->set_mode(mode);
  if (settings().is_block()) {
    out.mutable_block();
  } else {
    out.mutable_mount()->set_fs_type(settings().fs_type);
  }
  return out;
}

v1::CreateVolumeRequest Trial::creation() {
  v1::CreateVolumeRequest request;
  request.set_name(new_name());
  request.mutable_capacity_range()->set_required_bytes(settings().capacity);
  *request.add_volume_capabilities() = capability();
  request.mutable_parameters()->insert(settings().parameters.begin(), settings().parameters.end());
  return request;
}

v1::ControllerPublishVolumeRequest Trial::attachment(const v1::Volume& volume,
                                                     const v1::VolumeCapability& capability) const {
  v1::ControllerPublishVolumeRequest request;
  request.set_volume_id(volume.volume_id());
  request.set_node_id(abilities().node_id);
  *request.mutable_volume_capability() = capability;
  *request.mutable_volume_context() = volume.volume_context();
  return request;
}

v1::ControllerUnpublishVolumeRequest Trial::detachment(const std::string& volume) const {
  v1::ControllerUnpublishVolumeRequest request;
  request.set_volume_id(volume);
  request.set_node_id(abilities().node_id);
  return request;
}

v1::NodeStageVolumeRequest Trial::staging(const Place& place) const {
  v1::NodeStageVolumeRequest request;
  request.set_volume_id(place.volume.volume_id());
  request.set_staging_target_path(place.staging);
  *request.mutable_volume_capability() = place.capability;
  *request.mutable_publish_context() = place.publish_context;
  *request.mutable_volume_context() = place.volume.volume_context();
  return request;
}

v1::NodeUnstageVolumeRequest Trial::unstaging(const Place& place) const {
  v1::NodeUnstageVolumeRequest request;
  request.set_volume_id(place.volume.volume_id());
  request.set_staging_target_path(place.staging);
  return request;
}

v1::NodePublishVolumeRequest Trial::publication(const Place& place, const std::string& target) const {
  v1::NodePublishVolumeRequest request;
  request.set_volume_id(place.volume.volume_id());
  request.set_staging_target_path(place.staging);
  request.set_target_path(target);
  *request.mutable_volume_capability() = place.capability;
  *request.mutable_publish_context() = place.publish_context;
  *request.mutable_volume_context() = place.volume.volume_context();
  return request;
}

v1::NodeUnpublishVolumeRequest Trial::unpublication(const std::string& volume, const std::string& target) {
  v1::NodeUnpublishVolumeRequest request;
  request.set_volume_id(volume);
  request.set_target_path(target);
  return request;
}

v1::DeleteVolumeRequest Trial::deletion(const std::string& volume) {
  v1::DeleteVolumeRequest request;
  request.set_volume_id(volume);
  return request;
}

v1::CreateSnapshotRequest Trial::snapshot_of(const std::string& volume) {
  v1::CreateSnapshotRequest request;
  request.set_source_volume_id(volume);
  request.set_name(new_name());
  return request;
}

v1::DeleteSnapshotRequest Trial::snapshot_deletion(const std::string& snapshot) {
  v1::DeleteSnapshotRequest request;
  request.set_snapshot_id(snapshot);
  return request;
}

Result<v1::Volume> Trial::make(const v1::CreateVolumeRequest& request) {
  DROVER_TRY(const auto answer, ask(request));
  return answer.volume();
}

Result<v1::Volume> Trial::volume() {
  if (settings().volume.empty()) return make(creation());
  v1::Volume existing;
  existing.set_volume_id(settings().volume);
  existing.mutable_volume_context()->insert(settings().context.begin(), settings().context.end());
  return existing;
}

bool Trial::attaches() const {
  return abilities().has_controller && abilities().controller.contains(Rpc::PUBLISH_UNPUBLISH_VOLUME);
}

bool Trial::stages() const { return abilities().node.contains(NodeRpc::STAGE_UNSTAGE_VOLUME); }

Result<Place> Trial::attached(const v1::Volume& volume, const v1::VolumeCapability& capability) {
  Place place{.volume = volume, .capability = capability, .publish_context = {}, .staging = {}};
  if (!attaches()) return place;
  DROVER_TRY(const auto answer, ask(attachment(volume, capability)));
  place.publish_context = answer.publish_context();
  return place;
}

Result<Place> Trial::staged(const v1::Volume& volume, const v1::VolumeCapability& capability) {
  DROVER_TRY(Place place, attached(volume, capability));
  if (!stages()) return place;
  DROVER_TRY(place.staging, new_folder());
  DROVER_RETURN_IF_ERROR(done(staging(place)));
  return place;
}

Result<Place> Trial::staged() {
  DROVER_TRY(const v1::Volume made, volume());
  return staged(made, capability());
}

Result<std::string> Trial::published(const Place& place) {
  const std::string target = new_target();
  DROVER_RETURN_IF_ERROR(done(publication(place, target)));
  return target;
}

Result<v1::Snapshot> Trial::snapshot(const v1::CreateSnapshotRequest& request) {
  const auto until = std::chrono::steady_clock::now() + settings().limit;
  for (;;) {
    DROVER_TRY(const auto answer, ask(request));
    if (answer.snapshot().ready_to_use()) return answer.snapshot();
    if (std::chrono::steady_clock::now() > until) return failed_precondition("the snapshot is not ready in time");
    (void)pause_for(kBetween, {});
  }
}

std::string Trial::new_target() { return session_.folder + "/targets/" + Uuid::random().to_string(); }

Result<std::string> Trial::new_folder() {
  const std::string path = session_.folder + "/staging/" + Uuid::random().to_string();
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return failed_precondition(path + ": cannot be made: " + error.message());
  return path;
}

void Trial::add(std::string key, Undo undo) {
  const MutexLock lock(mutex_);
  if (std::ranges::find(undo_, key, &Entry::key) == undo_.end()) undo_.push_back({std::move(key), std::move(undo)});
}

void Trial::drop(const std::string& key) {
  const MutexLock lock(mutex_);
  std::erase_if(undo_, [&](const Entry& each) { return each.key == key; });
}

void Trial::remember(const v1::CreateVolumeRequest&, const v1::CreateVolumeResponse& answer) {
  const std::string id = answer.volume().volume_id();
  if (id.empty()) return;
  {
    const MutexLock lock(mutex_);
    session_.made.insert(id);
  }
  add("volume " + id, [this, id] { return done(deletion(id)); });
}

void Trial::remember(const v1::DeleteVolumeRequest& request, const v1::DeleteVolumeResponse&) {
  drop("volume " + request.volume_id());
}

void Trial::remember(const v1::ControllerPublishVolumeRequest& request, const v1::ControllerPublishVolumeResponse&) {
  const std::string key = attachment_key(request.volume_id(), request.node_id());
  {
    const MutexLock lock(mutex_);
    session_.attached.insert(key);
  }
  add(key, [this, volume = request.volume_id()] { return unless_gone(done(detachment(volume))); });
}

void Trial::remember(const v1::ControllerUnpublishVolumeRequest& request,
                     const v1::ControllerUnpublishVolumeResponse&) {
  const std::string key =
      attachment_key(request.volume_id(), request.node_id().empty() ? abilities().node_id : request.node_id());
  {
    const MutexLock lock(mutex_);
    session_.attached.erase(key);
  }
  drop(key);
}

void Trial::remember(const v1::CreateSnapshotRequest&, const v1::CreateSnapshotResponse& answer) {
  const std::string id = answer.snapshot().snapshot_id();
  if (id.empty()) return;
  {
    const MutexLock lock(mutex_);
    session_.made.insert(id);
  }
  add("snapshot " + id, [this, id] { return done(snapshot_deletion(id)); });
}

void Trial::remember(const v1::DeleteSnapshotRequest& request, const v1::DeleteSnapshotResponse&) {
  drop("snapshot " + request.snapshot_id());
}

void Trial::remember(const v1::NodeStageVolumeRequest& request, const v1::NodeStageVolumeResponse&) {
  v1::NodeUnstageVolumeRequest back;
  back.set_volume_id(request.volume_id());
  back.set_staging_target_path(request.staging_target_path());
  add("stage " + back.staging_target_path(), [this, back] { return unless_gone(done(back)); });
}

void Trial::remember(const v1::NodeUnstageVolumeRequest& request, const v1::NodeUnstageVolumeResponse&) {
  drop("stage " + request.staging_target_path());
}

void Trial::remember(const v1::NodePublishVolumeRequest& request, const v1::NodePublishVolumeResponse&) {
  const auto back = unpublication(request.volume_id(), request.target_path());
  add("target " + back.target_path(), [this, back] { return unless_gone(done(back)); });
}

void Trial::remember(const v1::NodeUnpublishVolumeRequest& request, const v1::NodeUnpublishVolumeResponse&) {
  drop("target " + request.target_path());
}

Status Trial::undo() {
  Status first;
  for (;;) {
    Entry last;
    {
      const MutexLock lock(mutex_);
      if (undo_.empty()) return first;
      last = std::move(undo_.back());
      undo_.pop_back();
    }
    const Status status = last.undo();
    if (first.ok() && !status.ok()) first = status.with_context("undoing what the check had made");
  }
}

}  // namespace drover::csi_kit

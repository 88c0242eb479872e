// One check at work: calls to the plugin, the steps of a volume's life as a host makes them, and the memory of what
// was made, which is undone in reverse when the check is over.
//
// A check returns an error for its failure. The last call and its answer are kept for the report, without secrets.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "answers.h"
#include "contract/abilities.h"
#include "contract/contract.h"
#include "csi/protocol/client.h"
#include "drover/mutex.h"
#include "settings.h"
#include "subject.h"

namespace drover::csi_kit {

using contract::expect;
using Texts = google::protobuf::Map<std::string, std::string>;
using AccessMode = v1::VolumeCapability::AccessMode;

// One plugin, from the first check to the last.
struct Session {
  Session(Subject& tried, const Settings& wanted, std::string kits_folder)
      : subject(tried),
        settings(wanted),
        folder(std::move(kits_folder)),
        client(tried.connect()),
        raw(tried.connect()) {}
  // Asks the plugin for its abilities. Errors: it does not say them.
  Status learn();

  Subject& subject;
  const Settings& settings;
  const std::string folder;  // absolute, without links; the kit's own
  csi::Client client;
  const std::unique_ptr<plugin_programs::Channel> raw;  // for bytes that are no messages
  Abilities abilities{};
  std::set<std::string> made{};      // volumes and snapshots, by their identifiers
  std::set<std::string> attached{};  // "VOLUME at NODE": what no detach has followed yet
};

// A volume on its way to a target.
struct Place {
  v1::Volume volume;
  v1::VolumeCapability capability;
  Texts publish_context;
  std::string staging;  // empty: the plugin does not stage
};

class Trial {
 public:
  explicit Trial(Session& session) : session_(session) {}
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  const Settings& settings() const { return session_.settings; }
  const Abilities& abilities() const { return session_.abilities; }
  Session& session() { return session_; }
  Subject& subject() { return session_.subject; }

  // The check cannot say anything about this plugin, and why: return it.
  Status inapplicable(std::string why);
  const std::string& why_inapplicable() const { return inapplicable_; }
  std::string asked() const;
  std::string came() const;

  // One call, once. Adds the secrets of the settings. What it makes will be undone. [any]
  template <typename Request>
  auto ask(Request request) -> Result<decltype(answer_of(request))> {
    if constexpr (requires { request.mutable_secrets(); }) {
      if (request.secrets().empty())
        request.mutable_secrets()->insert(settings().secrets.begin(), settings().secrets.end());
    }
    auto answer =
        session_.client.call<decltype(answer_of(request))>(request, {.each_try = settings().limit, .tries = 1});
    note(request, answer.ok() ? &*answer : nullptr, answer.status());
    if (answer.ok()) remember(request, *answer);
    return answer;
  }
  template <typename Request>
  Status done(const Request& request) {
    return ask(request).status();
  }
  // The answer must have one of the codes.
  template <typename Request>
  Status ends(const Request& request, std::initializer_list<Code> right) {
    return contract::one_of(ask(request).status(), right);
  }
  // A list from its first page to its last. Errors: a call's; failed_precondition when it never ends.
  template <typename Request>
  auto entries(Request request) {
    using Entries = std::decay_t<decltype(answer_of(request).entries())>;
    constexpr int kMostPages = 100'000;
    const auto read = [&]() -> Result<Entries> {
      Entries all;
      for (int page = 0; page < kMostPages; ++page) {
        DROVER_TRY(const auto answer, ask(request));
        all.MergeFrom(answer.entries());
        if (answer.next_token().empty()) return all;
        if (answer.next_token() == request.starting_token()) break;
        request.set_starting_token(answer.next_token());
      }
      return failed_precondition("the list never ends");
    };
    return read();
  }
  // Bytes to the method of that request. Errors: the plugin's.
  Status send(const google::protobuf::Descriptor& request, std::string bytes);

  // ---- requests as the settings want them

  static std::string new_name();  // that nobody has
  v1::VolumeCapability capability() const;
  v1::VolumeCapability capability(AccessMode::Mode mode) const;
  v1::CreateVolumeRequest creation();
  v1::ControllerPublishVolumeRequest attachment(const v1::Volume& volume, const v1::VolumeCapability& capability) const;
  v1::ControllerUnpublishVolumeRequest detachment(const std::string& volume) const;
  v1::NodeStageVolumeRequest staging(const Place& place) const;
  v1::NodeUnstageVolumeRequest unstaging(const Place& place) const;
  v1::NodePublishVolumeRequest publication(const Place& place, const std::string& target) const;
  static v1::NodeUnpublishVolumeRequest unpublication(const std::string& volume, const std::string& target);
  static v1::DeleteVolumeRequest deletion(const std::string& volume);
  v1::CreateSnapshotRequest snapshot_of(const std::string& volume);
  static v1::DeleteSnapshotRequest snapshot_deletion(const std::string& snapshot);

  // ---- steps; each needs those before it

  Result<v1::Volume> make(const v1::CreateVolumeRequest& request);
  Result<v1::Volume> volume();  // a new one, or the one of the settings
  Result<Place> attached(const v1::Volume& volume, const v1::VolumeCapability& capability);  // where it attaches
  Result<Place> staged(const v1::Volume& volume, const v1::VolumeCapability& capability);    // where it stages
  Result<Place> staged();
  Result<std::string> published(const Place& place);                        // the target
  Result<v1::Snapshot> snapshot(const v1::CreateSnapshotRequest& request);  // one that is ready
  // A name below the kit's folder that nobody has; a folder of it. Nothing is at `target` yet.
  std::string new_target();
  Result<std::string> new_folder();

  bool attaches() const;
  bool stages() const;

  // Undoes what is left. Errors: the first, with the call.
  Status undo();

 private:
  using Undo = std::function<Status()>;
  struct Entry {
    std::string key;
    Undo undo;
  };

  void note(const google::protobuf::Message& request, const google::protobuf::Message* answer, const Status& status);
  void add(std::string key, Undo undo);
  void drop(const std::string& key);
  template <typename Request, typename Answer>
  void remember(const Request&, const Answer&) {}
  void remember(const v1::CreateVolumeRequest& request, const v1::CreateVolumeResponse& answer);
  void remember(const v1::DeleteVolumeRequest& request, const v1::DeleteVolumeResponse& answer);
  void remember(const v1::ControllerPublishVolumeRequest& request, const v1::ControllerPublishVolumeResponse& answer);
  void remember(const v1::ControllerUnpublishVolumeRequest& request,
                const v1::ControllerUnpublishVolumeResponse& answer);
  void remember(const v1::CreateSnapshotRequest& request, const v1::CreateSnapshotResponse& answer);
  void remember(const v1::DeleteSnapshotRequest& request, const v1::DeleteSnapshotResponse& answer);
  void remember(const v1::NodeStageVolumeRequest& request, const v1::NodeStageVolumeResponse& answer);
  void remember(const v1::NodeUnstageVolumeRequest& request, const v1::NodeUnstageVolumeResponse& answer);
  void remember(const v1::NodePublishVolumeRequest& request, const v1::NodePublishVolumeResponse& answer);
  void remember(const v1::NodeUnpublishVolumeRequest& request, const v1::NodeUnpublishVolumeResponse& answer);

  Session& session_;
  std::string inapplicable_;
  mutable Mutex mutex_;  // a leaf
  std::string asked_ DROVER_GUARDED_BY(mutex_), came_ DROVER_GUARDED_BY(mutex_);
  std::vector<Entry> undo_ DROVER_GUARDED_BY(mutex_);
};

// Text at the beginning of the volume that is at `target`: a file in it, or a block device's first bytes.
Status write_content(const std::string& target, bool is_block, const std::string& text);
Result<std::string> read_content(const std::string& target, bool is_block);
// Below the folder, as this process sees them; the newest first.
std::vector<std::string> mounts_below(const std::string& folder);

}  // namespace drover::csi_kit

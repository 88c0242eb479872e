#include "claims/claim_keeper.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <variant>

#include "drover/log.h"
#include "drover/metrics.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/node_csi.pb.h"
#include "secrets.h"
#include "volumes.pb.h"

namespace drover::volumes {
namespace {

constexpr std::chrono::nanoseconds kSoon = std::chrono::milliseconds(20);
constexpr std::chrono::nanoseconds kLookEvery = std::chrono::seconds(1);
constexpr std::chrono::nanoseconds kLongest = std::chrono::seconds(10);
constexpr size_t kErrorLength = 512;

const char* word_of(NextStep::Kind kind) {
  switch (kind) {
    case NextStep::Kind::attach:
      return "attach";
    case NextStep::Kind::release:
      return "release";
    default:
      return "detach";
  }
}

}  // namespace

// The volumes that have a call under way, and the nodes that a controller attaches to or detaches from.
struct ClaimKeeper::Calls {
  Mutex mutex;
  CondVar ended;
  std::set<Remote> volumes DROVER_GUARDED_BY(mutex);
  std::set<Remote> nodes DROVER_GUARDED_BY(mutex);  // plugin, the storage's name of the node

  std::set<Remote> busy_volumes() {
    const MutexLock lock(mutex);
    return volumes;
  }
  // One call at a time for a volume, and one for a node: storages that name devices choose one name for two otherwise.
  bool take(const Remote& volume, const Remote& node) {
    const MutexLock lock(mutex);
    if (nodes.contains(node) || volumes.contains(volume)) return false;
    volumes.insert(volume);
    nodes.insert(node);
    return true;
  }
  void give_back(const Remote& volume, const Remote& node) {
    const MutexLock lock(mutex);
    volumes.erase(volume);
    nodes.erase(node);
    ended.notify_all();
  }
  // Gives both back at its end, also when the call was never made.
  class Place {
   public:
    Place(std::shared_ptr<Calls> calls, Remote volume, Remote node)
        : calls_(std::move(calls)), volume_(std::move(volume)), node_(std::move(node)) {}
    ~Place() { calls_->give_back(volume_, node_); }
    Place(const Place&) = delete;  // a copy would give back what is still in use
    Place& operator=(const Place&) = delete;

   private:
    const std::shared_ptr<Calls> calls_;
    const Remote volume_, node_;
  };
  void await_end() {
    MutexLock lock(mutex);
    while (!volumes.empty()) ended.wait(lock);
  }
};

void ClaimKeeper::start(Host& host, Keyring& keys) {
  host_ = &host;
  keys_ = &keys;
}

void ClaimKeeper::run(std::stop_token stop) {
  const auto calls = std::make_shared<Calls>();
  const uint64_t term = host_->term();
  auto [view, changes] = host_->follow({tables_.claims.id(), tables_.allocs, tables_.nodes});
  // A call that has just written what came of it is not over yet: what it makes way for is looked at a moment later.
  std::chrono::nanoseconds pause = kSoon;
  GaugeSet gauges(host_->metrics());
  while (!stop.stop_requested()) {
    const int64_t due = sweep(calls, term, gauges, stop);
    const Reason reason = await_reason(*changes, due, pause, stop);
    pause = reason == Reason::time ? std::min(2 * pause, kLookEvery) : kSoon;
    if (reason == Reason::changes_missed) std::tie(view, changes) = host_->follow({tables_.claims.id(), tables_.allocs, tables_.nodes});
  }
  calls->await_end();
}

// Waits until claims should be looked at again: at once when one of them changed; after the pause when something is due;
// within a second when what they are decided by changed; and after some time in any case.
ClaimKeeper::Reason ClaimKeeper::await_reason(ChangeSubscription& changes, int64_t due, std::chrono::nanoseconds pause,
                                              const std::stop_token& stop) const {
  const SteadyTime begin = host_->clock().steady();
  const int64_t left = due == 0 ? kLongest.count() : due - host_->clock().wall_ns();
  SteadyTime end = begin + std::clamp<std::chrono::nanoseconds>(std::chrono::nanoseconds(left), pause, kLongest);
  while (!stop.stop_requested()) {
    const auto event = changes.next(end, stop);
    if (std::holds_alternative<ChangeSubscription::Timeout>(event)) return Reason::time;
    if (std::holds_alternative<ChangeSubscription::Resync>(event)) return Reason::changes_missed;
    for (const Change& change : std::get<std::shared_ptr<const ChangeBatch>>(event)->changes()) {
      if (change.table == tables_.claims.id()) return Reason::claims_changed;
      if (change.table == tables_.allocs || change.table == tables_.nodes) end = std::min(end, begin + kLookEvery);
    }
  }
  return Reason::time;
}

int64_t ClaimKeeper::sweep(const std::shared_ptr<Calls>& calls, uint64_t term, GaugeSet& gauges,
                           const std::stop_token& stop) {
  // First this, then the snapshot: it shows what came of every call that is not under way any more.
  const std::set<Remote> busy = calls->busy_volumes();
  const auto view = host_->snapshot();
  const int64_t now = host_->clock().wall_ns();
  int64_t due = 0;
  v1::CsiClaimsMoved moved;
  size_t claims = 0, failing = 0;
  for (const auto& [remote, facts] : claim_groups(*view, tables_)) {
    claims += facts.size();
    failing += static_cast<size_t>(
        std::ranges::count_if(facts, [](const ClaimFacts& each) { return !each.claim.last_error().empty(); }));
    const NextSteps steps = next_steps(facts, busy.contains(remote), now);
    if (steps.look_again != 0) due = due == 0 ? steps.look_again : std::min(due, steps.look_again);
    for (const NextStep& step : steps.now) {
      if (step.kind == NextStep::Kind::move || step.kind == NextStep::Kind::free) {
        *moved.add_moves() = written(facts, step);
      } else if (!begin(remote, facts[step.claim].claim, step.kind, calls, term, stop)) {
        due = now;  // as soon as the node's other call has ended
      }
    }
  }
  gauges.set("nomad.nomad.csi.claims", static_cast<double>(claims));
  gauges.set("nomad.nomad.csi.claims_failing", static_cast<double>(failing));
  if (!moved.moves().empty()) write(std::move(moved), term);
  return due;
}

bool ClaimKeeper::begin(const Remote& remote, const v1::CsiClaim& claim, NextStep::Kind kind,
                        const std::shared_ptr<Calls>& calls, uint64_t term, const std::stop_token& stop) {
  const Remote node = {remote.first, claim.external_node_id()};
  if (!calls->take(remote, node)) return false;
  const auto place = std::make_shared<Calls::Place>(calls, remote, node);
  host_->post([this, claim, kind, place, term, stop] { act(claim, kind, term, stop); });
  return true;
}

void ClaimKeeper::act(const v1::CsiClaim& claim, NextStep::Kind kind, uint64_t term, const std::stop_token& stop) {
  v1::CsiClaimsMoved moved;
  v1::CsiClaimMove& move = *moved.add_moves();
  Status status;
  const SteadyTime began = host_->clock().steady();
  switch (kind) {
    case NextStep::Kind::attach:
      move = move_of(claim, v1::CSI_CLAIM_STEP_ATTACHED);
      status = attach(claim, move, term, stop);
      break;
    case NextStep::Kind::release:
      move = move_of(claim, v1::CSI_CLAIM_STEP_NODE_RELEASED);
      status = release(claim, term, stop);
      break;
    default:
      move = move_of(claim, v1::CSI_CLAIM_STEP_UNSPECIFIED);
      status = detach(claim, term, stop);
  }
  host_->metrics().observe(std::string("nomad.nomad.csi.") + word_of(kind), host_->clock().steady() - began,
                           {{"result", status.ok() ? "ok" : "failed"}});
  if (stop.stop_requested()) return;  // whoever leads next asks again
  if (!status.ok()) {
    move.set_error(status.message().substr(0, kErrorLength));
    move.set_next_try(host_->clock().wall_ns() + pause_after(claim.attempts()));
    move.set_is_final(kind == NextStep::Kind::attach && is_final(status.code()));
    log::warn("volumes", std::string("cannot ") + word_of(kind) + " a volume",
              {{"namespace", claim.namespace_()},
               {"volume", claim.volume_id()},
               {"alloc", Uuid::from_bytes(claim.alloc_id()).to_string()},
               {"error", status.message()}});
  }
  write(std::move(moved), term);
}

Status ClaimKeeper::open_secrets_of(const v1::CsiClaim& claim, Texts& out) const {
  v1::SealedSecrets sealed = claim.secrets();
  const auto volume = tables_.volumes.get(*host_->snapshot(), csi_volume_key(claim.namespace_(), claim.volume_id()));
  if (volume) sealed = volume->secrets();
  return open_secrets(*keys_, sealed, claim.namespace_(), claim.volume_id(), out);
}

Status ClaimKeeper::attach(const v1::CsiClaim& claim, v1::CsiClaimMove& move, uint64_t term,
                           const std::stop_token& stop) const {
  v1::CsiAttachRequest request;
  request.set_leader_term(term);
  request.set_plugin_id(claim.plugin_id());
  request.set_external_volume_id(claim.external_volume_id());
  request.set_external_node_id(claim.external_node_id());
  request.mutable_capability()->set_access_mode(claim.access_mode());
  request.mutable_capability()->set_attachment_mode(claim.attachment_mode());
  *request.mutable_mount_options() = claim.mount_options();
  request.set_read_only(claim.read_only());
  *request.mutable_volume_context() = claim.volume_context();
  DROVER_RETURN_IF_ERROR(open_secrets_of(claim, *request.mutable_secrets()));
  DROVER_TRY(v1::CsiAttachResponse response,
             Controllers(*host_, tables_).call<v1::CsiAttachResponse>("Attach", std::move(request), stop));
  *move.mutable_publish_context() = std::move(*response.mutable_publish_context());
  return ok_status();
}

Status ClaimKeeper::release(const v1::CsiClaim& claim, uint64_t term, const std::stop_token& stop) const {
  v1::CsiReleaseRequest request;
  request.set_leader_term(term);
  request.set_node_id(claim.node_id());
  *request.mutable_claim() = claim;
  request.mutable_claim()->clear_secrets();
  return drover::call<v1::CsiDoneResponse>(host_->caller(), node_call(*host_, "Release", stop), request).status();
}

Status ClaimKeeper::detach(const v1::CsiClaim& claim, uint64_t term, const std::stop_token& stop) const {
  v1::CsiDetachRequest request;
  request.set_leader_term(term);
  request.set_plugin_id(claim.plugin_id());
  request.set_external_volume_id(claim.external_volume_id());
  request.set_external_node_id(claim.external_node_id());
  DROVER_RETURN_IF_ERROR(open_secrets_of(claim, *request.mutable_secrets()));
  return Controllers(*host_, tables_).call<v1::CsiDoneResponse>("Detach", std::move(request), stop).status();
}

void ClaimKeeper::write(v1::CsiClaimsMoved moved, uint64_t term) const {
  moved.set_time(host_->clock().wall_ns());
  const Status status = host_->propose(moved, host_->clock().steady() + kProposeTime, term).status();
  if (!status.ok()) log::warn("volumes", "steps of claims are not written", {{"error", status.message()}});
}

}  // namespace drover::volumes

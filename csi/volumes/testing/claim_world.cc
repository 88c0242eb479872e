#include "testing/claim_world.h"

#include <algorithm>
#include <utility>

#include "claims/claiming.h"
#include "drover/api/keyring.pb.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/node_csi.pb.h"
#include "volumes.pb.h"

namespace drover::volumes {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1000 * kMillisecond;
constexpr int64_t kUntilDown = 10 * kSecond;
constexpr int64_t kPeace = 600 * kSecond;
constexpr const char* kModes[] = {"single-node-writer", "multi-node-multi-writer", "multi-node-single-writer"};

std::string id_of(const std::string& name) { return (name + std::string(16, '.')).substr(0, 16); }
std::string secret_of(const std::string& node_id) { return id_of("s" + node_id); }

TableSpec root_keys() {
  return Table<v1::RootKey>::spec("root_keys", {}, [](const v1::RootKey& key, RowKeys& keys) {
    keys.primary(key.key_id());
  });
}

}  // namespace

ClaimWorld::ClaimWorld(uint64_t seed, Plant plant) : chance_(seed), plant_(plant) {
  rows_.add_table(nodes_table().spec());
  rows_.add_table(jobs_table().spec());
  rows_.add_table(job_versions_table().spec());
  rows_.add_table(allocs_table().spec());
  rows_.add_table(root_keys());
  if (!declare_tables(rows_, tables_).ok()) fail("tables");
  for (int i = 0; i < 3; ++i) {
    Machine machine{.id = id_of("node" + std::to_string(i)), .external_id = "ext-" + std::to_string(i)};
    set_node(machine, v1::NODE_STATUS_READY);
    machines_.push_back(std::move(machine));
  }
  v1::CsiVolumesRegistered command;
  const char* const mode = kModes[chance_.below(3)];
  // Two names mean the same volume of the storage.
  for (const char* name : {"a", "b", "a2"}) {
    v1::CsiVolume& volume = *command.add_volumes()->mutable_volume();
    volume.set_namespace_(name[1] ? "other" : "default");
    volume.set_id(name);
    volume.set_external_id(std::string("remote-") + name[0]);
    volume.set_plugin_id("plugin");
    volume.set_controller_required(true);
    auto& capability = *volume.add_requested_capabilities();
    capability.set_access_mode(name[0] == 'a' ? "multi-node-multi-writer" : mode);
    capability.set_attachment_mode("file-system");
  }
  if (!commit(command)) fail("volumes");
  dead_stay_dead_ = chance_.one_in(2);
}

std::string ClaimWorld::run(int steps) {
  for (int i = 0; i < steps && problem_.empty(); ++i) step();
  if (problem_.empty()) rest();
  return problem_;
}

void ClaimWorld::fail(const std::string& what) {
  if (problem_.empty()) problem_ = std::to_string(now_ / kMillisecond) + " ms: " + what;
}

void ClaimWorld::step() {
  now_ += chance_.between(1, 700) * kMillisecond;
  if (!is_calm_ && chance_.one_in(6)) people();
  if (!is_calm_ && chance_.one_in(12)) misfortune();
  calls();
  machines();
  lead();
  look();
}

// --- people --------------------------------------------------------------------------------------------------------

void ClaimWorld::start_job() {
  Machine& machine = machines_[static_cast<size_t>(chance_.below(3))];
  if (!machine.is_alive || !rows_.get(tables_.nodes, machine.id)) return;
  const char* const volumes[] = {"a", "b", "a2"};
  const std::string volume = volumes[chance_.below(3)];
  const auto row = tables_.volumes.get(rows_, csi_volume_key(volume.size() > 1 ? "other" : "default", volume));
  if (!row) return;
  const std::string name = "job" + std::to_string(index_);
  v1::Job job;
  job.set_namespace_(row->namespace_());
  job.set_id(name);
  v1::TaskGroup& group = *job.add_task_groups();
  group.set_name("g");
  v1::VolumeRequest& request = (*group.mutable_volumes())["v"];
  request.set_type("csi");
  request.set_source(volume);
  request.set_access_mode(row->requested_capabilities(0).access_mode());
  request.set_attachment_mode("file-system");
  request.set_read_only(chance_.one_in(3));
  v1::Allocation alloc;
  alloc.set_id(id_of(name));
  alloc.set_name(name + ".g[0]");
  alloc.set_namespace_(row->namespace_());
  alloc.set_job_id(name);
  alloc.set_task_group("g");
  alloc.set_node_id(machine.id);
  alloc.set_client_status(v1::CLIENT_STATUS_PENDING);
  alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
  rows_.begin(++index_);
  if (!Table<v1::Job>(tables_.job_versions).put(rows_, job).ok() ||
      !Table<v1::Allocation>(tables_.allocs).put(rows_, alloc).ok())
    fail("a job");
  machine.work[alloc.id()] = {};
}

void ClaimWorld::people() {
  if (chance_.below(3) < 2) return start_job();
  std::vector<std::string> ids;
  for (auto at = rows_.scan(tables_.allocs, kPrimary, KeyRange::all()); at->valid(); at->next())
    ids.emplace_back(at->key());
  if (ids.empty()) return;
  const std::string& id = ids[static_cast<size_t>(chance_.below(static_cast<int>(ids.size())))];
  auto alloc = *Table<v1::Allocation>(tables_.allocs).get(rows_, id);
  rows_.begin(++index_);
  if (has_ended(rows_, tables_, id)) {
    if (chance_.one_in(2)) rows_.erase(tables_.allocs, id);  // it is forgotten
    return;
  }
  alloc.set_desired_status(v1::DESIRED_STATUS_STOP);
  if (!Table<v1::Allocation>(tables_.allocs).put(rows_, alloc).ok()) fail("a stop");
}

void ClaimWorld::misfortune() {
  Machine& machine = machines_[static_cast<size_t>(chance_.below(3))];
  switch (chance_.below(5)) {
    case 0: {  // another leader; calls of the former one go on, late
      ++term_;
      const int64_t later = chance_.below(15'000) * kMillisecond;
      for (CallUnderWay& call : calls_) {
        if (std::exchange(call.has_leader, false) && !call.is_effective) call.effect_at += later, call.answer_at += later;
      }
      return;
    }
    case 1:
      machine.is_agent_up = !machine.is_agent_up;
      return;
    case 2:
      machine.is_alive = false;
      machine.silent_since = now_;
      return;
    case 3:  // it is purged
      if (machine.is_alive) return;
      lose_work(machine);
      rows_.begin(++index_);
      rows_.erase(tables_.nodes, machine.id);
      return;
    default: {
      v1::CsiVolumeDeregistered command;
      command.set_namespace_("default");
      command.set_id(chance_.one_in(2) ? "a" : "b");
      command.set_force(true);
      (void)commit(command);  // refused while it is in use
    }
  }
}

// --- machines ------------------------------------------------------------------------------------------------------

void ClaimWorld::set_node(const Machine& machine, v1::NodeStatus status) {
  v1::Node node;
  node.set_id(machine.id);
  node.set_secret_id(secret_of(machine.id));
  node.set_status(status);
  v1::CsiInfo& here = (*node.mutable_csi_node_plugins())["plugin"];
  here.set_healthy(true);
  here.set_requires_controller_plugin(true);
  here.mutable_node_info()->set_id(machine.external_id);
  v1::CsiInfo& controller = (*node.mutable_csi_controller_plugins())["plugin"];
  controller.set_healthy(true);
  controller.set_requires_controller_plugin(true);
  controller.mutable_controller_info()->set_supports_attach_detach(true);
  rows_.begin(++index_);
  if (!Table<v1::Node>(tables_.nodes).put(rows_, node).ok()) fail("a node");
}

void ClaimWorld::set_alloc(const std::string& alloc_id, v1::ClientStatus status) {
  auto alloc = Table<v1::Allocation>(tables_.allocs).get(rows_, alloc_id);
  if (!alloc || alloc->client_status() == status) return;
  alloc->set_client_status(status);
  alloc->set_modify_time(now_);
  rows_.begin(++index_);
  if (!Table<v1::Allocation>(tables_.allocs).put(rows_, *alloc).ok()) fail("an allocation");
}

void ClaimWorld::lose_work(const Machine& machine) {
  for (const auto& [id, work] : machine.work) {
    if (!has_ended(rows_, tables_, id)) set_alloc(id, v1::CLIENT_STATUS_LOST);
  }
}

void ClaimWorld::machines() {
  for (Machine& machine : machines_) {
    if (!machine.is_alive) {
      const auto node = Table<v1::Node>(tables_.nodes).get(rows_, machine.id);
      if (node && node->status() == v1::NODE_STATUS_READY && now_ - machine.silent_since > kUntilDown) {
        set_node(machine, v1::NODE_STATUS_DOWN);
        lose_work(machine);
      }
      if (is_calm_ ? !dead_stay_dead_ : chance_.one_in(40)) {  // it is back, with nothing left of before
        machine = {.id = machine.id, .external_id = machine.external_id};
        for (auto at = rows_.scan(tables_.allocs, kAllocsByNode, of_id(machine.id)); at->valid(); at->next()) {
          const auto alloc = Table<v1::Allocation>::parse(at->row());
          if (!has_ended(rows_, tables_, alloc.id())) machine.work[alloc.id()].state = Work::State::stopped;
        }
        set_node(machine, v1::NODE_STATUS_READY);
      }
      continue;
    }
    if (is_calm_) machine.is_agent_up = true;
    if (!machine.is_agent_up) continue;
    for (auto& [id, work] : machine.work) serve(machine, id, work);
    std::erase_if(machine.work, [](const auto& each) { return each.second.is_release_told; });
  }
}

// An agent looks after one allocation when its turn comes.
void ClaimWorld::serve(Machine& machine, const std::string& alloc_id, Work& work) {
  const auto alloc = Table<v1::Allocation>(tables_.allocs).get(rows_, alloc_id);
  const bool is_to_end =
      !alloc || alloc->desired_status() != v1::DESIRED_STATUS_RUN || has_ended(rows_, tables_, alloc_id);
  if (work.state == Work::State::waits && !is_to_end) {
    if (chance_.one_in(3)) claim(machine, alloc_id);  // an agent asks again after a while
    return;
  }
  if (work.state != Work::State::stopped && chance_.one_in(is_to_end ? 5 : 60)) {
    work.state = Work::State::stopped;  // its task has ended; unmounting takes a while longer
    return;
  }
  if (work.state != Work::State::stopped) return;
  if (chance_.one_in(3)) return;
  machine.mounts.erase(alloc_id);
  set_alloc(alloc_id, v1::CLIENT_STATUS_COMPLETE);
  if (chance_.one_in(4)) return;  // the servers do not hear of it yet
  if (is_calm_ || !chance_.one_in(5)) {
    tables_.claims.scan(rows_, kClaimsByAlloc, of_id(alloc_id), [&](const v1::CsiClaim& found, std::string_view) {
      v1::CsiClaimsMoved command;
      command.set_time(now_);
      *command.add_moves() = move_of(found, v1::CSI_CLAIM_STEP_NODE_RELEASED);
      if (found.step() != v1::CSI_CLAIM_STEP_NODE_RELEASED) (void)commit(command);
      return false;
    });
  }
  work.is_release_told = true;
}

void ClaimWorld::claim(Machine& machine, const std::string& alloc_id) {
  const auto alloc = *Table<v1::Allocation>(tables_.allocs).get(rows_, alloc_id);
  const auto job = Table<v1::Job>(tables_.job_versions)
                       .get(rows_, job_version_key(alloc.namespace_(), alloc.job_id(), alloc.job_version()));
  const v1::VolumeRequest& wanted = job->task_groups(0).volumes().at("v");
  v1::CsiClaimRequest request;
  v1::CsiClaimName& name = *request.mutable_name();
  name.set_node_id(machine.id);
  name.set_secret_id(secret_of(machine.id));
  name.set_alloc_id(alloc_id);
  name.set_volume_id(wanted.source());
  request.set_read_only(wanted.read_only());
  request.set_access_mode(wanted.access_mode());
  request.set_attachment_mode(wanted.attachment_mode());
  v1::CsiClaimed command;
  auto decided = decide_claim(rows_, tables_, request, now_);
  if (!decided) return;
  if (decided->create_index() == 0) {
    *command.mutable_claim() = *decided;
    (void)commit(command);
    return;
  }
  if (decided->step() != v1::CSI_CLAIM_STEP_ATTACHED) return;
  if (decided->publish_context().count("device") == 0) return fail("attached without a publish context");
  machine.mounts[alloc_id] = {.remote = decided->external_volume_id(), .writes = !decided->read_only()};
  machine.work[alloc_id].state = Work::State::runs;
  set_alloc(alloc_id, v1::CLIENT_STATUS_RUNNING);
}

// --- the leader ----------------------------------------------------------------------------------------------------

std::vector<ClaimFacts> ClaimWorld::disturbed(std::vector<ClaimFacts> facts) const {
  if (has(Plant::none)) return facts;
  for (ClaimFacts& each : facts) {
    const auto alloc = Table<v1::Allocation>(tables_.allocs).get(rows_, each.claim.alloc_id());
    if (has(Plant::servers_word_is_the_end) && alloc && alloc->desired_status() == v1::DESIRED_STATUS_STOP)
      each.has_ended = true, each.ended_at = 0;
    if (has(Plant::forgotten_keeps_its_claim)) each.has_ended &= alloc.has_value();
    if (has(Plant::gone_node_is_asked)) each.is_node_away &= rows_.get(tables_.nodes, each.claim.node_id()).has_value();
    if (has(Plant::skips_the_node) && each.claim.step() == v1::CSI_CLAIM_STEP_RELEASING) each.is_node_away = true;
    if (has(Plant::skips_the_node)) each.has_ended |= alloc && alloc->desired_status() == v1::DESIRED_STATUS_STOP;
    if (has(Plant::never_detaches) && each.claim.step() != v1::CSI_CLAIM_STEP_CLAIMED) each.claim.set_attaches(false);
    if (has(Plant::volume_gone_is_enough)) each.is_plugin_gone = each.is_volume_gone;
    if (has(Plant::failed_attach_is_nothing) && each.claim.publish_context().empty() &&
        each.claim.step() == v1::CSI_CLAIM_STEP_NODE_RELEASED)
      each.claim.set_attaches(false);
  }
  return facts;
}

void ClaimWorld::lead() {
  if (chance_.one_in(3)) return;  // it is slow
  std::set<Remote> busy;
  for (const CallUnderWay& call : calls_) {
    if (call.has_leader) busy.insert({call.claim.plugin_id(), call.claim.external_volume_id()});
  }
  v1::CsiClaimsMoved moved;
  moved.set_time(now_);
  std::map<Remote, std::vector<ClaimFacts>> groups = claim_groups(rows_, tables_);
  if (has(Plant::counts_by_name)) {
    std::map<Remote, std::vector<ClaimFacts>> by_name;
    for (auto& [remote, facts] : groups) {
      for (ClaimFacts& each : facts) {
        const Remote name = {each.claim.namespace_(), each.claim.volume_id()};
        by_name[name].push_back(std::move(each));
      }
    }
    groups = std::move(by_name);
  }
  for (auto& [remote, found] : groups) {
    const std::vector<ClaimFacts> facts = disturbed(std::move(found));
    const bool is_busy = busy.contains({facts[0].claim.plugin_id(), facts[0].claim.external_volume_id()});
    for (NextStep each : next_steps(facts, is_busy && !has(Plant::two_calls_at_once), now_).now) {
      const v1::CsiClaim& claim = facts[each.claim].claim;
      if (has(Plant::detaches_while_others_hold) && each.kind == NextStep::Kind::free && claim.attaches())
        each.kind = NextStep::Kind::detach;
      if (has(Plant::gives_up) && claim.attempts() >= 3 && claim.step() == v1::CSI_CLAIM_STEP_NODE_RELEASED)
        each.kind = NextStep::Kind::free, each.to = v1::CSI_CLAIM_STEP_UNSPECIFIED;
      if (each.kind == NextStep::Kind::move || each.kind == NextStep::Kind::free) {
        *moved.add_moves() = written(facts, each);
        continue;
      }
      CallUnderWay call{.kind = each.kind, .claim = claim, .term = term_};
      call.effect_at = now_ + chance_.between(1, 3000) * kMillisecond;
      call.answer_at = call.effect_at + chance_.between(1, 2000) * kMillisecond;
      if (!is_calm_ && chance_.one_in(4)) call.is_answer_lost = true;
      if (!is_calm_ && chance_.one_in(6)) call.has_effect = false;
      calls_.push_back(std::move(call));
    }
  }
  if (!moved.moves().empty() && !commit(moved)) fail("a move");
}

void ClaimWorld::calls() {
  for (CallUnderWay& call : calls_) {
    if (!call.is_effective && now_ >= call.effect_at) finish(call);
    if (call.is_effective && !call.is_answered && now_ >= call.answer_at) {
      call.is_answered = true;
      if (call.has_leader) answer(call);
    }
  }
  std::erase_if(calls_, [](const CallUnderWay& call) { return call.is_answered; });
}

void ClaimWorld::finish(CallUnderWay& call) {
  call.is_effective = true;
  call.result = call.has_effect ? effect(call) : unreachable();
  if (call.is_answer_lost) call.result = deadline_exceeded("late");
}

Status ClaimWorld::effect(const CallUnderWay& call) {
  if (call.kind == NextStep::Kind::release) return release_on_node(call.claim);
  uint64_t& heard = heard_terms_[call.claim.external_volume_id()];
  if (call.term < heard && !has(Plant::old_leaders_are_heard)) return aborted("a leader of before");
  heard = std::max(heard, call.term);
  const Remote remote = {call.claim.plugin_id(), call.claim.external_volume_id()};
  std::set<std::string>& nodes = attached_[remote];
  if (call.kind == NextStep::Kind::attach) {
    const bool is_single = call.claim.access_mode().starts_with("single-node");
    if (is_single && !nodes.empty() && !nodes.contains(call.claim.external_node_id()))
      return failed_precondition("attached elsewhere");
    nodes.insert(call.claim.external_node_id());
    return ok_status();
  }
  if (nodes.erase(call.claim.external_node_id()) == 0)
    return has(Plant::unknown_is_failure) ? not_found("not attached") : ok_status();
  for (const Machine& machine : machines_) {
    if (machine.external_id != call.claim.external_node_id() || !machine.is_alive) continue;
    for (const auto& [id, mount] : machine.mounts) {
      if (mount.remote == call.claim.external_volume_id()) fail("detached under a mount");
    }
  }
  return ok_status();
}

Status ClaimWorld::release_on_node(const v1::CsiClaim& claim) {
  for (Machine& machine : machines_) {
    if (machine.id != claim.node_id()) continue;
    if (!machine.is_alive || !machine.is_agent_up) return unreachable();
    const auto work = machine.work.find(claim.alloc_id());
    if (work != machine.work.end() && work->second.state != Work::State::stopped &&
        !has(Plant::servers_word_is_the_end))
      return failed_precondition("the allocation runs");
    machine.mounts.erase(claim.alloc_id());
    return ok_status();
  }
  return unreachable();
}

// As the way to a node says it, by where it ends.
Status ClaimWorld::unreachable() {
  return chance_.one_in(2) ? unavailable("nobody answers") : not_found("no path to node");
}

void ClaimWorld::answer(const CallUnderWay& call) {
  v1::CsiClaimsMoved moved;
  moved.set_time(now_);
  const bool attaches = call.kind == NextStep::Kind::attach;
  const v1::CsiClaimStep to = attaches                                    ? v1::CSI_CLAIM_STEP_ATTACHED
                              : call.kind == NextStep::Kind::release ? v1::CSI_CLAIM_STEP_NODE_RELEASED
                                                                     : v1::CSI_CLAIM_STEP_UNSPECIFIED;
  v1::CsiClaimMove& move = *moved.add_moves() = move_of(call.claim, to);
  const bool is_done =
      call.result.ok() || (has(Plant::no_path_is_undone) && !attaches && call.result.code() == Code::not_found);
  if (!is_done && !(has(Plant::error_is_done) && call.kind == NextStep::Kind::detach)) {
    move.set_error(call.result.message());
    move.set_next_try(now_ + pause_after(call.claim.attempts()));
    move.set_is_final(attaches && is_final(call.result.code()));
  } else if (attaches && !has(Plant::loses_the_context)) {
    (*move.mutable_publish_context())["device"] = "/dev/x";
  }
  if (!commit(moved)) fail("an answer");
}

// --- what must hold ------------------------------------------------------------------------------------------------

void ClaimWorld::look() {
  std::map<std::string, int> writers;
  for (const Machine& machine : machines_) {
    if (!machine.is_alive) continue;
    for (const auto& [id, work] : machine.work) {
      if (work.state == Work::State::runs && !machine.mounts.contains(id)) fail("unmounted under a task");
    }
    for (const auto& [id, mount] : machine.mounts) {
      const auto nodes = attached_.find({"plugin", mount.remote});
      if (nodes == attached_.end() || !nodes->second.contains(machine.external_id))
        fail("a mount without an attachment");
      writers[mount.remote] += mount.writes;
    }
  }
  const auto volume = tables_.volumes.get(rows_, csi_volume_key("default", "b"));
  if (volume && volume->requested_capabilities(0).access_mode() != "multi-node-multi-writer" && writers["remote-b"] > 1)
    fail("two writers");
  std::map<Remote, int> busy;
  for (const CallUnderWay& call : calls_) {
    if (call.has_leader && ++busy[{call.claim.plugin_id(), call.claim.external_volume_id()}] > 1)
      fail("two calls for one volume");
  }
}

// Everything is stopped and nothing fails any more: all must be given back in bounded time.
void ClaimWorld::rest() {
  is_calm_ = true;
  std::vector<v1::Allocation> allocs;
  for (auto at = rows_.scan(tables_.allocs, kPrimary, KeyRange::all()); at->valid(); at->next())
    allocs.push_back(Table<v1::Allocation>::parse(at->row()));
  for (v1::Allocation& alloc : allocs) {
    alloc.set_desired_status(v1::DESIRED_STATUS_STOP);
    rows_.begin(++index_);
    if (!Table<v1::Allocation>(tables_.allocs).put(rows_, alloc).ok()) fail("a stop");
  }
  const int64_t end = now_ + kPeace;
  while (now_ < end && problem_.empty()) {
    step();
    if (rows_.row_count(tables_.claims.id()) == 0 && calls_.empty()) break;
  }
  if (rows_.row_count(tables_.claims.id()) > 0) fail("a claim is stuck");
  for (const auto& [remote, nodes] : attached_) {
    if (!nodes.empty()) fail("an attachment is left over");
  }
  for (const Machine& machine : machines_) {
    if (machine.is_alive && !machine.mounts.empty()) fail("a mount is left over");
  }
  tables_.volumes.scan(rows_, kPrimary, KeyRange::all(), [&](v1::CsiVolume& volume, std::string_view) {
    if (has(Plant::keeps_the_mode)) volume.set_access_mode("single-node-writer");
    if (!volume.access_mode().empty()) fail("a mode without a claim");
    return true;
  });
}

}  // namespace drover::volumes

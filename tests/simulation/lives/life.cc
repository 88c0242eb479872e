#include "life.h"

#include <cstdio>

#include "drover/api/nodes.pb.h"
#include "drover/uuid.h"

namespace drover::lives {
namespace {

using namespace std::chrono_literals;

std::string short_id(const std::string& id) { return Uuid::from_bytes(id).to_string().substr(0, 8); }

std::string text_of(const v1::Allocation& alloc) {
  std::string text = v1::DesiredStatus_Name(alloc.desired_status()).substr(15) + "/" +
                     v1::ClientStatus_Name(alloc.client_status()).substr(14);
  if (alloc.deployment_status().has_healthy()) text += alloc.deployment_status().healthy() ? " healthy" : " unhealthy";
  if (alloc.deployment_status().canary()) text += " canary";
  if (alloc.desired_transition().migrate()) text += " migrates";
  if (alloc.desired_transition().reschedule()) text += " reschedules";
  return text;
}

}  // namespace

Life::Life(uint64_t seed, bool tells)
    : tells_(tells), random_((seed_identifiers(seed), seed)), rows_(server_.host()), operator_(server_, random_) {
  for (int i = random_.between(2, 6); i > 0; --i) add_machine(random_.between(1, 4) * 500, random_.one_in(2));
}

void Life::add_machine(int64_t cpu, bool is_of_kind_a) {
  const std::string name = "n" + std::to_string(machines_.size());
  machines_.push_back(std::make_unique<Machine>(server_, random_, name, cpu, is_of_kind_a));
  say(name + (is_of_kind_a ? " of kind a" : "") + " comes with " + std::to_string(cpu));
}

Machine& Life::a_machine() {
  return *machines_[static_cast<size_t>(random_.below(static_cast<int>(machines_.size())))];
}

void Life::say(const std::string& what) {
  if (!tells_) return;
  char when[32];
  std::snprintf(when, sizeof when, "%9.1f s  ", std::chrono::duration<double>(server_.host().time.since()).count());
  transcript_.push_back(when + what);
}

void Life::run() {
  pass(5s, 1s);
  for (int i = random_.between(20, 60); i > 0 && problems_.empty(); --i) step();
  if (problems_.empty()) come_to_rest();
}

void Life::step() {
  if (random_.one_in(3)) {
    fault();
  } else if (random_.one_in(6)) {
    say(operator_.act_on(a_machine().id()));
  } else {
    say(operator_.act(rows_));
  }
  switch (random_.below(5)) {
    case 0:
      return turn();
    case 1:
      return pass(std::chrono::seconds(random_.between(20, 200)), 10s);
    default:
      return pass(std::chrono::seconds(random_.between(1, 20)), 2s);
  }
}

void Life::fault() {
  Machine& machine = a_machine();
  switch (random_.below(8)) {
    case 0:
    case 1:
      machine.silence();
      return say(machine.name() + " falls silent");
    case 2:
    case 3:
      for (const auto& each : machines_) {
        if (each->is_silent() && random_.one_in(2)) {
          each->speak();
          say(each->name() + " speaks again");
        }
      }
      return;
    case 4:
      machine.crash();
      return say(machine.name() + " starts anew");
    case 5:
      if (holds_) {
        say("the log goes on");
        server_.host().release();
      } else {
        say("the log commits no more plans");
        server_.host().hold();
      }
      holds_ = !holds_;
      return;
    case 6: {
      const int kept = random_.below(3);
      say("another leader, who keeps " + std::to_string(kept) + " of what is in the log");
      return server_.change_leader(static_cast<size_t>(kept));
    }
    default: {
      if (machines_.size() > 7) return;
      if (!random_.one_in(3)) return add_machine(random_.between(1, 4) * 500, random_.one_in(2));
      say(machine.name() + " is taken away");
      machine.remove();
      return;
    }
  }
}

// Time passes, and everybody does what is due.
void Life::pass(std::chrono::nanoseconds time, std::chrono::nanoseconds pace) {
  for (std::chrono::nanoseconds left = time; left > 0ns && problems_.empty(); left -= pace) {
    server_.host().time.advance(pace);
    turn();
  }
}

void Life::turn() {
  for (const auto& machine : machines_) {
    (void)machine->act(weather_);
    look();
  }
  for (int i = random_.between(1, 6); i > 0 && problems_.empty(); --i) {
    const bool more = server_.turn(random_.between(1, 3));
    look();
    if (!more) return;
  }
}

// Checks what was committed since the last look.
void Life::look() {
  Commit commit;
  while (problems_.empty() && server_.next_commit(rows_, commit)) {
    ++commits_;
    if (tells_) note(commit);
    problems_ = broken_invariants(rows_, commit, server_.now());
  }
}

void Life::note(const Commit& commit) {
  for (const auto& changed : commit.allocs) {
    const auto at = rows_.allocs.find(changed.id);
    if (at == rows_.allocs.end()) continue;
    const std::string text = text_of(at->second);
    if (changed.before && text_of(*changed.before) == text &&
        changed.before->job_version() == at->second.job_version()) {
      continue;
    }
    say("  " + std::to_string(commit.index) + " " + named(at->second) + " v" +
        std::to_string(at->second.job_version()) + " on " + at->second.node_name() + ": " + text +
        (at->second.desired_description().empty() ? "" : " (" + at->second.desired_description() + ")") +
        (changed.before || at->second.previous_allocation().empty()
             ? ""
             : " after " + short_id(at->second.previous_allocation())));
  }
  for (const auto& [id, eval] : rows_.evals) {
    if (eval.modify_index() != commit.index) continue;
    say("  " + std::to_string(commit.index) + " eval " + short_id(id) + " of " + eval.job_id() + " " +
        eval.triggered_by() + ": " + v1::EvalStatus_Name(eval.status()).substr(12) + " " + eval.status_description());
  }
  for (const auto& [id, deployment] : rows_.deployments) {
    if (deployment.modify_index() != commit.index) continue;
    std::string text;
    for (const auto& [name, group] : deployment.task_groups()) {
      text += ", " + std::to_string(group.healthy_allocs()) + " healthy of " + std::to_string(group.desired_total()) +
              ", canaries " + std::to_string(group.placed_canaries_size()) + " of " +
              std::to_string(group.desired_canaries()) + (group.promoted() ? " promoted" : "");
    }
    say("  " + std::to_string(commit.index) + " deployment " + short_id(id) + " of " + deployment.job_id() + " v" +
        std::to_string(deployment.job_version()) + ": " + deployment.status_description() + text);
  }
  for (const auto& [id, node] : rows_.nodes) {
    if (node.modify_index() != commit.index) continue;
    say("  " + std::to_string(commit.index) + " node " + node.name() + ": " +
        v1::NodeStatus_Name(node.status()).substr(12) + " " + node.scheduling_eligibility() +
        (node.drain() ? " drains" : ""));
  }
}

// Faults stop. The machines that are left speak, what waits for people is decided, and there is room.
void Life::come_to_rest() {
  say("peace");
  weather_ = {.fails_one_in = 0, .unhealthy_one_in = 0};
  if (holds_) server_.host().release();
  holds_ = false;
  for (const auto& machine : machines_) {
    machine->speak();
    if (!machine->is_removed()) continue;
    v1::NodeRequest purge;
    purge.set_node_id(machine->id());
    (void)server_.call<v1::NodeUpdateResponse>("/drover.v1.Nodes/Purge", purge);
  }
  for (int i = 0; i < 6; ++i) add_machine(8000, /*is_of_kind_a=*/true);
  Problems left;
  for (int minutes = 0; minutes < 180 && problems_.empty(); minutes += 5) {
    pass(5min, 20s);
    if (problems_.empty() && (left = unfinished(rows_)).empty()) return;
    if (const std::string did = operator_.tidy(rows_); !did.empty()) say(did);
  }
  if (problems_.empty()) problems_ = left;
}

}  // namespace drover::lives

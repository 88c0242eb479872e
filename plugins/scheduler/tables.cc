#include "tables.h"

#include <set>

#include "alloc_state.h"
#include "drover/keys.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "scheduler.pb.h"

namespace drover::scheduler {
namespace {

using Bytes = std::string_view;
using Keys = std::vector<std::string>;

// Writes rows of one entry and tells the owner of jobs about every job they belong to.
class Writer {
 public:
  Writer(const Tables& tables, ApplyContext& context, int64_t time)
      : tables_(tables), context_(context), rows_(context.rows()), time_(time) {}

  Status put(v1::Evaluation eval) {
    const auto existing = tables_.evals.get(rows_, eval.id());
    eval.set_create_index(existing ? existing->create_index() : context_.index());
    if (existing) eval.set_create_time(existing->create_time());
    if (eval.create_time() == 0) eval.set_create_time(time_);
    eval.set_modify_index(context_.index());
    eval.set_modify_time(time_);
    eval.clear_related_evals();
    touch(eval.namespace_(), eval.job_id());
    if (eval.status() == v1::EVAL_STATUS_BLOCKED && !(existing && existing->status() == v1::EVAL_STATUS_BLOCKED)) {
      DROVER_RETURN_IF_ERROR(
          cancel_blocked(eval, "existing blocked evaluation exists for job \"" + eval.job_id() + "\""));
    } else if (eval.status() == v1::EVAL_STATUS_COMPLETE && eval.failed_tg_allocs().empty() &&
               eval.blocked_eval().empty()) {
      // Everything found its place: nothing is left to wait for.
      DROVER_RETURN_IF_ERROR(
          cancel_blocked(eval, "evaluation \"" + Uuid::from_bytes(eval.id()).to_string() + "\" successful"));
    }
    return tables_.evals.put(rows_, eval);
  }

  Status put(google::protobuf::RepeatedPtrField<v1::Evaluation> evals) {
    for (v1::Evaluation& eval : evals) DROVER_RETURN_IF_ERROR(put(std::move(eval)));
    return ok_status();
  }

  // A change made by a server: its node shall know.
  Status put(v1::Allocation alloc) {
    alloc.set_alloc_modify_index(context_.index());
    return put_client_side(std::move(alloc));
  }
  Status put_client_side(v1::Allocation alloc) {
    alloc.set_modify_index(context_.index());
    touch(alloc.namespace_(), alloc.job_id());
    return tables_.allocs.put(rows_, alloc);
  }

  void touch(const std::string& name_space, const std::string& job_id) {
    if (!job_id.empty()) jobs_.emplace(name_space, job_id);
  }

  // Last of all.
  Status tell_jobs() {
    for (const auto& [name_space, job_id] : jobs_) {
      v1::JobStatusChanged changed;
      changed.set_namespace_(name_space);
      changed.set_job_id(job_id);
      tables_.allocs.scan(rows_, kAllocsByJob, of_job(name_space, job_id), [&](v1::Allocation& alloc, Bytes) {
        changed.set_has_any(true);
        changed.set_has_live_allocs(!terminal(alloc));
        return !changed.has_live_allocs();
      });
      tables_.evals.scan(rows_, kEvalsByJob, of_job(name_space, job_id), [&](v1::Evaluation& eval, Bytes) {
        changed.set_has_any(true);
        changed.set_has_open_evals(is_open(eval));
        return !changed.has_open_evals();
      });
      DROVER_RETURN_IF_ERROR(also(context_, changed));
    }
    return ok_status();
  }

 private:
  Status cancel_blocked(const v1::Evaluation& by, const std::string& why) {
    std::vector<v1::Evaluation> blocked;
    tables_.evals.scan(rows_, kEvalsByJob, of_job(by.namespace_(), by.job_id()), [&](v1::Evaluation& eval, Bytes) {
      if (eval.status() == v1::EVAL_STATUS_BLOCKED && eval.id() != by.id()) blocked.push_back(std::move(eval));
      return true;
    });
    for (v1::Evaluation& eval : blocked) {
      eval.set_status(v1::EVAL_STATUS_CANCELED);
      eval.set_status_description(why);
      eval.set_modify_index(context_.index());
      eval.set_modify_time(time_);
      DROVER_RETURN_IF_ERROR(tables_.evals.put(rows_, eval));
    }
    return ok_status();
  }

  const Tables& tables_;
  ApplyContext& context_;
  WriteTransaction& rows_;
  const int64_t time_;
  std::set<std::pair<std::string, std::string>> jobs_;
};

class Commands {
 public:
  explicit Commands(const Tables& tables) : tables_(tables) {}

  Result<std::string> evals_updated(const v1::EvalsUpdated& command, ApplyContext& context) const {
    Writer writer(tables_, context, command.time());
    DROVER_RETURN_IF_ERROR(writer.put(command.evaluations()));
    DROVER_RETURN_IF_ERROR(writer.tell_jobs());
    return std::string();
  }

  Result<std::string> evals_deleted(const v1::EvalsDeleted& command, ApplyContext& context) const {
    WriteTransaction& rows = context.rows();
    for (const std::string& id : command.eval_ids()) tables_.evals.erase(rows, id);
    for (const std::string& id : command.alloc_ids()) tables_.allocs.erase(rows, id);
    return std::string();
  }

  Result<std::string> plan_applied(const v1::PlanApplied& command, ApplyContext& context) const {
    Writer writer(tables_, context, command.time());
    WriteTransaction& rows = context.rows();
    for (const v1::AllocationDelta& delta : command.changed()) {
      auto alloc = tables_.allocs.get(rows, delta.id());
      if (!alloc) continue;  // collected meanwhile: nothing is left to change
      change(*alloc, delta, command.time());
      DROVER_RETURN_IF_ERROR(writer.put(*std::move(alloc)));
    }
    for (v1::Allocation alloc : command.placed()) {
      alloc.set_create_index(context.index());
      alloc.set_create_time(command.time());
      alloc.set_modify_time(command.time());
      if (!alloc.previous_allocation().empty()) {
        if (auto previous = tables_.allocs.get(rows, alloc.previous_allocation())) {
          previous->set_next_allocation(alloc.id());
          DROVER_RETURN_IF_ERROR(writer.put(*std::move(previous)));
        }
      }
      DROVER_RETURN_IF_ERROR(writer.put(std::move(alloc)));
    }
    DROVER_RETURN_IF_ERROR(writer.put(command.evaluations()));
    DROVER_RETURN_IF_ERROR(writer.tell_jobs());
    return std::string();
  }

  Result<std::string> allocations_reported(const v1::AllocationsReported& command, ApplyContext& context) const {
    Writer writer(tables_, context, command.time());
    WriteTransaction& rows = context.rows();
    for (const v1::Allocation& report : command.allocations()) {
      auto alloc = tables_.allocs.get(rows, report.id());
      if (!alloc) continue;  // collected meanwhile
      auto node = Table<v1::Node>(tables_.nodes).get(rows, alloc->node_id());
      if (!node) return not_found("node " + Uuid::from_bytes(alloc->node_id()).to_string() + " not found");
      if (node->status() == v1::NODE_STATUS_DOWN || node->status() == v1::NODE_STATUS_DISCONNECTED) {
        return failed_precondition("node " + Uuid::from_bytes(node->id()).to_string() +
                                   " is not allowed to update allocs while in status " +
                                   std::string(status_text(node->status())));
      }
      alloc->set_client_status(report.client_status());
      alloc->set_client_description(report.client_description());
      *alloc->mutable_task_states() = report.task_states();
      if (report.has_network_status()) *alloc->mutable_network_status() = report.network_status();
      alloc->set_modify_time(command.time());
      DROVER_RETURN_IF_ERROR(writer.put_client_side(*std::move(alloc)));
    }
    DROVER_RETURN_IF_ERROR(writer.put(command.evaluations()));
    DROVER_RETURN_IF_ERROR(writer.tell_jobs());
    return std::string();
  }

  Result<std::string> allocations_transitioned(const v1::AllocationsTransitioned& command,
                                               ApplyContext& context) const {
    Writer writer(tables_, context, command.time());
    for (const std::string& id : command.alloc_ids()) {
      auto alloc = tables_.allocs.get(context.rows(), id);
      if (!alloc) return not_found("alloc " + Uuid::from_bytes(id).to_string() + " not found");
      alloc->mutable_desired_transition()->MergeFrom(command.transition());
      alloc->set_modify_time(command.time());
      DROVER_RETURN_IF_ERROR(writer.put(*std::move(alloc)));
    }
    DROVER_RETURN_IF_ERROR(writer.put(command.evaluations()));
    DROVER_RETURN_IF_ERROR(writer.tell_jobs());
    return std::string();
  }

 private:
  static void change(v1::Allocation& alloc, const v1::AllocationDelta& delta, int64_t time) {
    if (delta.desired_status() != v1::DESIRED_STATUS_UNSPECIFIED) alloc.set_desired_status(delta.desired_status());
    if (!delta.desired_description().empty()) alloc.set_desired_description(delta.desired_description());
    // What its node has said about the end stays true.
    if (delta.client_status() != v1::CLIENT_STATUS_UNSPECIFIED && !client_terminal(alloc)) {
      alloc.set_client_status(delta.client_status());
      alloc.set_client_description(delta.client_description());
    }
    if (!delta.next_allocation().empty()) alloc.set_next_allocation(delta.next_allocation());
    if (!delta.followup_eval_id().empty()) alloc.set_followup_eval_id(delta.followup_eval_id());
    if (delta.has_job_version()) alloc.set_job_version(delta.job_version());
    if (delta.has_allocated_resources()) *alloc.mutable_allocated_resources() = delta.allocated_resources();
    // The end of an allocation that says no time itself is when its node last reported.
    if (!client_terminal(alloc)) alloc.set_modify_time(time);
  }

  const Tables tables_;
};

template <typename Row>
Row parse(Bytes row) {
  return Table<Row>::parse(row);
}

TableSpec evals_table() {
  return {.name = "evals",
          .message = "drover.v1.Evaluation",
          .key = [](Bytes row) { return parse<v1::Evaluation>(row).id(); },
          .indexes = {
              {.name = "creation",
               .keys =
                   [](Bytes row, Keys& keys) {
                     const auto eval = parse<v1::Evaluation>(row);
                     keys.push_back(KeyBuilder().number(eval.create_index()).id(eval.id()).take());
                   }},
              {.name = "job",
               .keys =
                   [](Bytes row, Keys& keys) {
                     const auto eval = parse<v1::Evaluation>(row);
                     keys.push_back(KeyBuilder().text(eval.namespace_()).text(eval.job_id()).id(eval.id()).take());
                   }},
              {.name = "status",
               .keys =
                   [](Bytes row, Keys& keys) {
                     const auto eval = parse<v1::Evaluation>(row);
                     keys.push_back(KeyBuilder().byte(static_cast<uint8_t>(eval.status())).id(eval.id()).take());
                   }},
          }};
}

TableSpec allocs_table() {
  return {.name = "allocs",
          .message = "drover.v1.Allocation",
          .key = [](Bytes row) { return parse<v1::Allocation>(row).id(); },
          .indexes = {
              {.name = "creation",
               .keys =
                   [](Bytes row, Keys& keys) {
                     const auto alloc = parse<v1::Allocation>(row);
                     keys.push_back(KeyBuilder().number(alloc.create_index()).id(alloc.id()).take());
                   }},
              {.name = "job",
               .keys =
                   [](Bytes row, Keys& keys) {
                     const auto alloc = parse<v1::Allocation>(row);
                     keys.push_back(KeyBuilder().text(alloc.namespace_()).text(alloc.job_id()).id(alloc.id()).take());
                   }},
              {.name = "node",
               .keys =
                   [](Bytes row, Keys& keys) {
                     const auto alloc = parse<v1::Allocation>(row);
                     keys.push_back(KeyBuilder().id(alloc.node_id()).id(alloc.id()).take());
                   }},
              {.name = "eval",
               .keys =
                   [](Bytes row, Keys& keys) {
                     const auto alloc = parse<v1::Allocation>(row);
                     keys.push_back(KeyBuilder().id(alloc.eval_id()).id(alloc.id()).take());
                   }},
          }};
}

}  // namespace

KeyRange of_id(std::string_view id) { return KeyRange::prefix(KeyBuilder().id(id).view()); }

KeyRange with_status(v1::EvalStatus status) {
  return KeyRange::prefix(KeyBuilder().byte(static_cast<uint8_t>(status)).view());
}

bool is_open(const v1::Evaluation& eval) {
  return eval.status() == v1::EVAL_STATUS_PENDING || eval.status() == v1::EVAL_STATUS_BLOCKED;
}

std::string_view status_text(v1::NodeStatus status) {
  switch (status) {
    case v1::NODE_STATUS_INITIALIZING:
      return "initializing";
    case v1::NODE_STATUS_READY:
      return "ready";
    case v1::NODE_STATUS_DOWN:
      return "down";
    case v1::NODE_STATUS_DISCONNECTED:
      return "disconnected";
    default:
      return "unknown";
  }
}

Status declare_tables(Declarations& declare, Tables& tables) {
  DROVER_TRY(TableId evals, declare.table(evals_table()));
  DROVER_TRY(TableId allocs, declare.table(allocs_table()));
  tables.evals = Table<v1::Evaluation>(evals);
  tables.allocs = Table<v1::Allocation>(allocs);
  DROVER_TRY(tables.jobs, declare.other_table("jobs"));
  DROVER_TRY(tables.job_versions, declare.other_table("job_versions"));
  DROVER_TRY(tables.nodes, declare.other_table("nodes"));
  auto commands = std::make_shared<Commands>(tables);
  DROVER_RETURN_IF_ERROR(declare.command<v1::EvalsUpdated>(
      [commands](const v1::EvalsUpdated& c, ApplyContext& context) { return commands->evals_updated(c, context); }));
  DROVER_RETURN_IF_ERROR(declare.command<v1::EvalsDeleted>(
      [commands](const v1::EvalsDeleted& c, ApplyContext& context) { return commands->evals_deleted(c, context); }));
  DROVER_RETURN_IF_ERROR(declare.command<v1::PlanApplied>(
      [commands](const v1::PlanApplied& c, ApplyContext& context) { return commands->plan_applied(c, context); }));
  DROVER_RETURN_IF_ERROR(
      declare.command<v1::AllocationsReported>([commands](const v1::AllocationsReported& c, ApplyContext& context) {
        return commands->allocations_reported(c, context);
      }));
  return declare.command<v1::AllocationsTransitioned>(
      [commands](const v1::AllocationsTransitioned& c, ApplyContext& context) {
        return commands->allocations_transitioned(c, context);
      });
}

}  // namespace drover::scheduler

#include "rpc.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "alloc_details.h"
#include "deleting/delete_evals.h"
#include "drover/allocation_stub.h"
#include "drover/message_fields.h"
#include "drover/model/evaluation.h"
#include "drover/model/listing.h"
#include "drover/options.pb.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "scheduler.pb.h"

namespace drover::scheduler {
namespace {

// Rows may vanish from a list without any other row changing, so the whole table's index speaks for it.
void set_list_index(Call& call, TableId table) { call.set_index(call.view().table_index(table)); }

std::optional<v1::EvalStatus> eval_status(std::string_view text) {
  static constexpr std::pair<std::string_view, v1::EvalStatus> kNames[] = {{"blocked", v1::EVAL_STATUS_BLOCKED},
                                                                           {"pending", v1::EVAL_STATUS_PENDING},
                                                                           {"complete", v1::EVAL_STATUS_COMPLETE},
                                                                           {"failed", v1::EVAL_STATUS_FAILED},
                                                                           {"canceled", v1::EVAL_STATUS_CANCELED}};
  for (const auto& [name, status] : kNames) {
    if (name == text) return status;
  }
  return std::nullopt;
}

// Adds the rows of the evaluations that a list request wants, of the page that was asked for.
template <typename Add>
Status list_evaluations(const Tables& tables, const v1::ListEvaluationsRequest& request, Call& call, Add add) {
  std::optional<v1::EvalStatus> status;
  if (!request.status().empty()) {
    status = eval_status(request.status());
    if (!status) return invalid_argument("evaluation status \"" + request.status() + "\" is unknown");
  }
  using Eval = v1::Evaluation;
  DROVER_TRY(const Listing listing, Listing::by_creation(call.query(), kEvalsByCreation));
  const auto wanted = [&](const Cursor& row) {
    std::optional eval = row.row();
    const bool is_wanted = in_namespace(bytes_field(*eval, Eval::kNamespaceFieldNumber), call) &&
                           (request.job().empty() || bytes_field(*eval, Eval::kJobIdFieldNumber) == request.job()) &&
                           (!status || number_field(*eval, Eval::kStatusFieldNumber) == static_cast<uint64_t>(*status));
    if (!is_wanted) eval.reset();
    return eval;
  };
  DROVER_RETURN_IF_ERROR(listing.fill(call, tables.evals, wanted, add));
  set_list_index(call, tables.evals.id());
  return ok_status();
}

v1::EvaluationStub stub_of(const v1::Evaluation& eval) {
  v1::EvaluationStub stub;
  stub.set_id(eval.id());
  stub.set_namespace_(eval.namespace_());
  stub.set_priority(eval.priority());
  stub.set_type(eval.type());
  stub.set_triggered_by(eval.triggered_by());
  stub.set_job_id(eval.job_id());
  stub.set_node_id(eval.node_id());
  stub.set_deployment_id(eval.deployment_id());
  stub.set_status(eval.status());
  stub.set_status_description(eval.status_description());
  stub.set_wait_until(eval.wait_until());
  stub.set_next_eval(eval.next_eval());
  stub.set_previous_eval(eval.previous_eval());
  stub.set_blocked_eval(eval.blocked_eval());
  stub.set_create_index(eval.create_index());
  stub.set_modify_index(eval.modify_index());
  stub.set_create_time(eval.create_time());
  stub.set_modify_time(eval.modify_time());
  return stub;
}

// Makes list entries; the type of each job is looked up once.
class Stubs {
 public:
  Stubs(const Tables& tables, const ReadView& view) : tables_(tables), view_(view) {}

  v1::AllocationListStub make(const v1::Allocation& alloc, StubParts parts = {}) {
    return drover::stub_of(alloc, job_type(alloc), parts);
  }

 private:
  const std::string& job_type(const v1::Allocation& alloc) {
    auto [at, unknown] = types_.try_emplace(job_key(alloc.namespace_(), alloc.job_id()));
    if (unknown) {
      if (auto job = Table<v1::Job>(tables_.jobs).get(view_, at->first)) at->second = job->type();
    }
    return at->second;
  }

  const Tables& tables_;
  const ReadView& view_;
  std::map<std::string, std::string> types_;
};

}  // namespace

Status Rpc::declare(Declarations& declare) {
  DROVER_RETURN_IF_ERROR(
      declare.service("drover.v1.Evaluations",
                      {method<&Rpc::list_evals>("List", this), method<&Rpc::count_evals>("Count", this),
                       method<&Rpc::delete_evals>("Delete", this), method<&Rpc::get_eval>("Get", this),
                       method<&Rpc::allocs_of_eval>("Allocations", this), method<&Rpc::evals_of_job>("OfJob", this)}));
  DROVER_RETURN_IF_ERROR(declare.service(
      "drover.v1.Allocations", {method<&Rpc::list_allocs>("List", this), method<&Rpc::get_alloc>("Get", this),
                                method<&Rpc::stop_alloc>("Stop", this), method<&Rpc::allocs_of_job>("OfJob", this),
                                method<&Rpc::allocs_of_node>("OfNode", this)}));
  return declare.extend<NodeLocator>("scheduler", *this);
}

Status Rpc::start(Host& host) {
  host_ = &host;
  return ok_status();
}

Result<Uuid> Rpc::locate(std::string_view id) const {
  const Status unknown = not_found("Unknown allocation \"" + Uuid::from_bytes(id).to_string() + "\"");
  if (!host_) return unknown;
  auto alloc = tables_.allocs.get(*host_->snapshot(), id);
  if (!alloc) return unknown;
  return Uuid::from_bytes(alloc->node_id());
}

std::optional<v1::Job> Rpc::job_of(const v1::Allocation& alloc, const ReadView& view) const {
  const std::string key = job_version_key(alloc.namespace_(), alloc.job_id(), alloc.job_version());
  auto job = Table<v1::Job>(tables_.job_versions).get(view, key);
  if (job && job->create_index() != alloc.job_create_index()) return std::nullopt;
  return job;
}

Result<Encoded<v1::ListEvaluationsResponse>> Rpc::list_evals(const v1::ListEvaluationsRequest& request, Call& call) {
  Encoded<v1::ListEvaluationsResponse> response;
  const auto add = [&](std::string_view row) {
    response.add(v1::ListEvaluationsResponse::kEvaluationsFieldNumber, row);
  };
  DROVER_RETURN_IF_ERROR(list_evaluations(tables_, request, call, add));
  return response;
}

Result<v1::CountEvaluationsResponse> Rpc::count_evals(const v1::ListEvaluationsRequest& request, Call& call) {
  int64_t count = 0;
  DROVER_RETURN_IF_ERROR(list_evaluations(tables_, request, call, [&](std::string_view) { ++count; }));
  v1::CountEvaluationsResponse response;
  response.set_count(count);
  return response;
}

Result<v1::DeleteEvaluationsResponse> Rpc::delete_evals(const v1::DeleteEvaluationsRequest& request, Call& call) {
  return delete_evaluations(*host_, tables_, request, call);
}

Result<v1::EvaluationResponse> Rpc::get_eval(const v1::EvaluationRequest& request, Call& call) {
  auto eval = tables_.evals.get(call.view(), request.eval_id());
  if (!eval || !call.allowed_in(eval->namespace_())) return not_found("eval not found");
  uint64_t newest = eval->modify_index();
  if (request.related()) {
    std::vector<std::string> open = {eval->id()};
    std::set<std::string> seen(open.begin(), open.end());
    while (!open.empty()) {
      auto one = tables_.evals.get(call.view(), open.back());
      open.pop_back();
      if (!one || !call.allowed_in(one->namespace_())) continue;
      newest = std::max(newest, one->modify_index());
      if (one->id() != eval->id()) *eval->add_related_evals() = stub_of(*one);
      for (const std::string* link : {&one->next_eval(), &one->previous_eval(), &one->blocked_eval()}) {
        if (!link->empty() && seen.insert(*link).second) open.push_back(*link);
      }
    }
  }
  call.set_index(newest);
  v1::EvaluationResponse response;
  *response.mutable_evaluation() = *std::move(eval);
  return response;
}

Result<v1::AllocationStubsResponse> Rpc::allocs_of_eval(const v1::EvaluationRequest& request, Call& call) {
  v1::AllocationStubsResponse response;
  Stubs stubs(tables_, call.view());
  tables_.allocs.scan(call.view(), kAllocsByEval, of_id(request.eval_id()), [&](v1::Allocation& alloc, auto) {
    if (call.allowed_in(alloc.namespace_())) *response.add_allocations() = stubs.make(alloc);
    return true;
  });
  set_list_index(call, tables_.allocs.id());
  return response;
}

Result<v1::ListEvaluationsResponse> Rpc::evals_of_job(const v1::OfJobRequest& request, Call& call) {
  v1::ListEvaluationsResponse response;
  auto evals = tables_.evals.list(call.view(), kEvalsByJob, of_job(call.query().name_space, request.job_id()));
  // The newest first, as people look for it.
  std::ranges::sort(evals, std::greater<>(), [](const v1::Evaluation& eval) { return eval.create_index(); });
  for (v1::Evaluation& eval : evals) *response.add_evaluations() = std::move(eval);
  set_list_index(call, tables_.evals.id());
  return response;
}

Result<v1::AllocationStubsResponse> Rpc::list_allocs(const v1::ListAllocationsRequest& request, Call& call) {
  DROVER_TRY(const Listing listing, Listing::by_creation(call.query(), kAllocsByCreation));
  v1::AllocationStubsResponse response;
  Stubs stubs(tables_, call.view());
  const bool task_states = !request.has_task_states() || request.task_states();
  const auto wanted = [&](const Cursor& row) -> std::optional<v1::AllocationListStub> {
    const auto alloc = Table<v1::Allocation>::parse(row.row());
    if (!in_namespace(alloc.namespace_(), call)) return std::nullopt;
    return stubs.make(alloc, {.resources = request.resources(), .task_states = task_states});
  };
  // The filter looks at the allocation in full, with its job where it asks for that.
  const auto whole = [&](const Cursor& row) {
    auto alloc = Table<v1::Allocation>::parse(row.row());
    if (listing.filters_by("Metrics")) join_metric(tables_, call.view(), alloc);
    auto job = listing.filters_by("Job") ? job_of(alloc, call.view()) : std::nullopt;
    return details_of(std::move(alloc), std::move(job));
  };
  const auto add = [&](v1::AllocationListStub&& stub) { *response.add_allocations() = std::move(stub); };
  DROVER_RETURN_IF_ERROR(listing.fill(call, tables_.allocs, wanted, add, whole));
  set_list_index(call, tables_.allocs.id());
  return response;
}

Result<v1::AllocationResponse> Rpc::get_alloc(const v1::AllocationRequest& request, Call& call) {
  auto alloc = tables_.allocs.get(call.view(), request.alloc_id());
  if (!alloc || !call.allowed_in(alloc->namespace_())) return not_found("alloc not found");
  DROVER_RETURN_IF_ERROR(call.own_node(alloc->node_id()));
  call.set_index(alloc->modify_index());
  join_metric(tables_, call.view(), *alloc);
  v1::AllocationResponse response;
  auto job = job_of(*alloc, call.view());
  *response.mutable_allocation() = details_of(*std::move(alloc), std::move(job));
  return response;
}

Result<Write<v1::StopAllocationResponse>> Rpc::stop_alloc(const v1::StopAllocationRequest& request, Call& call) {
  const auto alloc = tables_.allocs.get(call.view(), request.alloc_id());
  if (!alloc) return not_found("Unknown allocation \"" + Uuid::from_bytes(request.alloc_id()).to_string() + "\"");
  DROVER_RETURN_IF_ERROR(call.require(alloc->namespace_()));
  const auto job = Table<v1::Job>(tables_.jobs).get(call.view(), job_key(alloc->namespace_(), alloc->job_id()));
  v1::AllocationsTransitioned command;
  command.add_alloc_ids(alloc->id());
  command.mutable_transition()->set_migrate(true);
  if (request.no_shutdown_delay()) command.mutable_transition()->set_no_shutdown_delay(true);
  command.set_time(host_->clock().wall_ns());
  *command.add_evaluations() =
      new_evaluation(Uuid::random().bytes(), alloc->namespace_(), alloc->job_id(), job ? &*job : nullptr, "alloc-stop");
  v1::StopAllocationResponse response;
  response.set_eval_id(command.evaluations(0).id());
  return Write<v1::StopAllocationResponse>(command, response);
}

Result<v1::AllocationStubsResponse> Rpc::allocs_of_job(const v1::OfJobRequest& request, Call& call) {
  v1::AllocationStubsResponse response;
  const std::string& name_space = call.query().name_space;
  const auto job = Table<v1::Job>(tables_.jobs).get(call.view(), job_key(name_space, request.job_id()));
  Stubs stubs(tables_, call.view());
  tables_.allocs.scan(call.view(), kAllocsByJob, of_job(name_space, request.job_id()),
                      [&](v1::Allocation& alloc, auto) {
                        if (!request.all() && job && alloc.job_create_index() != job->create_index()) return true;
                        *response.add_allocations() = stubs.make(alloc);
                        return true;
                      });
  set_list_index(call, tables_.allocs.id());
  return response;
}

Result<v1::FullAllocationsResponse> Rpc::allocs_of_node(const v1::OfNodeRequest& request, Call& call) {
  v1::FullAllocationsResponse response;
  if (const auto id = Uuid::parse(request.node_id())) {
    tables_.allocs.scan(call.view(), kAllocsByNode, of_id(id->bytes()), [&](v1::Allocation& alloc, auto) {
      if (!call.permissions().may(Access::READ_JOB, alloc.namespace_())) return true;
      join_metric(tables_, call.view(), alloc);
      auto job = job_of(alloc, call.view());
      *response.add_allocations() = details_of(std::move(alloc), std::move(job));
      return true;
    });
  }
  set_list_index(call, tables_.allocs.id());
  return response;
}

}  // namespace drover::scheduler

// job restart.
#include <algorithm>
#include <istream>
#include <optional>
#include <span>

#include "cli_command.h"
#include "confirm.h"
#include "drover/api/allocations.pb.h"
#include "drover/api/client.pb.h"
#include "drover/api/evaluations.pb.h"
#include "drover/api/jobs.pb.h"
#include "drover/duration.h"
#include "drover/model/allocation.h"
#include "drover/pause.h"
#include "jobs/restart_rules.h"
#include "lookup.h"
#include "output.h"

namespace drover::cli {
namespace {

struct Wishes {
  RestartParts parts;
  bool reschedules = false;
  bool asks_between = false;
  bool asks_on_error = false;
  bool ends_on_error = false;
  std::chrono::nanoseconds wait{};
};

Result<Wishes> read_wishes(const Arguments& arguments) {
  Wishes wishes;
  wishes.parts = {.groups = arguments.values("group"),
                  .tasks = arguments.values("task"),
                  .all_tasks = arguments.on("all-tasks")};
  wishes.reschedules = arguments.on("reschedule");
  if (wishes.parts.all_tasks && !wishes.parts.tasks.empty())
    return invalid_argument("-all-tasks and -task exclude each other");
  if (wishes.reschedules && (wishes.parts.all_tasks || !wishes.parts.tasks.empty()))
    return invalid_argument("-reschedule is for whole allocations; leave out -task and -all-tasks");
  if (arguments.on("no-shutdown-delay") && !wishes.reschedules)
    return invalid_argument("-no-shutdown-delay goes with -reschedule: a restart in place has no such delay");
  const std::string on_error = arguments.value("on-error"), wait = arguments.value("batch-wait");
  if (on_error != "ask" && on_error != "fail") return invalid_argument("-on-error: ask or fail");
  const bool is_sure = arguments.on("yes");
  if (is_sure && wait == "ask") return invalid_argument("-yes and -batch-wait=ask exclude each other");
  if (is_sure && arguments.is_set("on-error") && on_error == "ask")
    return invalid_argument("-yes and -on-error=ask exclude each other");
  wishes.ends_on_error = on_error == "fail";
  wishes.asks_on_error = on_error == "ask" && !is_sure;
  wishes.asks_between = wait == "ask";
  if (!wishes.asks_between) {
    const auto read = parse_duration(wait);
    if (!read || read->count() < 0) return invalid_argument("-batch-wait: \"" + wait + "\" is no duration, nor ask");
    wishes.wait = *read;
  }
  return wishes;
}

class Restart {
 public:
  Restart(Run& run, Wishes wishes) : run_(run), wishes_(std::move(wishes)) {}

  int all(const std::vector<v1::AllocationListStub>& allocs, size_t batch_size) {
    headline("Restarting " + number(allocs.size()));
    const size_t batches = (allocs.size() + batch_size - 1) / batch_size;
    for (size_t batch = 0; batch < batches; ++batch) {
      const size_t from = batch * batch_size, to = std::min(from + batch_size, allocs.size());
      if (batches > 1) {
        headline("Restarting batch " + std::to_string(batch + 1) + " of " + std::to_string(batches) + ": " +
                 number(to - from));
      }
      const size_t failed_before = errors_.size();
      this->batch(std::span(allocs).subspan(from, to - from));
      const bool is_last = batch + 1 == batches;
      if (errors_.size() > failed_before && !goes_on_after_error(is_last)) return finish(allocs.size() - to);
      if (!is_last && !goes_on()) return finish(allocs.size() - to);
    }
    return finish(0);
  }

 private:
  // One that was asked to restart.
  struct Asked {
    v1::Allocation before;
    std::vector<std::string> tasks;
    std::string eval_id;  // that places another one
  };

  static std::string number(size_t count) {
    return std::to_string(count) + (count == 1 ? " allocation" : " allocations");
  }
  void headline(const std::string& words) { run_.out << "==> " << full_time(now_ns()) << ": " << words << std::endl; }
  void detail(const std::string& words) { run_.out << "    " << full_time(now_ns()) << ": " << words << std::endl; }
  std::string name_of(const std::string& id) const { return "Allocation \"" + id_text(id, run_.verbose()) + "\""; }

  void failed(const std::string& id, const std::string& why) {
    errors_.push_back(name_of(id) + ": " + why);
    detail(errors_.back());
  }

  // All of them at once, then each is waited for.
  void batch(std::span<const v1::AllocationListStub> allocs) {
    std::vector<Asked> asked;
    for (const v1::AllocationListStub& alloc : allocs) {
      detail((wishes_.reschedules ? "Rescheduling allocation \"" : "Restarting allocation \"") +
             id_text(alloc.id(), run_.verbose()) + "\" of group \"" + alloc.task_group() + "\"");
      auto one = begin(alloc.id());
      one ? asked.push_back(*std::move(one)) : failed(alloc.id(), one.status().message());
    }
    for (const Asked& each : asked) {
      const Status status = wishes_.reschedules ? wait_for_successor(each) : wait_until_it_runs(each);
      if (!status.ok()) failed(each.before.id(), status.message());
    }
  }

  Result<v1::Allocation> look(const std::string& id, uint64_t seen = 0) {
    v1::AllocationRequest request;
    request.set_alloc_id(id);
    // Waits at the server for a change instead of asking again and again.
    const Parameters further =
        seen == 0 ? Parameters() : Parameters{{"index", std::to_string(seen)}, {"wait", "1s"}};
    DROVER_TRY(auto answer, run_.client.call<v1::Allocations::Get>(request, further));
    return answer.message.allocation().allocation();
  }

  Result<Asked> begin(const std::string& id) {
    Asked asked;
    DROVER_TRY(asked.before, look(id));
    if (wishes_.reschedules) {
      v1::StopAllocationRequest request;
      request.set_alloc_id(id);
      request.set_no_shutdown_delay(run_.arguments.on("no-shutdown-delay"));
      DROVER_TRY(const auto stopped, run_.client.call<v1::Allocations::Stop>(request));
      asked.eval_id = stopped->eval_id();
      return asked;
    }
    asked.tasks = tasks_to_restart(asked.before, wishes_.parts);
    if (asked.tasks.empty()) return failed_precondition("none of the tasks is running");
    v1::RestartAllocationRequest request;
    request.set_alloc_id(id);
    request.set_all_tasks(wishes_.parts.all_tasks);
    for (const std::string& task : wishes_.parts.tasks.empty() ? std::vector<std::string>{""} : asked.tasks) {
      request.set_task_name(task);
      DROVER_RETURN_IF_ERROR(run_.client.call<v1::ClientAllocations::Restart>(request).status());
    }
    return asked;
  }

  Status wait_until_it_runs(const Asked& asked) {
    v1::Allocation now = asked.before;
    RestartProgress progress = RestartProgress::waiting;
    while ((progress = progress_of(asked.before, now, asked.tasks)) == RestartProgress::waiting) {
      DROVER_TRY(now, look(asked.before.id(), now.modify_index()));
    }
    if (progress == RestartProgress::running) return ok_status();
    return aborted("it ended (" + word(now.client_status()) + ") in place of running again");
  }

  Status wait_for_successor(const Asked& asked) {
    v1::EvaluationRequest request;
    request.set_eval_id(asked.eval_id);
    v1::Evaluation eval;
    while (eval.status() != v1::EVAL_STATUS_COMPLETE) {
      DROVER_TRY(auto answer,
                 run_.client.call<v1::Evaluations::Get>(
                     request, {{"index", std::to_string(eval.modify_index())}, {"wait", "1s"}}));
      eval = answer.message.evaluation();
      if (eval.status() == v1::EVAL_STATUS_FAILED || eval.status() == v1::EVAL_STATUS_CANCELED)
        return aborted("its evaluation ended as " + word(eval.status()));
    }
    DROVER_TRY(const v1::Allocation stopped, look(asked.before.id()));
    if (stopped.next_allocation().empty()) {
      if (eval.failed_tg_allocs().contains(stopped.task_group()))
        return unavailable("no node has room for another one");
      detail(name_of(stopped.id()) + " was stopped; the job wants no other one");
      return ok_status();
    }
    detail(name_of(stopped.id()) + " is replaced by \"" + id_text(stopped.next_allocation(), run_.verbose()) + "\"");
    DROVER_TRY(v1::Allocation next, look(stopped.next_allocation()));
    while (next.client_status() == v1::CLIENT_STATUS_PENDING && !server_terminal(next)) {
      DROVER_TRY(next, look(next.id(), next.modify_index()));
    }
    const bool is_well =
        next.client_status() == v1::CLIENT_STATUS_RUNNING || next.client_status() == v1::CLIENT_STATUS_COMPLETE;
    if (is_well) return ok_status();
    return aborted("the other one, \"" + id_text(next.id(), run_.verbose()) + "\", is " + word(next.client_status()));
  }

  bool goes_on_after_error(bool is_last) {
    if (wishes_.ends_on_error) return false;
    return is_last || !wishes_.asks_on_error || says_yes("There were errors. Go on with the next batch? [y/N] ");
  }

  bool goes_on() {
    if (wishes_.asks_between) return says_yes("Go on with the next batch? [y/N] ");
    if (wishes_.wait.count() == 0) return true;
    headline("Waiting " + format_duration(wishes_.wait) + " before the next batch");
    pause_for(wishes_.wait, {});
    return true;
  }

  bool says_yes(const std::string& question) {
    run_.out << question << std::flush;
    std::string answer;
    std::getline(run_.host.in(), answer);
    return answer == "y" || answer == "yes";
  }

  int finish(size_t left) {
    if (left > 0) headline(number(left) + (left == 1 ? " was" : " were") + " not restarted");
    if (errors_.empty()) {
      headline(left > 0 ? "Job restart was ended before it was done" : "Finished job restart");
      return left > 0 ? 1 : 0;
    }
    run_.err << "Errors while restarting the job:\n";
    for (const std::string& error : errors_) run_.err << "  * " << error << "\n";
    return 1;
  }

  Run& run_;
  const Wishes wishes_;
  std::vector<std::string> errors_;
};

int job_restart(Run& run) {
  auto wishes = read_wishes(run.arguments);
  if (!wishes) return run.usage("Error: " + wishes.status().message());
  // A mistake in it is said before anything is asked.
  if (auto size = batch_size(run.arguments.value("batch-size"), 1); !size)
    return run.usage("Error: " + size.status().message());
  const std::string& typed = run.arguments.positional()[0];
  auto found = find_job(run, typed);
  if (!found) return run.fail("Error finding job", found.status());
  const v1::Job& job = found->message.job();
  if (job.id() != typed && !run.arguments.on("yes")) {
    if (auto code = ask(run, "Are you sure you want to restart job \"" + job.id() + "\"?")) return *code;
  }
  if (const Status status = check_parts(job, wishes->parts); !status.ok()) return run.fail("Error", status);
  auto allocs = allocs_of(run, job.id());
  if (!allocs) return run.fail("Error querying the job's allocations", allocs.status());
  const auto wanted = allocs_to_restart(job, allocs->message, wishes->parts);
  if (wanted.empty()) {
    run.out << "No allocations to restart\n";
    return 0;
  }
  const size_t at_once = *batch_size(run.arguments.value("batch-size"), wanted.size());
  return Restart(run, *std::move(wishes)).all(wanted, at_once);
}

}  // namespace

std::vector<Definition> job_restart_commands() {
  return {{"job restart",
           "Restarts the allocations of a job, some at a time.",
           "<job>",
           "  A batch is over when its tasks run again, or with -reschedule when other allocations run in place\n"
           "  of its own. Exit code 1: some were not restarted.\n",
           {with_value("batch-size", "1", "Allocations at a time, or their share of all: 20%"),
            with_value("batch-wait", "0s", "Time between batches; ask: until you say so"),
            with_value("on-error", "ask", "After a batch with errors: ask, or fail"),
            with_value("group", "", "Only allocations of this group; may be said several times"),
            with_value("task", "", "Only this task; may be said several times"),
            on_off("all-tasks", "Also tasks that have ended"),
            on_off("reschedule", "Stop the allocations, so that others are placed"),
            on_off("no-shutdown-delay", "With -reschedule: leave out the group's and tasks' shutdown_delay"),
            on_off("yes", "Do not ask, and go on after errors"), on_off("verbose", "Show full identifiers")},
           1,
           1,
           job_restart}};
}

}  // namespace drover::cli

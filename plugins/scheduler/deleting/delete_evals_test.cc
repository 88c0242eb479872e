#include "deleting/delete_evals.h"

#include <gtest/gtest.h>

#include "drover/api/evaluations.pb.h"
#include "drover/model/filter.h"
#include "drover/uuid.h"
#include "rpc.h"
#include "testing/shell.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_eval;
using testing::make_job;

class DeleteEvals : public testing::ShellTest {
 protected:
  DeleteEvals() {
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    EXPECT_TRUE(rpc_.start(host_).ok());
    pause(true);
    put(job_);
  }

  void pause(bool paused) {
    v1::SchedulerConfiguration row;
    row.set_pause_eval_broker(paused);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(tables_.config.put(rows, row).ok()); });
  }
  void add(const std::string& name, v1::EvalStatus status, const std::string& name_space = "default") {
    v1::Evaluation eval = make_eval(name, job_);
    eval.set_namespace_(name_space);
    eval.set_status(status);
    propose(eval);
  }
  void place(const std::string& name, const std::string& eval, v1::ClientStatus status,
             v1::DesiredStatus desired = v1::DESIRED_STATUS_RUN) {
    v1::Allocation alloc = make_alloc(job_, 0, "n1", status);
    alloc.set_id(id_of(name));
    alloc.set_eval_id(id_of(eval));
    alloc.set_desired_status(desired);
    put(alloc);
  }
  // The count that the answer gives, or the error.
  std::string deleted(const v1::DeleteEvaluationsRequest& request, QueryOptions query = {}) {
    const auto answer =
        host_.answer<v1::DeleteEvaluationsResponse>("/drover.v1.Evaluations/Delete", request, std::move(query));
    return answer ? std::to_string(answer->count()) : answer.status().to_string();
  }
  std::string deleted_by(const std::string& filter, QueryOptions query = {}) {
    v1::DeleteEvaluationsRequest request;
    request.set_filter(filter);
    return deleted(request, std::move(query));
  }
  std::string deleted_ids(const std::vector<std::string>& names) {
    v1::DeleteEvaluationsRequest request;
    for (const std::string& name : names) request.add_eval_ids(id_of(name));
    return deleted(request);
  }
  std::string left() {
    std::string names;
    tables_.evals.scan(*host_.snapshot(), kPrimary, KeyRange::all(), [&](const v1::Evaluation& eval, std::string_view) {
      names += eval.id()[0];
      return true;
    });
    return names;
  }

  const v1::Job job_ = make_job();
  Rpc rpc_{tables_};
};

TEST_F(DeleteEvals, IsRefusedWhileTheBrokerRuns) {
  constexpr const char* kRefused =
      "invalid_argument: eval broker is enabled; eval broker must be paused to delete evals";
  add("e", v1::EVAL_STATUS_PENDING);
  pause(false);
  EXPECT_EQ(deleted({}), kRefused);
  EXPECT_EQ(deleted_ids({"e"}), kRefused);
  EXPECT_EQ(deleted_by("Status == pending"), kRefused);
  EXPECT_EQ(left(), "e");
}

TEST_F(DeleteEvals, IsRefusedByTheLogWhenTheBrokerRunsAgain) {
  add("e", v1::EVAL_STATUS_PENDING);
  pause(false);
  v1::EvalsDeleted command;
  command.add_eval_ids(id_of("e"));
  command.set_only_while_paused(true);
  EXPECT_FALSE(host_.propose(command, SteadyTime::max()).ok());
  EXPECT_EQ(left(), "e");
}

TEST_F(DeleteEvals, TakesIdentifiersOrAFilter) {
  add("e", v1::EVAL_STATUS_PENDING);
  EXPECT_EQ(deleted({}), "invalid_argument: evals must be deleted by either ID or filter");
  v1::DeleteEvaluationsRequest both;
  both.add_eval_ids(id_of("e"));
  both.set_filter("Status == pending");
  EXPECT_EQ(deleted(both), "invalid_argument: evals cannot be deleted by both ID and filter");
  v1::DeleteEvaluationsRequest many;
  for (int i = 0; i <= kMaxDeletionIds; ++i) many.add_eval_ids(id_of("e"));
  EXPECT_EQ(deleted(many), "invalid_argument: request includes 7282 evaluation IDs, must be 7281 or fewer");
  EXPECT_EQ(deleted_by("Status ="),
            "invalid_argument: failed to read filter expression: " + Filter::parse("Status =").status().message());
  EXPECT_NE(deleted_by("Nothing == 1").find("invalid_argument: failed to read result page: "), std::string::npos);
  EXPECT_EQ(left(), "e");
}

TEST_F(DeleteEvals, ByIdentifierAllOrNone) {
  add("a", v1::EVAL_STATUS_PENDING);
  add("b", v1::EVAL_STATUS_COMPLETE);
  add("c", v1::EVAL_STATUS_BLOCKED);
  EXPECT_EQ(deleted_ids({"a", "x"}), "not_found: eval not found");
  place("alloc", "b", v1::CLIENT_STATUS_RUNNING);
  EXPECT_EQ(deleted_ids({"a", "b"}),
            "invalid_argument: eval " + Uuid::from_bytes(id_of("b")).to_string() + " is not safe to delete");
  EXPECT_EQ(left(), "abc");
  EXPECT_EQ(deleted_ids({"a", "c", "a"}), "2");
  EXPECT_EQ(left(), "b");
}

TEST_F(DeleteEvals, KeepsThoseOfWhichSomethingLives) {
  const struct {
    const char* name;
    v1::ClientStatus client;
    v1::DesiredStatus desired;
    bool goes;
  } cases[] = {
      {"a waits", v1::CLIENT_STATUS_PENDING, v1::DESIRED_STATUS_RUN, false},
      {"b runs", v1::CLIENT_STATUS_RUNNING, v1::DESIRED_STATUS_RUN, false},
      {"c is stopped but runs", v1::CLIENT_STATUS_RUNNING, v1::DESIRED_STATUS_STOP, false},
      {"d is out of reach", v1::CLIENT_STATUS_UNKNOWN, v1::DESIRED_STATUS_RUN, false},
      {"e has failed and will be replaced", v1::CLIENT_STATUS_FAILED, v1::DESIRED_STATUS_RUN, false},
      {"f has failed and is not wanted", v1::CLIENT_STATUS_FAILED, v1::DESIRED_STATUS_STOP, true},
      {"g is lost", v1::CLIENT_STATUS_LOST, v1::DESIRED_STATUS_STOP, true},
      {"h is done", v1::CLIENT_STATUS_COMPLETE, v1::DESIRED_STATUS_RUN, true},
  };
  std::string kept;
  int gone = 0;
  for (const auto& c : cases) {
    const std::string name(1, c.name[0]);
    add(name, v1::EVAL_STATUS_COMPLETE);
    place("of " + name, name, c.client, c.desired);
    if (c.goes) {
      ++gone;
    } else {
      kept += name;
    }
  }
  EXPECT_EQ(deleted_by("Status == complete"), std::to_string(gone));
  EXPECT_EQ(left(), kept);
}

TEST_F(DeleteEvals, ByAFilterInItsNamespace) {
  add("a", v1::EVAL_STATUS_PENDING);
  add("b", v1::EVAL_STATUS_COMPLETE);
  add("c", v1::EVAL_STATUS_PENDING, "other");
  EXPECT_EQ(deleted_by("Status == pending"), "1");
  EXPECT_EQ(left(), "bc");
  QueryOptions everywhere;
  everywhere.name_space = "*";
  EXPECT_EQ(deleted_by("Status == pending", everywhere), "1");
  EXPECT_EQ(left(), "b");
  EXPECT_EQ(deleted_by("Status == pending"), "0");
}

TEST_F(DeleteEvals, ByAFilterInSmallEntries) {
  const size_t count = 2 * kDeletionsAnEntry + 1;
  v1::EvalsUpdated command;
  for (size_t i = 0; i < count; ++i) *command.add_evaluations() = make_eval("e" + std::to_string(i), job_);
  ASSERT_TRUE(host_.propose(command, SteadyTime::max()).ok());
  const size_t before = host_.proposed().size();
  EXPECT_EQ(deleted_by("JobID == web"), std::to_string(count));
  EXPECT_EQ(host_.proposed().size(), before + 3);
  EXPECT_EQ(left(), "");
}

TEST_F(DeleteEvals, SaysWhatWasDeletedBeforeAnError) {
  add("e", v1::EVAL_STATUS_PENDING);
  host_.refuse("drover.v1.EvalsDeleted", unavailable("no leader"));
  EXPECT_EQ(deleted_ids({"e"}), "unavailable: no leader");
  EXPECT_EQ(left(), "e");
}

TEST_F(DeleteEvals, AreNotMadeAnewByWhoeverCancelsThem) {
  v1::Evaluation eval = make_eval("e", job_);
  propose(eval);
  EXPECT_EQ(deleted_ids({"e"}), "1");
  eval.set_status(v1::EVAL_STATUS_CANCELED);
  propose(eval);
  EXPECT_EQ(left(), "");
}

}  // namespace
}  // namespace drover::scheduler

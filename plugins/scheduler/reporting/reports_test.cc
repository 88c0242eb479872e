#include <gtest/gtest.h>

#include "reporting/report_merger.h"
#include "reporting/report_queue.h"
#include "scheduler.pb.h"
#include "testing/shell.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_eval;
using testing::make_job;
using testing::make_node;
using namespace std::chrono_literals;

constexpr SteadyTime kStart{1h};

std::shared_ptr<v1::AllocationsReported> about(int allocations, size_t text = 0) {
  auto command = std::make_shared<v1::AllocationsReported>();
  for (int i = 0; i < allocations; ++i) {
    v1::Allocation& report = *command->add_allocations();
    report.set_id(id_of("a" + std::to_string(i)));
    report.set_client_description(std::string(text, 'x'));
  }
  return command;
}

// How many reports each entry holds, as "1 3".
std::string sizes(const std::vector<ReportEntry>& entries) {
  std::string text;
  for (const ReportEntry& entry : entries) text += (text.empty() ? "" : " ") + std::to_string(entry.parts.size());
  return text;
}

TEST(ReportQueueTest, GathersByTimeSizeAndTerm) {
  constexpr int kMost = ReportQueue::kMostAllocations;
  struct Step {
    std::chrono::milliseconds at;
    int allocations;
    size_t text;
    uint64_t term;
    const char* goes;                              // the entries, by the number of their reports
    std::optional<std::chrono::milliseconds> due;  // afterwards
  };
  struct Case {
    const char* name;
    std::vector<Step> steps;
  };
  const Case cases[] = {
      {"a lone report goes at once", {{0ms, 1, 0, 1, "1", {}}, {50ms, 1, 0, 1, "1", {}}}},
      {"what follows soon waits, and no longer than the first of it",
       {{0ms, 1, 0, 1, "1", {}}, {10ms, 1, 0, 1, "", 50ms}, {49ms, 1, 0, 1, "", 50ms}}},
      {"a late caller takes what was gathered with it",
       {{0ms, 1, 0, 1, "1", {}}, {10ms, 1, 0, 1, "", 50ms}, {60ms, 1, 0, 1, "2", {}}}},
      {"an entry is full by its allocations",
       {{0ms, 1, 0, 1, "1", {}}, {10ms, kMost, 0, 1, "", 50ms}, {20ms, 1, 0, 1, "1", 70ms}}},
      {"or by its bytes",
       {{0ms, 1, 0, 1, "1", {}},
        {10ms, 1, ReportQueue::kMostBytes / 2, 1, "", 50ms},
        {20ms, 1, ReportQueue::kMostBytes / 2, 1, "1", 70ms}}},
      {"one that is larger than an entry has one of its own",
       {{0ms, 1, 0, 1, "1", {}}, {10ms, kMost + 5, 0, 1, "", 50ms}, {20ms, kMost + 5, 0, 1, "1", 70ms}}},
      {"terms do not mix",
       {{0ms, 1, 0, 1, "1", {}}, {10ms, 1, 0, 1, "", 50ms}, {11ms, 1, 0, 2, "1", 61ms}, {12ms, 1, 0, 2, "", 61ms}}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    ReportQueue queue;
    for (const Step& step : c.steps) {
      SCOPED_TRACE(step.at.count());
      Report report{.command = about(step.allocations, step.text), .term = step.term, .deadline = {}, .done = {}};
      EXPECT_EQ(sizes(queue.add(std::move(report), kStart + step.at)), step.goes);
      EXPECT_EQ(queue.due(), step.due ? std::optional(kStart + *step.due) : std::nullopt);
    }
  }
}

TEST(ReportQueueTest, AnEntryKeepsWhoseItsPartsAreAndOneEvaluationAJob) {
  ReportQueue queue;
  (void)queue.add({.command = about(1), .term = 3, .deadline = {}, .done = {}}, kStart);
  const v1::Job job = make_job();
  for (const int count : {2, 1, 3}) {
    auto command = about(count);
    command->set_time(count);
    *command->add_evaluations() = make_eval("e" + std::to_string(count), job);
    Report report{.command = std::move(command), .term = 3, .deadline = kStart + count * 1s, .done = {}};
    EXPECT_TRUE(queue.add(std::move(report), kStart + 1ms).empty());
  }
  const auto entry = queue.take(kStart + 2ms);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->term, 3U);
  EXPECT_EQ(entry->deadline, kStart + 3s);
  EXPECT_EQ(entry->command->time(), 3);
  EXPECT_EQ(entry->command->allocations_size(), 6);
  ASSERT_EQ(entry->command->evaluations_size(), 1);
  EXPECT_EQ(entry->command->evaluations(0).id(), id_of("e2"));
  ASSERT_EQ(entry->parts.size(), 3U);
  EXPECT_EQ(entry->parts[1].first, 2);
  EXPECT_EQ(entry->parts[2].first, 3);
  EXPECT_EQ(entry->parts[2].count, 3);
  EXPECT_FALSE(queue.take(kStart + 3ms)) << "taken once";
}

// The merger over a log in memory.
class Merging : public testing::ShellTest {
 protected:
  Merging() {
    host_.delay_tasks();
    merger_.start(host_);
    put(job_);
  }
  void add_node(int number) {
    put(make_node(node(number)));
    put(make_alloc(job_, 0, node(number), v1::CLIENT_STATUS_PENDING));
  }
  static std::string node(int number) { return "n" + std::to_string(number); }
  std::string alloc_of(int number) { return make_alloc(job_, 0, node(number)).id(); }
  // As the router proposes what a node's call decided. The answer is the text of its error.
  void report(int number, uint64_t term = 1) {
    v1::AllocationsReported command;
    v1::Allocation& report = *command.add_allocations();
    report.set_id(alloc_of(number));
    report.set_client_status(v1::CLIENT_STATUS_RUNNING);
    merger_.propose(serialize(command), SteadyTime::max(), term, [this](const Result<Applied>& applied) {
      answers_.push_back(applied ? "at " + std::to_string(applied->index) : applied.status().message());
    });
  }
  v1::ClientStatus status(int number) {
    return tables_.allocs.get(*host_.snapshot(), alloc_of(number))->client_status();
  }

  ReportMerger merger_;
  const v1::Job job_ = make_job();
  std::vector<std::string> answers_;
};

TEST_F(Merging, AStormOfFiveThousandNodesIsAHundredEntriesAtMost) {
  constexpr int kNodes = 5000;
  host_.commit([&](WriteTransaction& rows) {
    for (int i = 0; i < kNodes; ++i) {
      ASSERT_TRUE(nodes_.put(rows, make_node(node(i))).ok());
      ASSERT_TRUE(tables_.allocs.put(rows, make_alloc(job_, 0, node(i), v1::CLIENT_STATUS_PENDING)).ok());
    }
  });
  for (int i = 0; i < kNodes; ++i) report(i);
  host_.run_delayed();
  EXPECT_LE(host_.proposed().size(), 100U);
  ASSERT_EQ(answers_.size(), static_cast<size_t>(kNodes));
  for (const std::string& answer : answers_) ASSERT_TRUE(answer.starts_with("at ")) << answer;
  for (int i = 0; i < kNodes; i += 999) EXPECT_EQ(status(i), v1::CLIENT_STATUS_RUNNING);
}

TEST_F(Merging, ANodeThatWentDownFailsAloneAndHearsWhy) {
  for (int i = 0; i < 5; ++i) add_node(i);
  for (int i = 0; i < 4; ++i) report(i);
  v1::Node down = make_node(node(2));
  down.set_status(v1::NODE_STATUS_DOWN);
  put(down);
  host_.run_delayed();
  ASSERT_EQ(answers_.size(), 4U);
  EXPECT_EQ(answers_[1], answers_[3]);
  EXPECT_TRUE(answers_[3].starts_with("at ")) << answers_[3];
  EXPECT_EQ(answers_[2], "node " + Uuid::from_bytes(id_of(node(2))).to_string() +
                             " is not allowed to update allocs while in status down");
  EXPECT_EQ(status(2), v1::CLIENT_STATUS_PENDING);
  EXPECT_EQ(status(3), v1::CLIENT_STATUS_RUNNING);
}

TEST_F(Merging, EveryCallHearsTheErrorOfTheLog) {
  for (int i = 0; i < 3; ++i) add_node(i);
  report(0);
  report(1);
  report(2);
  host_.refuse("drover.v1.AllocationsReported", unavailable("this server is not the leader"));
  host_.run_delayed();
  ASSERT_EQ(answers_.size(), 3U);
  EXPECT_EQ(answers_[1], "this server is not the leader");
  EXPECT_EQ(answers_[2], answers_[1]);
}

TEST_F(Merging, WhatWasDecidedInAnEarlierTermIsRefusedAndDoesNotHarmWhatCameLater) {
  for (int i = 0; i < 3; ++i) add_node(i);
  report(0);
  report(1);
  host_.begin_term();
  report(2, 2);
  host_.run_delayed();
  ASSERT_EQ(answers_.size(), 3U);
  EXPECT_EQ(answers_[1], "the term is another one");
  EXPECT_TRUE(answers_[2].starts_with("at ")) << answers_[2];
}

TEST_F(Merging, StoppingLeavesNobodyWithoutAnAnswer) {
  for (int i = 0; i < 3; ++i) add_node(i);
  report(0);
  report(1);
  EXPECT_EQ(answers_.size(), 1U);
  merger_.stop();
  EXPECT_EQ(answers_.size(), 2U);
  report(2);
  EXPECT_EQ(answers_.size(), 3U);
}

}  // namespace
}  // namespace drover::scheduler

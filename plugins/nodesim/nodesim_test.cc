#include <gtest/gtest.h>

#include "allocation_book.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node_service.pb.h"
#include "drover/v1/service.pb.h"
#include "drover/v1/service_sync.pb.h"
#include "figures.h"
#include "settings.h"

namespace drover::nodesim {
namespace {

using namespace std::chrono_literals;

constexpr SteadyTime kStart{1h};

Result<Settings> parse(std::vector<std::string> words) { return parse_settings(words); }

TEST(NodesimSettings, AreRead) {
  const auto settings = parse({"-count", "5000", "--servers=a:1,b:2", "-class=big", "-run-for", "2s", "-memory=64",
                               "-report-every=1m", "-in-step"});
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_EQ(settings->count, 5000);
  EXPECT_EQ(settings->servers, (std::vector<std::string>{"a:1", "b:2"}));
  EXPECT_EQ(settings->node_class, "big");
  EXPECT_EQ(settings->memory_mb, 64);
  EXPECT_EQ(settings->course.run_for, 2s);
  EXPECT_EQ(settings->course.report_every, 1min);
  EXPECT_TRUE(settings->in_step);
  EXPECT_FALSE(settings->duration);
}

TEST(NodesimSettings, WhatIsWrongIsNamed) {
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{"-cuont=3"}, "unknown option -cuont"},
      {{"-count"}, "option -count needs a value"},
      {{"-count=0"}, "option -count: takes a whole number from 1 to 1000000, not \"0\""},
      {{"-count=5x"}, "not \"5x\""},
      {{"-servers=a:1,,b:2"}, "option -servers: has an empty item"},
      {{"-servers="}, "option -servers: has an empty item"},
      {{"-duration=0s"}, "option -duration: takes a time"},
      {{"-run-for=-1s"}, "option -run-for: takes a time"},
      {{"-in-step"}, "-report-every"},
      {{"-in-step=1"}, "takes no value"},
      {{"-ca-file=x"}, "go together"},
      {{"now"}, "unexpected argument \"now\""},
  };
  for (const auto& [words, text] : cases) {
    const auto settings = parse(words);
    ASSERT_FALSE(settings.ok()) << words[0];
    EXPECT_NE(settings.status().message().find(text), std::string::npos) << settings.status().message();
  }
}

v1::WatchAllocationsResponse list_of(const std::map<std::string, uint64_t>& allocations) {
  v1::WatchAllocationsResponse list;
  for (const auto& [id, index] : allocations) {
    auto& entry = *list.add_entries();
    entry.set_alloc_id(id);
    entry.set_alloc_modify_index(index);
  }
  return list;
}

v1::FetchAllocationsResponse with(const std::string& id, uint64_t index,
                                  v1::DesiredStatus desired = v1::DESIRED_STATUS_RUN,
                                  v1::ClientStatus status = v1::CLIENT_STATUS_PENDING) {
  v1::FetchAllocationsResponse answer;
  v1::Allocation& alloc = *answer.add_allocations();
  alloc.set_id(id);
  alloc.set_alloc_modify_index(index);
  alloc.set_desired_status(desired);
  alloc.set_client_status(status);
  alloc.set_deployment_id("deployment");
  (*alloc.mutable_allocated_resources()->mutable_tasks())["main"];
  return answer;
}

// The reports as "id status", with a space between.
std::string words(const std::vector<v1::Allocation>& reports) {
  std::string text;
  for (const v1::Allocation& report : reports) {
    text += (text.empty() ? "" : " ") + report.id() + " " +
            (report.client_status() == v1::CLIENT_STATUS_RUNNING ? "running" : "complete");
  }
  return text;
}

TEST(AllocationBookTest, AnAllocationStartsRunsAndEnds) {
  const Course course{.start_after = 1s, .run_for = 10s};
  AllocationBook book(course);
  EXPECT_EQ(book.listed(list_of({{"a", 5}})), std::vector<std::string>{"a"});
  EXPECT_FALSE(book.due());
  book.fetched(with("a", 5), kStart);
  EXPECT_TRUE(book.listed(list_of({{"a", 5}})).empty()) << "known already";
  EXPECT_EQ(book.due(), kStart + 1s);
  EXPECT_EQ(words(book.take(kStart, 100)), "");
  const auto started = book.take(kStart + 1s, 200);
  EXPECT_EQ(words(started), "a running");
  EXPECT_EQ(started[0].task_states().at("main").state(), "running");
  EXPECT_EQ(started[0].task_states().at("main").started_at(), 200);
  EXPECT_TRUE(started[0].deployment_status().healthy());
  EXPECT_EQ(book.running(), 1U);
  EXPECT_EQ(book.due(), kStart + 11s);
  const auto ended = book.take(kStart + 11s, 300);
  EXPECT_EQ(words(ended), "a complete");
  EXPECT_EQ(ended[0].task_states().at("main").finished_at(), 300);
  EXPECT_EQ(book.running(), 0U);
  EXPECT_FALSE(book.due());
}

TEST(AllocationBookTest, ServersStopAndForgetAllocations) {
  const Course course;
  AllocationBook book(course);
  book.fetched(with("a", 5), kStart);
  book.fetched(with("b", 5), kStart);
  EXPECT_EQ(words(book.take(kStart, 1)), "a running b running");
  EXPECT_EQ(book.listed(list_of({{"a", 7}, {"b", 5}})), std::vector<std::string>{"a"});
  book.fetched(with("a", 7, v1::DESIRED_STATUS_STOP), kStart);
  EXPECT_EQ(words(book.take(kStart, 2)), "a complete");
  EXPECT_EQ(book.running(), 1U);
  EXPECT_TRUE(book.listed(list_of({{"a", 7}})).empty());
  EXPECT_EQ(book.running(), 0U) << "b is gone";
  // One that was stopped before it began, and one that had ended before.
  book.fetched(with("c", 8, v1::DESIRED_STATUS_STOP), kStart);
  book.fetched(with("d", 8, v1::DESIRED_STATUS_RUN, v1::CLIENT_STATUS_COMPLETE), kStart);
  EXPECT_EQ(words(book.take(kStart, 3)), "c complete");
  EXPECT_EQ(book.running(), 0U);
}

TEST(AllocationBookTest, AServerThatIsBehindIsNoticed) {
  const Course course;
  AllocationBook book(course);
  EXPECT_EQ(book.listed(list_of({{"a", 5}, {"b", 6}})).size(), 2U);
  EXPECT_FALSE(book.fetched(with("a", 5), kStart)) << "b is missing";
  EXPECT_EQ(book.listed(list_of({{"a", 5}, {"b", 6}})), std::vector<std::string>{"b"});
  EXPECT_FALSE(book.fetched(with("b", 4), kStart)) << "an older state of it";
  EXPECT_EQ(words(book.take(kStart, 1)), "a running");
  EXPECT_EQ(book.listed(list_of({{"a", 5}, {"b", 6}})), std::vector<std::string>{"b"});
  EXPECT_TRUE(book.fetched(with("b", 6), kStart));
}

TEST(AllocationBookTest, ReportsComeAgain) {
  const Course course{.report_every = 10s};
  AllocationBook book(course);
  book.fetched(with("a", 5), kStart);
  const auto first = book.take(kStart, 1);
  EXPECT_EQ(book.due(), kStart + 10s);
  book.failed(first, kStart + 2s);
  EXPECT_EQ(book.due(), kStart + 2s);
  EXPECT_EQ(words(book.take(kStart + 2s, 2)), "a running");
  book.report_all(kStart + 3s);
  EXPECT_EQ(words(book.take(kStart + 3s, 3)), "a running");
  // The servers lost sight of it.
  book.fetched(with("a", 6, v1::DESIRED_STATUS_RUN, v1::CLIENT_STATUS_UNKNOWN), kStart + 4s);
  EXPECT_EQ(words(book.take(kStart + 4s, 4)), "a running");
  EXPECT_EQ(book.running(), 1U);
}

v1::FetchAllocationsResponse with_services(uint64_t version, std::vector<std::string> names) {
  v1::FetchAllocationsResponse answer = with("a", version);
  v1::Allocation& alloc = *answer.mutable_allocations(0);
  alloc.set_job_id("job");
  alloc.set_job_version(version);
  alloc.set_task_group("g");
  v1::Job& job = *answer.add_jobs();
  job.set_id("job");
  job.set_version(version);
  v1::TaskGroup& group = *job.add_task_groups();
  group.set_name("g");
  for (const std::string& name : names) {
    v1::Service& service = *group.add_services();
    service.set_name(name);
    service.set_provider(name == "elsewhere" ? "consul" : "nomad");
    service.set_port_label("80");
  }
  return answer;
}

// The names of the services that are said.
std::string said(const AllocationBook& book) {
  v1::SyncNodeServicesRequest request;
  book.say_services(request);
  std::string text;
  for (const v1::ServiceRegistration& row : request.services())
    text += row.service_name() + " " + row.address() + ":" + std::to_string(row.port()) + " ";
  return text;
}

TEST(AllocationBookTest, ServicesAreSaidWhileTheirAllocationRuns) {
  const Course course{.start_after = 1s};
  AllocationBook book(course);
  book.fetched(with_services(5, {"web", "elsewhere"}), kStart);
  EXPECT_EQ(said(book), "") << "it has not started";
  book.services_changed();
  book.take(kStart + 1s, 1);
  EXPECT_TRUE(book.services_changed());
  EXPECT_FALSE(book.services_changed()) << "asked before";
  EXPECT_EQ(said(book), "web 127.0.0.1:80 ");
  book.fetched(with_services(6, {"web", "db"}), kStart + 2s);
  EXPECT_TRUE(book.services_changed());
  EXPECT_EQ(said(book), "web 127.0.0.1:80 db 127.0.0.1:80 ");
  book.fetched(with("a", 7, v1::DESIRED_STATUS_STOP), kStart + 3s);
  book.take(kStart + 3s, 2);
  EXPECT_TRUE(book.services_changed());
  EXPECT_EQ(said(book), "");
}

TEST(FiguresTest, PercentilesAreRightWithinATenth) {
  Figures figures;
  for (int i = 1; i <= 1000; ++i) figures.add(Kind::report, i * 1ms, true);
  figures.add(Kind::report, 1h, false);
  for (const auto& [share, expected] : {std::pair(0.5, 500.0), {0.99, 990.0}, {1.0, 1000.0}}) {
    const double got = static_cast<double>(figures.percentile(Kind::report, share).count()) / 1e6;
    EXPECT_NEAR(got, expected, expected / 10);
  }
  EXPECT_EQ(figures.count(Kind::report), 1000U);
  EXPECT_EQ(figures.errors(), 1U);
  EXPECT_EQ(figures.percentile(Kind::heartbeat, 0.5), 0ns);
  figures.reported(7);
  EXPECT_NE(figures.table().find("allocations in reports 7"), std::string::npos);
}

}  // namespace
}  // namespace drover::nodesim

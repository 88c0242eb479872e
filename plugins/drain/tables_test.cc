// The entry that tells allocations to move, and the rows as they are by the time it is applied.
#include "tables.h"

#include <gtest/gtest.h>

#include "drain.pb.h"
#include "testing/drain_test.h"

namespace drover::drain {
namespace {

using namespace std::chrono_literals;

std::string id_of(char letter) { return std::string(16, letter); }

class Moves : public testing::DrainTest {
 protected:
  // A job that wants so many, of which `running` run.
  void begin(int count, int running) {
    put_job(count);
    for (int i = 0; i < running; ++i) put_alloc(v1::CLIENT_STATUS_RUNNING, id_of(static_cast<char>('a' + i)));
  }
  void move(const std::string& forced, const std::string& spared) {
    v1::DrainMoved command;
    for (const char letter : forced) command.add_alloc_ids(id_of(letter));
    for (const char letter : spared) command.add_spared_ids(id_of(letter));
    v1::Evaluation& eval = *command.add_evaluations();
    eval.set_namespace_("default");
    eval.set_job_id("web");
    EXPECT_TRUE(host_.propose(command, host_.clock().steady() + 10s).ok());
  }
  std::string moving() {
    std::string letters;
    for (const v1::Allocation& alloc : allocs_.list(*host_.snapshot(), kPrimary, KeyRange::all())) {
      if (alloc.desired_transition().migrate()) letters += alloc.id()[0];
    }
    return letters;
  }
};

TEST_F(Moves, AreCountedAgainSinceOthersMayHaveGoneMeanwhile) {
  struct Case {
    const char* name;
    int count, running;
    const char* forced;
    const char* spared;
    const char* moving;
  };
  const Case cases[] = {{"nothing has changed", 4, 4, "", "a", "a"},
                        {"an update stopped another one meanwhile", 4, 3, "", "a", ""},
                        {"more run than are kept, so some of them", 4, 5, "", "abc", "ab"},
                        {"a deadline asks nobody", 4, 3, "ab", "", "ab"},
                        {"a deadline takes what the others might have", 4, 4, "a", "b", "a"},
                        {"one of them is gone", 4, 4, "x", "ya", "a"}};
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    for (char letter = 'a'; letter < 'f'; ++letter) {
      host_.commit([&](WriteTransaction& rows) { (void)allocs_.erase(rows, id_of(letter)); });
    }
    evaluated_ = 0;
    begin(c.count, c.running);
    move(c.forced, c.spared);
    EXPECT_EQ(moving(), c.moving);
    EXPECT_EQ(evaluated_, *c.moving == '\0' ? 0 : 1) << "a job of which nothing moves is not looked at";
  }
}

TEST_F(Moves, OneThatWasToldOrStoppedAlreadyIsLeftAlone) {
  begin(4, 5);
  move("", "a");
  move("", "a");
  EXPECT_EQ(evaluated_, 1);
  host_.commit([&](WriteTransaction& rows) {
    v1::Allocation alloc = allocs_.get(rows, id_of('b')).value();
    alloc.set_desired_status(v1::DESIRED_STATUS_STOP);
    EXPECT_TRUE(allocs_.put(rows, alloc).ok());
  });
  move("b", "");
  EXPECT_EQ(moving(), "a");
}

TEST_F(Moves, WhatTheJobDoesNotWantAnyMoreIsNotCounted) {
  begin(4, 2);
  host_.commit([&](WriteTransaction& rows) {
    v1::Job job = jobs_.get(rows, job_key("default", "web")).value();
    job.mutable_task_groups(0)->set_name("other");
    EXPECT_TRUE(jobs_.put(rows, job).ok());
  });
  move("", "ab");
  EXPECT_EQ(moving(), "ab");
}

}  // namespace
}  // namespace drover::drain

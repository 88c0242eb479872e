// What every task driver must do, as a GoogleTest suite that is instantiated with a fixture of the driver under test:
//
//   struct MyFixture {
//     TaskDriver& driver();
//     void restart();                                       // a new driver object, as after a restart of the agent
//     driver::TaskConfig endless(const std::string& id);    // runs until it is stopped; reacts to SIGINT
//     driver::TaskConfig deaf(const std::string& id);       // the same, and does not end at SIGCONT
//     driver::TaskConfig ending(const std::string& id, int exit_code);  // ends at once
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(My, DriverConformance, MyFixture);
//
// Checks are those of the contract in drover/task_driver.h.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "drover/task_driver.h"
#include "nomad/plugins/driver.pb.h"

namespace drover {

template <typename Fixture>
class DriverConformance : public ::testing::Test {
 protected:
  static constexpr std::chrono::seconds kLong{30};
  // An identifier of the published form, new in every test.
  std::string id(const std::string& task = "web", const std::string& digits = "0a1b2c3d") const {
    return "5f1c7d2e-0000-4000-8000-000000000001/" + task + "/" + digits;
  }
  TaskDriver& driver() { return fixture_.driver(); }
  driver::TaskState state(const std::string& task) {
    auto inspected = driver().inspect_task(task);
    return inspected.ok() ? inspected->task().state() : driver::UNKNOWN;
  }
  // A failed wait is a failed test, never a hanging one.
  Result<driver::ExitResult> wait(const std::string& task, std::chrono::nanoseconds limit = kLong) {
    std::stop_source stop;
    auto waiting = std::async(std::launch::async, [&] { return driver().wait_task(task, stop.get_token()); });
    if (waiting.wait_for(limit) != std::future_status::ready) stop.request_stop();
    return waiting.get();
  }
  Fixture fixture_;
};
TYPED_TEST_SUITE_P(DriverConformance);

TYPED_TEST_P(DriverConformance, CapabilitiesAreConstantAndTheDriverIsHealthy) {
  EXPECT_EQ(this->driver().capabilities().SerializeAsString(), this->driver().capabilities().SerializeAsString());
  EXPECT_EQ(driver::FingerprintResponse::HEALTHY, this->driver().fingerprint().health());
}

TYPED_TEST_P(DriverConformance, StartReturnsWhenTheTaskRunsAndTheHandleIsComplete) {
  auto started = this->driver().start_task(this->fixture_.endless(this->id()));

  ASSERT_TRUE(started.ok()) << started.status().to_string();
  EXPECT_EQ(driver::RUNNING, this->state(this->id()));
  EXPECT_GE(started->handle().version(), 1);
  EXPECT_EQ(this->id(), started->handle().config().id());
  EXPECT_FALSE(started->handle().driver_state().empty());
  EXPECT_TRUE(this->driver().destroy_task(this->id(), true).ok());
}

TYPED_TEST_P(DriverConformance, RefusesAKnownIdentifierAndLeavesTheTaskAlone) {
  ASSERT_TRUE(this->driver().start_task(this->fixture_.endless(this->id())).ok());

  auto again = this->driver().start_task(this->fixture_.endless(this->id()));

  EXPECT_EQ(Code::already_exists, again.status().code());
  EXPECT_EQ(driver::RUNNING, this->state(this->id()));
  EXPECT_TRUE(this->driver().destroy_task(this->id(), true).ok());
}

TYPED_TEST_P(DriverConformance, AFailedStartLeavesNothingBehind) {
  driver::TaskConfig bad = this->fixture_.endless(this->id());
  bad.set_msgpack_driver_config("\x81\xa7no_such\xc3");  // {"no_such": true}

  EXPECT_EQ(Code::invalid_argument, this->driver().start_task(bad).status().code());
  EXPECT_EQ(Code::not_found, this->driver().inspect_task(this->id()).status().code());
  EXPECT_TRUE(this->driver().start_task(this->fixture_.endless(this->id())).ok());
  EXPECT_TRUE(this->driver().destroy_task(this->id(), true).ok());
}

TYPED_TEST_P(DriverConformance, SeveralCallersWaitAndAnEndedTaskAnswersAtOnce) {
  ASSERT_TRUE(this->driver().start_task(this->fixture_.endless(this->id())).ok());
  std::vector<std::future<Result<driver::ExitResult>>> waiting;
  std::stop_source limit;
  for (int i = 0; i < 3; ++i) {
    waiting.push_back(
        std::async(std::launch::async, [&] { return this->driver().wait_task(this->id(), limit.get_token()); }));
  }

  EXPECT_TRUE(this->driver().stop_task(this->id(), this->kLong, "").ok());

  for (auto& one : waiting) {
    if (one.wait_for(this->kLong) != std::future_status::ready) limit.request_stop();
    auto result = one.get();
    ASSERT_TRUE(result.ok()) << result.status().to_string();
    EXPECT_EQ(2, result->signal());
  }
  auto after = this->wait(this->id());
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(2, after->signal());
  EXPECT_TRUE(this->driver().destroy_task(this->id(), false).ok());
}

TYPED_TEST_P(DriverConformance, ACancelledWaitDoesNotTouchTheTask) {
  ASSERT_TRUE(this->driver().start_task(this->fixture_.endless(this->id())).ok());
  std::stop_source stop;
  auto waiting = std::async(std::launch::async, [&] { return this->driver().wait_task(this->id(), stop.get_token()); });

  stop.request_stop();

  EXPECT_EQ(Code::cancelled, waiting.get().status().code());
  EXPECT_EQ(driver::RUNNING, this->state(this->id()));
  EXPECT_TRUE(this->driver().destroy_task(this->id(), true).ok());
}

TYPED_TEST_P(DriverConformance, TheExitCodeArrives) {
  ASSERT_TRUE(this->driver().start_task(this->fixture_.ending(this->id(), 7)).ok());

  auto result = this->wait(this->id());

  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(7, result->exit_code());
  EXPECT_EQ(0, result->signal());
  EXPECT_FALSE(result->oom_killed());
  EXPECT_EQ(driver::EXITED, this->state(this->id()));
  EXPECT_TRUE(this->driver().destroy_task(this->id(), false).ok());
}

TYPED_TEST_P(DriverConformance, StopIsIdempotentAndKillsAfterTheTimeout) {
  ASSERT_TRUE(this->driver().start_task(this->fixture_.deaf(this->id())).ok());

  EXPECT_TRUE(this->driver().stop_task(this->id(), std::chrono::milliseconds(50), "SIGCONT").ok());
  EXPECT_TRUE(this->driver().stop_task(this->id(), std::chrono::milliseconds(50), "SIGCONT").ok());

  auto result = this->wait(this->id());
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(9, result->signal());
  EXPECT_TRUE(this->driver().destroy_task(this->id(), false).ok());
}

TYPED_TEST_P(DriverConformance, AnUnknownIdentifierHasTheTextThatHostsCompare) {
  const std::string unknown = this->id("nobody");
  std::vector<Status> answers = {this->wait(unknown).status(),
                                 this->driver().stop_task(unknown, {}, ""),
                                 this->driver().destroy_task(unknown, true),
                                 this->driver().inspect_task(unknown).status(),
                                 this->driver().task_stats(unknown).status(),
                                 this->driver().signal_task(unknown, "SIGHUP")};
  for (const Status& status : answers) {
    EXPECT_EQ(Code::not_found, status.code());
    EXPECT_EQ("task not found for given id", status.message());
  }
}

TYPED_TEST_P(DriverConformance, DestroyRefusesARunningTaskWithoutForce) {
  ASSERT_TRUE(this->driver().start_task(this->fixture_.endless(this->id())).ok());

  EXPECT_EQ(Code::failed_precondition, this->driver().destroy_task(this->id(), false).code());
  EXPECT_EQ(driver::RUNNING, this->state(this->id()));
  EXPECT_TRUE(this->driver().destroy_task(this->id(), true).ok());
  EXPECT_EQ(Code::not_found, this->driver().inspect_task(this->id()).status().code());
}

TYPED_TEST_P(DriverConformance, RecoverIsIdempotentForAKnownTask) {
  auto started = this->driver().start_task(this->fixture_.endless(this->id()));
  ASSERT_TRUE(started.ok());

  EXPECT_TRUE(this->driver().recover_task(started->handle()).ok());
  EXPECT_TRUE(this->driver().recover_task(started->handle()).ok());
  EXPECT_EQ(driver::RUNNING, this->state(this->id()));
  EXPECT_TRUE(this->driver().destroy_task(this->id(), true).ok());
}

TYPED_TEST_P(DriverConformance, ANewDriverFindsTheTaskAgain) {
  auto started = this->driver().start_task(this->fixture_.endless(this->id()));
  ASSERT_TRUE(started.ok());

  this->fixture_.restart();

  EXPECT_EQ(Code::not_found, this->driver().inspect_task(this->id()).status().code());
  Status recovered = this->driver().recover_task(started->handle());
  ASSERT_TRUE(recovered.ok()) << recovered.to_string();
  EXPECT_EQ(driver::RUNNING, this->state(this->id()));
  EXPECT_TRUE(this->driver().task_stats(this->id()).ok());
  EXPECT_TRUE(this->driver().stop_task(this->id(), this->kLong, "").ok());
  auto result = this->wait(this->id());
  ASSERT_TRUE(result.ok()) << result.status().to_string();
  EXPECT_EQ(2, result->signal());
  EXPECT_TRUE(this->driver().destroy_task(this->id(), false).ok());
}

TYPED_TEST_P(DriverConformance, RecoverRefusesHandlesThatItCannotRead) {
  auto started = this->driver().start_task(this->fixture_.endless(this->id()));
  ASSERT_TRUE(started.ok());
  driver::TaskHandle garbage = started->handle();
  garbage.mutable_config()->set_id(this->id("other"));
  garbage.set_driver_state("\xff not json");
  driver::TaskHandle old = started->handle();
  old.mutable_config()->set_id(this->id("other"));
  old.set_version(0);

  EXPECT_EQ(Code::invalid_argument, this->driver().recover_task(garbage).code());
  EXPECT_EQ(Code::invalid_argument, this->driver().recover_task(old).code());
  EXPECT_TRUE(this->driver().destroy_task(this->id(), true).ok());
}

TYPED_TEST_P(DriverConformance, AnUnknownSignalNameIsRefusedAndNothingIsSent) {
  ASSERT_TRUE(this->driver().start_task(this->fixture_.endless(this->id())).ok());

  EXPECT_EQ(Code::invalid_argument, this->driver().signal_task(this->id(), "SIGNOPE").code());
  EXPECT_EQ(Code::invalid_argument, this->driver().stop_task(this->id(), {}, "SIGNOPE").code());
  EXPECT_EQ(driver::RUNNING, this->state(this->id()));
  EXPECT_TRUE(this->driver().destroy_task(this->id(), true).ok());
}

TYPED_TEST_P(DriverConformance, ValidateNamesTheUnknownOption) {
  const Status status = this->driver().encode_config(R"({"no_such_option": 1})").status();

  EXPECT_EQ(Code::invalid_argument, status.code());
  EXPECT_NE(std::string::npos, status.message().find("no_such_option")) << status.message();
}

TYPED_TEST_P(DriverConformance, ManyTasksStartAndStopInParallel) {
  constexpr int kTasks = 50;
  std::vector<std::future<Status>> lives;
  for (int i = 0; i < kTasks; ++i) {
    lives.push_back(std::async(std::launch::async, [this, i]() -> Status {
      const std::string task = this->id("task-" + std::to_string(i));
      auto started = this->driver().start_task(this->fixture_.endless(task));
      if (!started.ok()) return started.status();
      DROVER_RETURN_IF_ERROR(this->driver().stop_task(task, this->kLong, ""));
      auto result = this->wait(task);
      if (!result.ok()) return result.status();
      return this->driver().destroy_task(task, false);
    }));
  }
  for (auto& life : lives) {
    Status status = life.get();
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
}

REGISTER_TYPED_TEST_SUITE_P(DriverConformance, CapabilitiesAreConstantAndTheDriverIsHealthy,
                            StartReturnsWhenTheTaskRunsAndTheHandleIsComplete,
                            RefusesAKnownIdentifierAndLeavesTheTaskAlone, AFailedStartLeavesNothingBehind,
                            SeveralCallersWaitAndAnEndedTaskAnswersAtOnce, ACancelledWaitDoesNotTouchTheTask,
                            TheExitCodeArrives, StopIsIdempotentAndKillsAfterTheTimeout,
                            AnUnknownIdentifierHasTheTextThatHostsCompare, DestroyRefusesARunningTaskWithoutForce,
                            RecoverIsIdempotentForAKnownTask, ANewDriverFindsTheTaskAgain,
                            RecoverRefusesHandlesThatItCannotRead, AnUnknownSignalNameIsRefusedAndNothingIsSent,
                            ValidateNamesTheUnknownOption, ManyTasksStartAndStopInParallel);

}  // namespace drover

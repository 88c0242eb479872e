// Both sides of the stable ABI, one against the other.
#include "drover/plugin_programs/resident.h"

#include <atomic>
#include <future>
#include <thread>

#include "../serve/endpoint.h"
#include "gtest/gtest.h"

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;

SteadyTime in(std::chrono::milliseconds time) { return SystemClock().steady() + time; }

bool has_ended(const std::stop_token& stop) {
  std::promise<void> ended;
  const std::stop_callback callback(stop, [&] { ended.set_value(); });
  return ended.get_future().wait_for(20s) == std::future_status::ready;
}

struct Fixture {
  std::atomic<int> sent{0};
  std::atomic<int> ended{0};  // calls that were told that their caller has gone
  std::unique_ptr<ResidentChannel> channel = connect(serve::make_endpoint({
      {"/t.T/Echo",
       [](serve::Call& call) {
         (void)call.send(call.request());
         return ok_status();
       }},
      {"/t.T/Refuse", [](serve::Call& call) { return Status(Code::already_exists, call.request()); }},
      {"/t.T/Nothing", [](serve::Call&) { return ok_status(); }},
      {"/t.T/Throw", [](serve::Call&) -> Status { throw std::runtime_error("at random"); }},
      {"/t.T/Count",
       [this](serve::Call& call) {
         const int most = std::stoi(call.request());
         for (int i = 0; i < most && call.send(std::to_string(i)); ++i) ++sent;
         return ok_status();
       }},
      {"/t.T/Wait",
       [this](serve::Call& call) {
         ended += has_ended(call.stop());
         return cancelled("the caller has gone");
       }},
  }));
};

TEST(Resident, AnswersAndErrorsAreTheMethods) {
  Fixture f;
  EXPECT_EQ(*f.channel->call("/t.T/Echo", std::string("a\0b", 3), in(20s)), std::string("a\0b", 3));
  EXPECT_EQ(*f.channel->call("/t.T/Echo", "", {}), "");
  EXPECT_EQ(f.channel->call("/t.T/Refuse", "twice", in(20s)).status(), already_exists("twice"));
  EXPECT_EQ(f.channel->call("/t.T/Unknown", "", in(20s)).status().code(), Code::unimplemented);
  EXPECT_EQ(f.channel->call("/t.T/Nothing", "", in(20s)).status().code(), Code::internal);
  EXPECT_EQ(f.channel->call("/t.T/Throw", "", in(20s)).status().message(), "the plugin threw: at random");
}

TEST(Resident, AStreamKeepsItsOrderAndWaitsForItsReader) {
  Fixture f;
  const auto messages = f.channel->open("/t.T/Count", "1000");
  ASSERT_EQ(messages->next(), "0");
  for (int i = 0; i < 100; ++i) std::this_thread::yield();
  EXPECT_LE(f.sent, 1 + 64 + 1) << "what nobody has read is bounded";
  for (int i = 1; i < 1000; ++i) ASSERT_EQ(messages->next(), std::to_string(i));
  EXPECT_EQ(messages->next(), std::nullopt);
  EXPECT_EQ(messages->status(), ok_status());
}

TEST(Resident, TheNewestIsKeptWhereOnlyThatIsWanted) {
  Fixture f;
  const auto messages = f.channel->open("/t.T/Count", "1", Messages::Keep::newest);
  while (messages->newest(in(20s))) std::this_thread::yield();
  EXPECT_EQ(messages->status(), ok_status());
  EXPECT_EQ(f.sent, 1);
}

TEST(Resident, WhoGoesIsTold) {
  Fixture f;
  EXPECT_EQ(f.channel->call("/t.T/Wait", "", in(1ms)).status().code(), Code::deadline_exceeded);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(f.channel->call("/t.T/Wait", "", {}, stop.get_token()).status().code(), Code::cancelled);
  const auto messages = f.channel->open("/t.T/Wait", "");
  messages->cancel();
  EXPECT_EQ(messages->next(), std::nullopt);
  EXPECT_EQ(messages->status().code(), Code::cancelled);
  (void)f.channel->open("/t.T/Wait", "");  // gone at once
  f.channel->release();
  EXPECT_EQ(f.ended, 4);
}

TEST(Resident, ReleaseEndsWhatIsOpen) {
  Fixture f;
  const auto messages = f.channel->open("/t.T/Wait", "");
  std::promise<Status> answer;
  std::thread caller([&] { answer.set_value(f.channel->call("/t.T/Wait", "", {}).status()); });
  std::thread reader([&] { EXPECT_EQ(messages->next(), std::nullopt); });
  f.channel->release();
  caller.join();
  reader.join();
  EXPECT_EQ(answer.get_future().get().code(), Code::unavailable);
  EXPECT_EQ(messages->status().code(), Code::unavailable);
  EXPECT_EQ(f.channel->call("/t.T/Echo", "", {}).status().code(), Code::unavailable);
  EXPECT_EQ(f.channel->open("/t.T/Echo", "")->status().code(), Code::unavailable);
}

TEST(Resident, ManyCallsAtOnceDoNotMeet) {
  Fixture f;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&f, i] {
      for (int n = 0; n < 200; ++n) {
        const std::string text = std::to_string(i) + "/" + std::to_string(n);
        ASSERT_EQ(*f.channel->call("/t.T/Echo", text, in(20s)), text);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

// A plugin that answers within the call that it is asked by.
TEST(Resident, AnAnswerMayComeOnTheCallersOwnThread) {
  struct Prompt {
    static int32_t push(void* self, drover_bytes message) {
      const auto& replies = *static_cast<drover_stream*>(self);
      replies.push(replies.self, message);
      replies.close(replies.self, 0, {});
      return 1;
    }
    static void close(void* self, int32_t, drover_bytes) { delete static_cast<drover_stream*>(self); }
    static drover_stream open(void*, const drover_request*, drover_stream replies) {
      return {.self = new drover_stream(replies), .push = &push, .end = [](void*) {}, .close = &close};
    }
  };
  const auto channel =
      connect({.size = sizeof(drover_endpoint), .self = nullptr, .open = &Prompt::open, .release = [](void*) {}});
  EXPECT_EQ(*channel->call("/any/Method", "at once", in(20s)), "at once");
  EXPECT_EQ(channel->open("/any/Method", "again")->next(), "again");
}

}  // namespace
}  // namespace drover::plugin_programs

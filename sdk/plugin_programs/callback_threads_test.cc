#include "drover/plugin_programs/callback_threads.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>

namespace drover::plugin_programs {
namespace {

// As many as gRPC 1.51 has.
const unsigned kThreads = std::clamp(std::thread::hardware_concurrency() / 2, 2u, 16u);

class Count {
 public:
  void add() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  bool wait_for_all() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [this] { return count_ == kThreads; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  unsigned count_ = 0;  // guarded by mutex_
};

struct Call {
  grpc::ClientContext context;
  const grpc::Slice nothing;
  grpc::ByteBuffer request{&nothing, 1}, answer;
};

// A server's first channel may be made because another server speaks to it, thus on one of these threads, and on each
// of them at once. None is then left to run a callback that one of them would wait for.
TEST(CallbackThreads, AreKeptByAllOfThemAtOnce) {
  grpc::GenericStub stub(grpc::CreateChannel("unix:/nobody", grpc::InsecureChannelCredentials()));
  Count busy, done;
  std::deque<Call> calls;
  for (unsigned i = 0; i < kThreads; ++i) {
    Call& call = calls.emplace_back();
    call.context.set_deadline(std::chrono::system_clock::time_point());
    stub.UnaryCall(&call.context, "/none.None/None", {}, &call.request, &call.answer, [&](const grpc::Status&) {
      busy.add();
      busy.wait_for_all();
      keep_callback_threads();
      done.add();
    });
  }
  EXPECT_TRUE(busy.wait_for_all()) << "gRPC has fewer threads than this test thinks";
  if (done.wait_for_all()) return;
  std::fputs("the callback threads wait for themselves\n", stderr);
  std::_Exit(1);  // they would be waited for
}

}  // namespace
}  // namespace drover::plugin_programs

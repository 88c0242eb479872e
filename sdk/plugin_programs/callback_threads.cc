#include "drover/plugin_programs/callback_threads.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>

namespace drover::plugin_programs {
namespace {

// A call is what ties a channel to the threads; this one is over before it begins. Nobody waits for its end:
// the makers of the first channels may be on these threads, and on all of them at once.
struct Keeper {
  grpc::GenericStub stub{grpc::CreateChannel("unix:/nobody", grpc::InsecureChannelCredentials())};
  grpc::ClientContext context;
  const grpc::Slice nothing;
  grpc::ByteBuffer request{&nothing, 1}, answer;

  Keeper() {
    context.set_deadline(std::chrono::system_clock::time_point());
    stub.UnaryCall(&context, "/none.None/None", {}, &request, &answer, [](const grpc::Status&) {});
  }
};

}  // namespace

// Never let go of; volatile, so that the pointer is there to be found and this is no leak.
void keep_callback_threads() { [[maybe_unused]] static const Keeper* volatile kept = new Keeper; }

}  // namespace drover::plugin_programs

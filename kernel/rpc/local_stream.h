// A streaming call that is answered in this process: the handler runs on a thread of its own and writes straight into
// the receiver; requests wait in a bounded queue.
#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "drover/methods.h"
#include "drover/thread_pool.h"
#include "kernel/rpc/method_table.h"

namespace drover::rpc {

Result<std::unique_ptr<StreamCall>> open_local_stream(const Method& method, CallContext context, std::string request,
                                                      StreamReceiver receiver, ThreadPool& pool,
                                                      std::stop_token stopping);

}  // namespace drover::rpc

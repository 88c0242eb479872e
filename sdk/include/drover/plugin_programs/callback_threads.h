// The threads that gRPC runs callbacks on.
#pragma once

namespace drover::plugin_programs {

// gRPC ends these threads with the last channel that used them, on whichever thread lets go of it: where that is one of
// them, the process aborts. Call this before the first channel: one of its own then keeps them for the life of the
// process. Idempotent. [any]
void keep_callback_threads();

}  // namespace drover::plugin_programs

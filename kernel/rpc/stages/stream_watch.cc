#include "kernel/rpc/stages/stream_watch.h"

namespace drover::rpc {

StreamReceiver StreamWatch::begin(CallContext& context, StreamReceiver receiver) {
  if (context.stop.stop_possible()) from_caller_.emplace(context.stop, [this] { stop_.request_stop(); });
  context.stop = stop_.get_token();
  context_ = context;
  look_later();
  return {.message = std::move(receiver.message),
          .closed = [self = shared_from_this(), closed = std::move(receiver.closed)](Status status) {
            closed(self->is_denied_ ? right_is_lost() : std::move(status));
          }};
}

void StreamWatch::look_later() {
  pool_.post_at(clock_.steady() + every_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->look();
  });
}

// Not finding out is no reason to end it: servers may be away for a while.
void StreamWatch::look() {
  access_.authenticate(context_, [self = shared_from_this()](const Result<Identity>& identity) {
    CallContext context = self->context_;
    if (identity) context.identity = *identity;
    const bool is_unknown = identity.status().code() == Code::permission_denied;
    if (!is_unknown && (!identity || self->may_(context))) return self->look_later();
    self->is_denied_ = true;
    self->stop_.request_stop();
  });
}

}  // namespace drover::rpc

#include "kernel/rpc/blocking_read.h"

#include "drover/stopping.h"
#include "kernel/rpc/handler.h"
#include "kernel/state/store.h"

namespace drover::rpc {

void BlockingRead::start(Setup setup) {
  state::ReadSet looked;
  Result<Reply> reply = answer_once(setup.method, &setup.store, setup.context, setup.request, &looked);
  const bool is_new = !reply || reply->meta.index > setup.context.query.min_index;
  if (is_new || looked.empty() || setup.clock.steady() >= setup.until) return setup.done(std::move(reply));
  std::shared_ptr<BlockingRead>(new BlockingRead(std::move(setup)))->sleep(looked);
}

void BlockingRead::wake_on(OnStop& on_stop, const std::stop_token& token) {
  if (!token.stop_possible()) return;
  on_stop.emplace(token, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->wake(state::WakeReason::changed);
  });
}

// Any of the callbacks may come while this still registers them; the read then goes on by itself.
void BlockingRead::sleep(const state::ReadSet& looked) {
  wake_on(on_caller_gone_, setup_.context.stop);
  wake_on(on_stopping_, setup_.stopping);
  wake_on(on_leadership_lost_, setup_.leadership);
  watch_ = setup_.store.watch(looked, [weak = weak_from_this()](state::WakeReason reason) {
    if (auto self = weak.lock()) self->wake(reason);
  });
  // The timer holds this object while it sleeps: the watch and the callbacks know it weakly.
  timer_ = setup_.pool.post_at(setup_.until, [self = shared_from_this()] { self->wake(state::WakeReason::changed); });
  {
    MutexLock lock(mutex_);
    is_asleep_ = true;
    if (!is_woken_) return;
  }
  resume();
}

void BlockingRead::wake(state::WakeReason reason) {
  {
    MutexLock lock(mutex_);
    is_abandoned_ = is_abandoned_ || reason == state::WakeReason::abandoned;
    if (std::exchange(is_woken_, true) || !is_asleep_) return;
  }
  setup_.pool.post([self = shared_from_this()] { self->resume(); });
}

void BlockingRead::resume() {
  const auto self = shared_from_this();  // the timer may hold the last reference
  watch_.cancel();
  setup_.pool.cancel_timer(timer_);
  on_caller_gone_.reset();
  on_stopping_.reset();
  on_leadership_lost_.reset();
  const bool is_abandoned = [this] {
    MutexLock lock(mutex_);
    return is_abandoned_;
  }();
  if (setup_.stopping.stop_requested()) return setup_.done(agent_is_stopping());
  if (setup_.context.stop.stop_requested()) return setup_.done(cancelled("the caller has gone"));
  if (is_abandoned) return setup_.done(unavailable("the state was replaced; ask again"));
  setup_.again();
}

}  // namespace drover::rpc

// The one way of every call:
//
//   receive → authenticate → forward (region, leader, node) → measure → authorize → handle → answer
//
// Callers are plugins of this process, other servers, node agents and, down the connection that an agent opened,
// servers calling that agent. The router moves bytes by method name; it decodes nothing but a request's target field.
// A method's kind says what its handler may do (drover/methods.h). [any]; reads and decisions run on the pool, handlers
// that act run on a borrowed thread or on the thread that waits in call_and_wait.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "drover/access_control.h"
#include "drover/audit.h"
#include "drover/methods.h"
#include "drover/metrics.h"
#include "drover/task_batches.h"
#include "drover/thread_pool.h"
#include "drover/wire.h"
#include "kernel/rpc/environment.h"
#include "kernel/rpc/method_table.h"
#include "kernel/rpc/stages/forward.h"

namespace drover::state {
class Store;
}

namespace drover::rpc {

class Router final : public Caller {
 public:
  struct Options {
    std::chrono::nanoseconds hold_timeout = std::chrono::seconds(5);  // how long a call waits for a leader
    std::chrono::nanoseconds default_wait = std::chrono::seconds(300);
    std::chrono::nanoseconds max_wait = std::chrono::seconds(300);
    std::chrono::nanoseconds write_time = std::chrono::seconds(30);  // for a command, unless the call has less
    std::chrono::nanoseconds look_again = std::chrono::seconds(3);   // at the right to a stream
  };
  // `store` is null on a pure client. Everything outlives the router.
  Router(const Options& options, const MethodTable& methods, state::Store* store, Environment& environment,
         ThreadPool& pool, Clock& clock, Metrics& metrics);
  ~Router() override;  // stops

  void set_peers(Peers* peers) { peers_ = peers; }                      // before the first call
  void set_access_control(AccessControl* access) { access_ = access; }  // before the first call
  void add_auditor(Auditor& auditor) { auditors_.push_back(&auditor); }  // before the first call

  void call(CallContext context, std::string request, std::function<void(Result<Reply>)> done) override;
  Result<Reply> call_and_wait(CallContext context, std::string request) override;
  Result<std::unique_ptr<StreamCall>> open(CallContext context, std::string request, StreamReceiver receiver) override;

  // Ends blocked reads with unavailable and tells streams to end; later calls are refused. Idempotent.
  void stop();

 private:
  struct Pending;

  const Method* method_of(CallContext& context, Status& error) const;
  Destination destination(const Method& method, const CallContext& context, std::string_view request) const;
  // After forwarding: counts, checks, returns the status to answer with when the call may not go on.
  Status admit(const Method& method, CallContext& context, const Status& authentication);
  static Status authorize(const Method& method, CallContext& context, const Status& authentication);
  static bool may_pass_on(const Method& method, const CallContext& context);
  Status authenticate_and_wait(CallContext& context);
  void answer_if_still_allowed(const std::shared_ptr<Pending>& pending, const Result<Reply>& reply);
  void audit(Pending& call);
  bool is_audited(const CallContext& context) const;
  void tell_auditors(const CallContext& context, std::string_view request, const Status& outcome) const;
  void handle(std::shared_ptr<Pending> pending);
  void dispatch(std::shared_ptr<Pending> pending);
  void dispatch_anew(const std::shared_ptr<Pending>& pending);
  void hold(std::shared_ptr<Pending> pending);
  void refuse(std::shared_ptr<Pending> pending, Status status);
  void read_blocking(std::shared_ptr<Pending> pending);
  void write(std::shared_ptr<Pending> pending);
  void written(const std::shared_ptr<Pending>& pending, const Decision& decision, uint64_t term,
               const Result<Applied>& applied);
  bool must_confirm(const Method& method, const CallContext& context) const;
  bool confirm_and_wait(SteadyTime deadline);
  CallContext outgoing(CallContext context) const;
  ReplyMeta complete(ReplyMeta meta) const;
  Result<Reply> complete(Result<Reply> reply) const;
  Result<Reply> run_unary(const Method& method, const CallContext& context, std::string_view request);

  const Options options_;
  const MethodTable& methods_;
  state::Store* const store_;
  Environment& environment_;
  ThreadPool& pool_;
  Clock& clock_;
  Metrics& metrics_;
  Peers* peers_ = nullptr;
  AccessControl* access_;
  std::vector<Auditor*> auditors_;
  std::unique_ptr<AccessControl> open_access_;
  std::stop_source stopping_;
  TaskBatches answers_{pool_};  // the log confirms many writes in one moment
};

}  // namespace drover::rpc

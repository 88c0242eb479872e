#include "kernel/rpc/router.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <future>

#include "drover/log.h"
#include "drover/reply_meta.h"
#include "drover/stopping.h"
#include "kernel/rpc/blocking_read.h"
#include "kernel/rpc/handler.h"
#include "kernel/rpc/local_stream.h"
#include "kernel/rpc/stages/access.h"
#include "kernel/rpc/stages/stream_watch.h"
#include "kernel/state/store.h"

namespace drover::rpc {
namespace {

constexpr std::chrono::milliseconds kShortestWait{1};  // zero would mean the longest

// The bytes of one field of a serialized request, without the plugin's types.
std::string field_bytes(const Method& method, std::string_view request, const std::string& field_name) {
  if (field_name.empty()) return {};
  const auto* field = method.descriptor->input_type()->FindFieldByName(field_name);
  if (!field || field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_STRING || field->is_repeated())
    return {};
  const auto* prototype =
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(method.descriptor->input_type());
  std::unique_ptr<google::protobuf::Message> message(prototype->New());
  if (!message->ParsePartialFromArray(request.data(), static_cast<int>(request.size()))) return {};
  return message->GetReflection()->GetString(*message, field);
}

std::string identity_label(const Identity& identity) {
  static constexpr std::string_view kKinds[] = {"unauthenticated", "management", "token", "client", "workload"};
  std::string label(kKinds[static_cast<size_t>(identity.kind)]);
  return identity.name.empty() ? label : label + ":" + identity.name;
}

}  // namespace

// One call on its way, shared by the steps that carry it on.
struct Router::Pending {
  const Method* method = nullptr;
  CallContext context;
  Status authentication;
  std::string request;
  std::function<void(Result<Reply>)> done;
  std::function<void(Result<Reply>)> unaudited;  // the caller's `done`, where auditors hear of the answer before
  SteadyTime held_until;
  std::optional<SteadyTime> read_until;  // of a blocking read that has been admitted
  bool is_admitted = false;
  bool is_confirmed = false;     // this server leads beyond doubt, or need not
  std::stop_token leadership{};  // under which it was confirmed
};

Router::Router(const Options& options, const MethodTable& methods, state::Store* store, Environment& environment,
               ThreadPool& pool, Clock& clock, Metrics& metrics)
    : options_(options),
      methods_(methods),
      store_(store),
      environment_(environment),
      pool_(pool),
      clock_(clock),
      metrics_(metrics),
      open_access_(std::make_unique<OpenAccess>()) {
  access_ = open_access_.get();
}

Router::~Router() { stop(); }

void Router::stop() { stopping_.request_stop(); }

namespace {

// Refuses wishes that the method would ignore silently.
Status refuse_ignored(const Method& method, const QueryOptions& query) {
  if (!method.route.filters() && !query.filter.empty())
    return invalid_argument("this answer takes no filter; leave it out");
  if (!method.route.pages() && (query.per_page > 0 || !query.next_token.empty()))
    return invalid_argument("this answer is not divided into pages; leave out per_page and next_token");
  return ok_status();
}

// One that the receiving agent answers, unless its request names another agent.
bool names_others(const Route& route) {
  return route.target() == Route::LOCAL && (!route.node_field().empty() || !route.server_field().empty());
}

}  // namespace

const Method* Router::method_of(CallContext& context, Status& error) const {
  if (stopping_.stop_requested()) {
    error = agent_is_stopping();
    return nullptr;
  }
  const Method* method = methods_.find(context.method);
  if (!method) error = unimplemented("unknown method " + context.method);
  // Asked once: later steps belong to the same call.
  if (const auto gate = std::exchange(context.gate, nullptr); method && gate) error = gate->admit(context.method);
  if (error.ok()) error = refuse_ignored(*method, context.query);
  // The API may be open while plugins still start.
  if (error.ok() && !environment_.has_started(method->plugin)) error = unavailable("this agent is starting");
  if (!error.ok()) return nullptr;
  return method;
}

Destination Router::destination(const Method& method, const CallContext& context, std::string_view request) const {
  const Route::Target target = method.route.target();
  Situation now{.region = environment_.region(),
                .server_name = environment_.server_name(),
                .is_server = environment_.is_server(),
                .is_leader = environment_.is_leader()};
  if (now.is_leader) {
    now.is_ready = environment_.is_ready();
  } else if (target != Route::LOCAL || names_others(method.route)) {
    now.leader_address = environment_.leader_address();
    now.any_server_address = environment_.any_server_address();
  }
  if (const std::string& field = method.route.server_field(); !field.empty()) {
    now.wanted_server = field_bytes(method, request, field);
    if (now.is_server && !now.wanted_server.empty())
      now.wanted_address = environment_.server_address(now.wanted_server);
  }
  if (target == Route::NODE || names_others(method.route)) {
    now.local_node = environment_.local_node();
    std::string node = field_bytes(method, request, method.route.node_field());
    if (node.size() == 16) {
      now.names_target = true;
      now.wanted_node = Uuid::from_bytes(node);
    } else if (std::string id = field_bytes(method, request, method.route.alloc_field()); !id.empty()) {
      now.names_target = true;
      const Result<Uuid> located = environment_.locate(id);
      if (located) {
        now.wanted_node = *located;
      } else if (now.is_server) {
        return located.status();
      }
    }
    now.node_is_connected = now.wanted_node && peers_ && peers_->has_node(*now.wanted_node);
    if (now.is_server && now.wanted_node && !now.node_is_connected)
      now.unvisited_server = environment_.unvisited_server(context.path);
  }
  return decide(method.route, context, now);
}

Status Router::admit(const Method& method, CallContext& context, const Status& authentication) {
  if (!method.is_answered_here())
    return unimplemented(method.name + " is answered by agents of another role, not by this one");
  metrics_.add(method.rate, 1, {{"identity", identity_label(context.identity)}});
  return authorize(method, context, authentication);
}

Status Router::authorize(const Method& method, CallContext& context, const Status& authentication) {
  context.access = &method.access;
  if (method.access.anyone()) return ok_status();
  if (!authentication.ok()) return access_denied();
  const std::string_view name_space = method.access.of_object() ? "*" : std::string_view(context.query.name_space);
  return allows(method.access, context, name_space) ? ok_status() : access_denied();
}

// Beyond this server nobody can tell any more who called.
bool Router::may_pass_on(const Method& method, const CallContext& context) {
  return !method.access.server() || context.from_server;
}

// Requires: the thread may wait. A server never does.
Status Router::authenticate_and_wait(CallContext& context) {
  const auto answer = std::make_shared<std::promise<Result<Identity>>>();
  std::future<Result<Identity>> answered = answer->get_future();
  access_->authenticate(context, [answer](Result<Identity> identity) { answer->set_value(std::move(identity)); });
  Result<Identity> identity = answered.get();
  if (!identity) return identity.status();
  context.identity = *std::move(identity);
  return ok_status();
}

CallContext Router::outgoing(CallContext context) const {
  if (std::string name = environment_.server_name(); !name.empty()) context.path.push_back(std::move(name));
  context.identity = {};  // the proof travels, not the conclusion
  context.access = nullptr;
  return context;
}

ReplyMeta Router::complete(ReplyMeta meta) const {
  meta.known_leader = environment_.is_leader() || !environment_.leader_address().empty();
  meta.last_contact = environment_.last_contact();
  return meta;
}

Result<Reply> Router::complete(Result<Reply> reply) const {
  if (reply) {
    reply->meta = complete(std::move(reply->meta));
  } else if (store_ && reply.status().code() == Code::not_found) {
    return with_meta(reply.status(), complete({.index = store_->index()}));
  }
  return reply;
}

void Router::call(CallContext context, std::string request, std::function<void(Result<Reply>)> done) {
  Status error;
  auto pending = std::make_shared<Pending>();
  pending->method = method_of(context, error);
  if (pending->method && pending->method->streaming)
    error = invalid_argument(context.method + " is a streaming method");
  pending->done = std::move(done);
  if (!error.ok()) return refuse(std::move(pending), std::move(error));
  pending->context = std::move(context);
  pending->request = std::move(request);
  pending->held_until = clock_.steady() + options_.hold_timeout;
  access_->authenticate(pending->context, [this, pending](Result<Identity> identity) {
    if (identity) {
      pending->context.identity = *std::move(identity);
    } else {
      pending->authentication = identity.status();
    }
    dispatch(pending);
  });
}

void Router::refuse(std::shared_ptr<Pending> pending, Status status) {
  pool_.post([pending = std::move(pending), status = std::move(status)] { pending->done(status); });
}

void Router::dispatch(std::shared_ptr<Pending> pending) {
  Destination where = destination(*pending->method, pending->context, pending->request);
  if (auto* status = std::get_if<Status>(&where)) {
    refuse(std::move(pending), std::move(*status));
  } else if (std::holds_alternative<WaitForLeader>(where)) {
    hold(std::move(pending));
  } else if (std::holds_alternative<Here>(where)) {
    handle(std::move(pending));
  } else if (!may_pass_on(*pending->method, pending->context)) {
    refuse(std::move(pending), access_denied());
  } else if (!peers_) {
    refuse(std::move(pending), unavailable("No cluster leader"));
  } else {
    CallContext context = outgoing(pending->context);
    if (pending->read_until)  // it has waited for a while here
      context.query.max_wait =
          std::max<std::chrono::nanoseconds>(*pending->read_until - clock_.steady(), kShortestWait);
    // Another one answers it now, and its auditors hear of that.
    auto done = std::move(pending->unaudited ? pending->unaudited : pending->done);
    if (auto* server = std::get_if<ToServer>(&where)) {
      peers_->call_server(server->address, std::move(context), std::move(pending->request), std::move(done));
    } else {
      peers_->call_node(std::get<ToNode>(where).node, std::move(context), std::move(pending->request),
                        std::move(done));
    }
  }
}

// Tries again soon, while there is time.
void Router::hold(std::shared_ptr<Pending> pending) {
  const SteadyTime now = clock_.steady();
  if (now >= std::min(pending->held_until, pending->context.deadline) || stopping_.stop_requested())
    return refuse(std::move(pending), unavailable("No cluster leader"));
  pool_.post_at(now + std::chrono::milliseconds(20), [this, pending] { dispatch(pending); });
}

// The auditors hear of an answer that is given here. A call that is passed on takes the caller's own `done` along.
void Router::audit(Pending& call) {
  if (!is_audited(call.context)) return;
  call.unaudited = std::move(call.done);
  call.done = [this, &call](Result<Reply> reply) {
    tell_auditors(call.context, call.request, reply.status());
    call.unaudited(std::move(reply));
  };
}

void Router::tell_auditors(const CallContext& context, std::string_view request, const Status& outcome) const {
  for (Auditor* auditor : auditors_) auditor->answered(context, request, outcome);
}

bool Router::is_audited(const CallContext& context) const {
  return std::ranges::any_of(auditors_, [&](Auditor* auditor) { return auditor->wants(context); });
}

// A leader that is cut off, or was paused, may have a successor that it does not know of: its own state may be old
// (Raft §6.4). Callers that ask for stale data get it.
bool Router::must_confirm(const Method& method, const CallContext& context) const {
  return method.is_read() && method.route.target() == Route::LEADER && !context.query.stale && environment_.is_server();
}

void Router::handle(std::shared_ptr<Pending> pending) {
  const Method& method = *pending->method;
  if (!pending->is_confirmed && must_confirm(method, pending->context)) {
    const SteadyTime until = std::min(pending->held_until, pending->context.deadline);
    pending->leadership = environment_.leadership();  // before it is confirmed: its loss from now on is heard
    environment_.confirm_leadership(until, [this, pending](const Status& status) {
      pending->is_confirmed = status.ok();
      pool_.post([this, pending] { pending->is_confirmed ? handle(pending) : hold(pending); });
    });
    return;
  }
  if (!std::exchange(pending->is_admitted, true)) {
    Status status = admit(method, pending->context, pending->authentication);
    audit(*pending);
    if (!status.ok()) return refuse(std::move(pending), std::move(status));
  }
  if (method.write) {
    pool_.post([this, pending] { write(pending); });
  } else if (!method.is_read()) {
    const Status lent = pool_.run_blocking(
        [this, pending] { pending->done(run_unary(*pending->method, pending->context, pending->request)); });
    if (!lent.ok()) refuse(std::move(pending), lent);
  } else if (pending->context.query.min_index > 0 && store_) {
    pool_.post([this, pending] { read_blocking(pending); });
  } else {
    pool_.post([this, pending] { pending->done(run_unary(*pending->method, pending->context, pending->request)); });
  }
}

// When it wakes it starts again from the beginning, with the time that is left: another server may lead by then, and
// this one's reads must be confirmed anew.
void Router::read_blocking(std::shared_ptr<Pending> pending) {
  if (!pending->read_until) {
    std::chrono::nanoseconds wait = pending->context.query.max_wait;
    if (wait <= std::chrono::nanoseconds(0)) wait = options_.default_wait;
    wait = std::min(wait, options_.max_wait);
    // A little more than asked for, different for each caller, so that equal waits do not end in one moment.
    const auto spread = static_cast<int64_t>(std::hash<void*>()(pending.get()) % 1024);
    wait += wait / 16 * spread / 1024;
    pending->read_until = std::min(clock_.steady() + wait, pending->context.deadline);
  }
  Pending& call = *pending;
  BlockingRead::start({.method = *call.method,
                       .store = *store_,
                       .pool = pool_,
                       .clock = clock_,
                       .context = call.context,
                       .request = call.request,
                       .until = *call.read_until,
                       .leadership = call.leadership,
                       .stopping = stopping_.get_token(),
                       .done = [this, pending](Result<Reply> reply) { answer_if_still_allowed(pending, reply); },
                       .again =
                           [this, pending] {
                             pending->is_confirmed = false;
                             pending->held_until = clock_.steady() + options_.hold_timeout;
                             dispatch_anew(pending);
                           }});
}

// A caller that waited is authenticated again: the handler decides by what it may now.
void Router::dispatch_anew(const std::shared_ptr<Pending>& pending) {
  access_->authenticate(pending->context, [this, pending](Result<Identity> identity) {
    if (identity) {
      pending->context.identity = *std::move(identity);
    } else if (identity.status().code() == Code::permission_denied) {
      pending->context.identity = {};
    }
    dispatch(pending);
  });
}

// The caller may have lost its rights while it waited.
void Router::answer_if_still_allowed(const std::shared_ptr<Pending>& pending, const Result<Reply>& reply) {
  access_->authenticate(pending->context, [this, pending, reply](const Result<Identity>& identity) {
    if (identity) pending->context.identity = *identity;
    const Status allowed = authorize(*pending->method, pending->context, identity.status());
    pending->done(allowed.ok() ? complete(reply) : Result<Reply>(allowed));
  });
}

// [pool] Decides, and proposes what was decided.
void Router::write(std::shared_ptr<Pending> pending) {
  const uint64_t term = environment_.term();  // before the snapshot: what is decided on it may be written in no other
  const SteadyTime began = clock_.steady();
  Result<Decided> decided = decide_once(*pending->method, *store_, pending->context, pending->request);
  metrics_.observe("nomad.nomad.rpc.handle", clock_.steady() - began,
                   {{"method", pending->method->descriptor->full_name()}});
  if (!decided) return pending->done(complete(Result<Reply>(decided.status())));
  Decision& decision = decided->decision;
  if (decision.command.empty()) {
    Result<std::string> body = decision.answer({});
    if (!body) return pending->done(body.status());
    return pending->done(Reply{*std::move(body), complete(std::move(decided->meta))});
  }
  const SteadyTime deadline = std::min(pending->context.deadline, began + options_.write_time);
  std::string payload = std::move(decision.payload);
  const std::string command = decision.command;
  environment_.propose(pending->method->plugin, command, std::move(payload), deadline, term,
                       [this, pending, decision = std::move(decision), term](Result<Applied> applied) mutable {
                         answers_.post([this, pending = std::move(pending), decision = std::move(decision), term,
                                        applied = std::move(applied)] { written(pending, decision, term, applied); });
                       });
}

// [pool]
void Router::written(const std::shared_ptr<Pending>& pending, const Decision& decision, uint64_t term,
                     const Result<Applied>& applied) {
  if (!applied) {
    // Nothing was written: decides again, here or where the leader is now.
    const bool is_outdated = applied.status().code() == Code::aborted && environment_.term() != term;
    const bool leads_no_more = applied.status().code() == Code::unavailable && !environment_.is_leader();
    if (is_outdated || leads_no_more) return hold(pending);
    return pending->done(applied.status());
  }
  Result<std::string> body = decision.answer(*applied);
  if (!body) return pending->done(body.status());
  pending->done(Reply{*std::move(body), complete({.index = applied->index})});
}

Result<Reply> Router::run_unary(const Method& method, const CallContext& context, std::string_view request) {
  const SteadyTime began = clock_.steady();
  Result<Reply> reply = answer_once(method, store_, context, request);
  metrics_.observe("nomad.nomad.rpc.handle", clock_.steady() - began, {{"method", method.descriptor->full_name()}});
  return complete(std::move(reply));
}

// False when another may lead, or nobody.
bool Router::confirm_and_wait(SteadyTime deadline) {
  const auto confirmed = std::make_shared<std::promise<bool>>();  // the one who fulfils it may outlast this wait
  std::future<bool> is_confirmed = confirmed->get_future();
  const SteadyTime until = std::min(deadline, clock_.steady() + options_.hold_timeout);
  environment_.confirm_leadership(until, [confirmed](const Status& status) { confirmed->set_value(status.ok()); });
  return is_confirmed.get();
}

Result<Reply> Router::call_and_wait(CallContext context, std::string request) {
  Status error;
  const Method* method = method_of(context, error);
  if (!method) return error;
  // A nested call that is answered here runs on this thread, and needs no other.
  const bool blocks = method->is_read() && context.query.min_index > 0;
  if (!blocks && method->unary && std::holds_alternative<Here>(destination(*method, context, request)) &&
      (!must_confirm(*method, context) || confirm_and_wait(context.deadline))) {
    const Status authentication = authenticate_and_wait(context);
    DROVER_RETURN_IF_ERROR(admit(*method, context, authentication));
    return run_unary(*method, context, request);
  }
  struct Waiter {
    Mutex mutex;
    CondVarAny answered;
    std::optional<Result<Reply>> reply DROVER_GUARDED_BY(mutex);
  };
  auto waiter = std::make_shared<Waiter>();
  const SteadyTime deadline = context.deadline;
  std::stop_token stop = context.stop;
  call(std::move(context), std::move(request), [waiter](Result<Reply> reply) {
    MutexLock lock(waiter->mutex);
    waiter->reply = std::move(reply);
    waiter->answered.notify_all();
  });
  MutexLock lock(waiter->mutex);
  const auto arrived = [&]() DROVER_REQUIRES(waiter->mutex) { return waiter->reply.has_value(); };
  // The call itself ends on stop and deadline; the margin is for those that another process answers.
  if (deadline == SteadyTime::max()) {
    waiter->answered.wait(lock, stop, arrived);
  } else {
    waiter->answered.wait_until(lock, stop, deadline + std::chrono::seconds(1), arrived);
  }
  if (arrived()) return *std::move(waiter->reply);
  return stop.stop_requested() ? cancelled("the caller has gone") : deadline_exceeded("no answer in time");
}

Result<std::unique_ptr<StreamCall>> Router::open(CallContext context, std::string request, StreamReceiver receiver) {
  Status error;
  const Method* method = method_of(context, error);
  if (!method) return error;
  if (!method->streaming) return invalid_argument(context.method + " is not a streaming method");
  const Status authentication = authenticate_and_wait(context);
  Destination where = destination(*method, context, request);
  if (auto* status = std::get_if<Status>(&where)) return *status;
  if (std::holds_alternative<WaitForLeader>(where)) return unavailable("No cluster leader");
  if (!std::holds_alternative<Here>(where) && !may_pass_on(*method, context)) return access_denied();
  if (auto* server = std::get_if<ToServer>(&where)) {
    if (!peers_) return unavailable("No cluster leader");
    return peers_->open_server(server->address, outgoing(std::move(context)), std::move(request), std::move(receiver));
  }
  if (auto* node = std::get_if<ToNode>(&where)) {
    return peers_->open_node(node->node, outgoing(std::move(context)), std::move(request), std::move(receiver));
  }
  const Status admitted = admit(*method, context, authentication);
  if (is_audited(context)) {
    if (!admitted.ok()) tell_auditors(context, request, admitted);
    receiver.closed = [this, context, request, closed = std::move(receiver.closed)](Status status) {
      tell_auditors(context, request, status);
      closed(std::move(status));
    };
  }
  DROVER_RETURN_IF_ERROR(admitted);
  const auto may = [method](const CallContext& caller) {
    CallContext again = caller;
    return authorize(*method, again, ok_status()).ok();
  };
  const auto watch = std::make_shared<StreamWatch>(*access_, pool_, clock_, options_.look_again, may);
  receiver = watch->begin(context, std::move(receiver));
  return open_local_stream(*method, std::move(context), std::move(request), std::move(receiver), pool_,
                           stopping_.get_token());
}

}  // namespace drover::rpc

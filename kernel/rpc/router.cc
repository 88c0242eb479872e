#include "kernel/rpc/router.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <condition_variable>
#include <future>

#include "drover/log.h"
#include "drover/stopping.h"
#include "drover/uuid.h"
#include "kernel/rpc/blocking_read.h"
#include "kernel/rpc/local_stream.h"
#include "kernel/rpc/stages/access.h"

namespace drover::rpc {
namespace {

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

std::string_view rate_class(const Route& route) {
  switch (route.kind()) {
    case Route::READ:
      return "read";
    case Route::LIST:
      return "list";
    default:
      return "write";
  }
}

std::string identity_label(const Identity& identity) {
  static constexpr std::string_view kKinds[] = {"unauthenticated", "management", "token", "client", "server", "plugin"};
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
  SteadyTime held_until;
  SteadyTime began;
  bool is_confirmed = false;  // this server leads beyond doubt, or need not
};

Router::Router(const Options& options, const MethodTable& methods, state::Store* store, Surroundings& surroundings,
               Pool& pool, Clock& clock, Metrics& metrics)
    : options_(options),
      methods_(methods),
      store_(store),
      surroundings_(surroundings),
      pool_(pool),
      clock_(clock),
      metrics_(metrics),
      open_access_(std::make_unique<OpenAccess>()) {
  access_ = open_access_.get();
}

Router::~Router() { stop(); }

void Router::stop() { stopping_.request_stop(); }

const Method* Router::method_of(CallContext& context, Status& error) const {
  if (stopping_.stop_requested()) {
    error = agent_is_stopping();
    return nullptr;
  }
  const Method* method = methods_.find(context.method);
  if (!method) error = unimplemented("unknown method " + context.method);
  // Asked once: what follows is the same call.
  if (const auto gate = std::exchange(context.gate, nullptr); method && gate) error = gate->admit(context.method);
  // The API may be open while plugins still start.
  if (error.ok() && !surroundings_.has_started(method->plugin)) error = unavailable("this agent is starting");
  if (!error.ok()) return nullptr;
  return method;
}

Destination Router::destination(const Method& method, const CallContext& context, std::string_view request) const {
  Situation now{.region = surroundings_.region(),
                .server_name = surroundings_.server_name(),
                .is_server = surroundings_.is_server(),
                .is_leader = surroundings_.is_leader(),
                .is_ready = surroundings_.is_ready(),
                .leader_address = surroundings_.leader_address(),
                .any_server_address = surroundings_.any_server_address(),
                .local_node = surroundings_.local_node()};
  if (method.route.target() == Route::NODE) {
    std::string node = field_bytes(method, request, method.route.node_field());
    if (node.size() == 16) {
      now.names_target = true;
      now.wanted_node = Uuid::from_bytes(node);
    } else if (std::string id = field_bytes(method, request, method.route.alloc_field()); !id.empty()) {
      now.names_target = true;
      now.wanted_node = surroundings_.locate(id);
      if (!now.wanted_node && now.is_server)
        return not_found("Unknown allocation \"" + Uuid::from_bytes(id).to_string() + "\"");
    }
    now.node_is_connected = now.wanted_node && peers_ && peers_->has_node(*now.wanted_node);
  }
  return decide(method.route, context, now);
}

Status Router::admit(const Method& method, CallContext& context, const Status& authentication) {
  if (!method.unary && !method.stream)
    return unimplemented(method.name + " is answered by agents of another role, not by this one");
  const std::string service = method.descriptor->service()->name();
  metrics_.add("nomad.nomad.rpc." + service + "." + std::string(rate_class(method.route)), 1,
               {{"identity", identity_label(context.identity)}});
  if (!authentication.ok()) return permission_denied("Permission denied");
  return access_->authorize(context.identity, method.access, context);
}

CallContext Router::outgoing(CallContext context) const {
  if (std::string name = surroundings_.server_name(); !name.empty()) context.path.push_back(std::move(name));
  context.identity = {};  // the proof travels, not the conclusion
  return context;
}

ReplyMeta Router::complete(ReplyMeta meta) const {
  meta.known_leader = surroundings_.is_leader() || !surroundings_.leader_address().empty();
  meta.last_contact = surroundings_.last_contact();
  return meta;
}

void Router::call(CallContext context, std::string request, std::function<void(Result<Reply>)> done) {
  Status error;
  auto pending = std::make_shared<Pending>();
  pending->method = method_of(context, error);
  if (pending->method && pending->method->streaming)
    error = invalid_argument(context.method + " is a streaming method");
  if (!error.ok()) {
    pool_.post([done = std::move(done), error] { done(error); });
    return;
  }
  pending->context = std::move(context);
  pending->request = std::move(request);
  pending->done = std::move(done);
  pending->began = clock_.steady();
  pending->held_until = pending->began + options_.hold_timeout;
  auto identity = access_->authenticate(pending->context);
  if (identity) {
    pending->context.identity = *std::move(identity);
  } else {
    pending->authentication = identity.status();
  }
  dispatch(std::move(pending));
}

void Router::dispatch(std::shared_ptr<Pending> pending) {
  Destination where = destination(*pending->method, pending->context, pending->request);
  if (auto* status = std::get_if<Status>(&where)) {
    pool_.post([pending, status = *status] { pending->done(status); });
  } else if (std::holds_alternative<WaitForLeader>(where)) {
    hold(std::move(pending));
  } else if (auto* server = std::get_if<ToServer>(&where)) {
    if (!peers_) {
      pool_.post([pending] { pending->done(unavailable("No cluster leader")); });
      return;
    }
    peers_->call_server(server->address, outgoing(std::move(pending->context)), std::move(pending->request),
                        std::move(pending->done));
  } else if (auto* node = std::get_if<ToNode>(&where)) {
    peers_->call_node(node->node, outgoing(std::move(pending->context)), std::move(pending->request),
                      std::move(pending->done));
  } else {
    handle(std::move(pending));
  }
}

// Tries again soon, while there is time.
void Router::hold(std::shared_ptr<Pending> pending) {
  if (clock_.steady() >= pending->held_until || stopping_.stop_requested()) {
    pool_.post([pending] { pending->done(unavailable("No cluster leader")); });
    return;
  }
  pool_.post_at(clock_.steady() + std::chrono::milliseconds(20), [this, pending] { dispatch(pending); });
}

// A leader that is cut off, or was paused, may have a successor that it does not know of: what it reads by itself may
// be old (Raft §6.4). Who asks for stale data gets it.
bool Router::must_confirm(const Method& method, const CallContext& context) const {
  return method.is_read() && method.route.target() == Route::LEADER && !context.query.stale &&
         surroundings_.is_server();
}

void Router::handle(std::shared_ptr<Pending> pending) {
  if (!pending->is_confirmed && must_confirm(*pending->method, pending->context)) {
    const SteadyTime until = std::min(pending->held_until, pending->context.deadline);
    surroundings_.confirm_leadership(until, [this, pending](const Status& status) {
      pending->is_confirmed = status.ok();
      pool_.post([this, pending] { pending->is_confirmed ? handle(pending) : hold(pending); });
    });
    return;
  }
  if (Status status = admit(*pending->method, pending->context, pending->authentication); !status.ok()) {
    pool_.post([pending, status] { pending->done(status); });
    return;
  }
  if (pending->method->is_read() && pending->context.query.min_index > 0 && store_) {
    BlockingRead::start({.method = *pending->method,
                         .store = *store_,
                         .pool = pool_,
                         .clock = clock_,
                         .context = std::move(pending->context),
                         .request = std::move(pending->request),
                         .default_wait = options_.default_wait,
                         .max_wait = options_.max_wait,
                         .stopping = stopping_.get_token(),
                         .done = [this, pending](Result<Reply> reply) {
                           if (reply) reply->meta = complete(std::move(reply->meta));
                           pending->done(std::move(reply));
                         }});
    return;
  }
  pool_.post([this, pending] { pending->done(run_unary(*pending->method, pending->context, pending->request)); });
}

Result<Reply> Router::run_unary(const Method& method, const CallContext& context, std::string_view request) {
  const SteadyTime began = clock_.steady();
  Result<Reply> reply = answer_once(method, store_, context, request);
  metrics_.observe("nomad.nomad.rpc.handle", clock_.steady() - began, {{"method", method.descriptor->full_name()}});
  if (reply) reply->meta = complete(std::move(reply->meta));
  return reply;
}

// False when another may lead, or nobody.
bool Router::confirm_and_wait(SteadyTime deadline) {
  const auto confirmed = std::make_shared<std::promise<bool>>();  // the one who fulfils it may outlast this wait
  std::future<bool> is_confirmed = confirmed->get_future();
  const SteadyTime until = std::min(deadline, clock_.steady() + options_.hold_timeout);
  surroundings_.confirm_leadership(until, [confirmed](const Status& status) { confirmed->set_value(status.ok()); });
  const Pool::Absence absence(pool_);
  return is_confirmed.get();
}

Result<Reply> Router::call_and_wait(CallContext context, std::string request) {
  Status error;
  const Method* method = method_of(context, error);
  if (!method) return error;
  // A nested call that is answered here runs on this thread, so that waiting calls can never use up the pool.
  const bool blocks = method->is_read() && context.query.min_index > 0;
  if (!blocks && !method->streaming && std::holds_alternative<Here>(destination(*method, context, request)) &&
      (!must_confirm(*method, context) || confirm_and_wait(context.deadline))) {
    auto identity = access_->authenticate(context);
    Status authentication;
    if (identity) {
      context.identity = *std::move(identity);
    } else {
      authentication = identity.status();
    }
    DROVER_RETURN_IF_ERROR(admit(*method, context, authentication));
    return run_unary(*method, context, request);
  }
  struct Waiter {
    std::mutex mutex;
    std::condition_variable_any answered;
    std::optional<Result<Reply>> reply;
  };
  auto waiter = std::make_shared<Waiter>();
  const SteadyTime deadline = context.deadline;
  std::stop_token stop = context.stop;
  call(std::move(context), std::move(request), [waiter](Result<Reply> reply) {
    std::lock_guard lock(waiter->mutex);
    waiter->reply = std::move(reply);
    waiter->answered.notify_all();
  });
  const Pool::Absence absence(pool_);
  std::unique_lock lock(waiter->mutex);
  const auto arrived = [&] { return waiter->reply.has_value(); };
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
  Status authentication;
  auto identity = access_->authenticate(context);
  if (identity) {
    context.identity = *std::move(identity);
  } else {
    authentication = identity.status();
  }
  Destination where = destination(*method, context, request);
  if (auto* status = std::get_if<Status>(&where)) return *status;
  if (std::holds_alternative<WaitForLeader>(where)) return unavailable("No cluster leader");
  if (auto* server = std::get_if<ToServer>(&where)) {
    if (!peers_) return unavailable("No cluster leader");
    return peers_->open_server(server->address, outgoing(std::move(context)), std::move(request), std::move(receiver));
  }
  if (auto* node = std::get_if<ToNode>(&where)) {
    return peers_->open_node(node->node, outgoing(std::move(context)), std::move(request), std::move(receiver));
  }
  DROVER_RETURN_IF_ERROR(admit(*method, context, authentication));
  return open_local_stream(*method, std::move(context), std::move(request), std::move(receiver), pool_,
                           stopping_.get_token());
}

}  // namespace drover::rpc

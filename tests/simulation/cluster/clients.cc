#include "tests/simulation/cluster/clients.h"

#include <algorithm>
#include <utility>

namespace drover::simulation {

Clients::Clients(World& world, uint64_t seed)
    : world_(world),
      random_(seed, "clients"),
      sessions_(static_cast<size_t>(world.configuration.clients)),
      operations_(sessions_.size()) {}

void Clients::start() {
  for (int client = 0; client < static_cast<int>(sessions_.size()); ++client) {
    sessions_[static_cast<size_t>(client)].server = static_cast<int>(random_.below(world_.nodes->size()));
    world_.loop.after(random_.exponential(world_.configuration.think), [this, client] { next(client); });
  }
}

void Clients::resume() {
  is_healed_ = true;
  is_finishing_ = false;
  for (int client = 0; client < static_cast<int>(sessions_.size()); ++client) {
    if (!sessions_[static_cast<size_t>(client)].is_open) world_.loop.after(0, [this, client] { next(client); });
  }
}

bool Clients::is_idle() const {
  return std::ranges::none_of(sessions_, [](const Session& session) { return session.is_open; });
}

Micros Clients::way() { return world_.configuration.delay + random_.exponential(200); }

void Clients::next(int client) {
  Session& session = sessions_[static_cast<size_t>(client)];
  if (is_finishing_ || session.is_open) return;
  const Configuration& c = world_.configuration;
  Request& request = session.request;
  ++request.number;
  request.client = client;
  request.key = "k" + std::to_string(random_.below(static_cast<uint64_t>(c.keys)));
  // No text is part of another, so that each can be found in a value that grew by appending.
  const std::string text = std::to_string(client) + "." + std::to_string(request.number) + ";";
  request.first = text;
  request.second.clear();
  if (random_.chance(c.read_share)) {
    request.kind = Kind::read;
    request.first.clear();
  } else {
    request.kind = static_cast<Kind>(random_.below(3));
    if (request.kind == Kind::cas) {
      // Now and then the newest value that somebody saw, so that it matches sometimes.
      const auto seen = std::ranges::find_if(history_.rbegin(), history_.rend(), [&](const Operation& operation) {
        return operation.key == request.key && operation.kind != Kind::append && !operation.is_open();
      });
      const std::string guess = seen == history_.rend()    ? ""
                                : seen->kind == Kind::read ? seen->value
                                : seen->kind == Kind::put  ? seen->first
                                                           : seen->second;
      request.first = guess;
      request.second = text;
    } else if (request.kind == Kind::put) {
      const auto size = static_cast<size_t>(c.value_bytes);
      if (request.first.size() < size) request.first.insert(0, size - request.first.size(), '.');
    }
  }
  session.is_open = true;
  session.tries = 0;
  session.operation = history_.size();
  operations_[static_cast<size_t>(client)].push_back(history_.size());
  history_.push_back({.client = client,
                      .kind = request.kind,
                      .key = request.key,
                      .first = request.first,
                      .second = request.second,
                      .invoked = world_.loop.now()});
  if (request.kind == Kind::read && random_.chance(c.follower_read_share))
    session.server = static_cast<int>(random_.below(world_.nodes->size()));
  world_.trace.note("client {} begins operation {} of kind {}", Trace::kNobody, static_cast<uint64_t>(client),
                    request.number, static_cast<uint64_t>(request.kind));
  attempt(client);
}

void Clients::attempt(int client) {
  Session& session = sessions_[static_cast<size_t>(client)];
  ++session.request.attempt;
  ++session.tries;
  send(client, session.server);
  world_.loop.after(world_.configuration.client_timeout, [this, client, attempt = session.request.attempt] {
    Session& waiting = sessions_[static_cast<size_t>(client)];
    if (!waiting.is_open || waiting.request.attempt != attempt) return;
    if (!is_healed_ && waiting.tries > world_.configuration.client_retries) return give_up(client);
    waiting.server = static_cast<int>(random_.below(world_.nodes->size()));
    this->attempt(client);
  });
}

void Clients::send(int client, int server) {
  // Requests get lost as other messages do, and arrive late; a lost answer looks the same.
  if (!is_healed_ && random_.chance(world_.configuration.loss)) return;
  auto request = std::make_shared<const Request>(sessions_[static_cast<size_t>(client)].request);
  world_.loop.after(way(), [this, server, request] {
    Node& node = *(*world_.nodes)[static_cast<size_t>(server)];
    if (node.is_up()) return node.serve(*request);
    answered(server, *request, {.outcome = Answer::Outcome::refused});
  });
}

void Clients::answered(int node, const Request& request, const Answer& answer) {
  if (answer.outcome == Answer::Outcome::done && request.kind != Kind::read)
    world_.invariants.acknowledged(answer.index);
  if (answer.outcome == Answer::Outcome::refused && request.kind != Kind::read)
    refused_.emplace(request.client, request.attempt);
  if (!is_healed_ && random_.chance(world_.configuration.loss)) return;
  world_.loop.after(way(), [this, node, client = request.client, attempt = request.attempt, answer] {
    Session& session = sessions_[static_cast<size_t>(client)];
    if (!session.is_open || session.request.attempt != attempt) return;  // it has asked again elsewhere
    if (answer.outcome == Answer::Outcome::done) return close(client, answer);
    if (answer.outcome == Answer::Outcome::impossible) return give_up(client);
    if (!is_healed_ && session.tries > world_.configuration.client_retries) return give_up(client);
    const bool knows =
        answer.leader >= 0 && answer.leader != node && static_cast<size_t>(answer.leader) < world_.nodes->size();
    session.server = knows ? answer.leader : static_cast<int>(random_.below(world_.nodes->size()));
    // Nobody leads perhaps: a moment later.
    const Micros wait = knows ? 0 : random_.exponential(world_.configuration.tick * 2);
    ++session.request.attempt;  // the timeout of this attempt is void
    world_.loop.after(wait, [this, client, at = session.request.attempt] {
      const Session& waiting = sessions_[static_cast<size_t>(client)];
      if (waiting.is_open && waiting.request.attempt == at) this->attempt(client);
    });
  });
}

void Clients::close(int client, const Answer& answer) {
  Session& session = sessions_[static_cast<size_t>(client)];
  Operation& operation = history_[session.operation];
  if (answer.value == "stale") {
    world_.invariants.fail("sessions", "the answer to the newest request is stale: " + describe(operation));
  }
  operation.returned = world_.loop.now();
  operation.value = operation.kind == Kind::read ? answer.value : "";
  operation.did_match = answer.value == "true";
  // A repeated request is answered from the session: the index is that of the repetition, which is behind the first.
  operation.index = answer.index;
  world_.trace.note("client {} has the answer to operation {} at {}", Trace::kNobody, static_cast<uint64_t>(client),
                    session.request.number, answer.index);
  session.is_open = false;
  if (is_healed_) ++answered_since_resume_;
  world_.loop.after(random_.exponential(world_.configuration.think), [this, client] { next(client); });
}

void Clients::took_effect(std::string_view command, const std::string& answer) {
  const Request request = request_of(command);
  if (refused_.contains({request.client, request.attempt})) {
    world_.invariants.fail("tokens", "client " + std::to_string(request.client) + " was refused with attempt " +
                                         std::to_string(request.attempt) + ", which has taken effect");
  }
  effects_.try_emplace(operations_[static_cast<size_t>(request.client)][request.number - 1],
                       Effect{world_.loop.now(), answer, world_.executed});
}

History Clients::settled_history() const {
  History settled;
  for (size_t i = 0; i < history_.size(); ++i) {
    Operation operation = history_[i];
    const auto effect = effects_.find(i);
    if (operation.is_open() && effect == effects_.end()) continue;
    if (operation.is_open()) {
      operation.returned = effect->second.at;
      operation.did_match = effect->second.answer == "true";
    }
    if (effect != effects_.end()) operation.index = effect->second.index;  // not that of a repetition
    settled.push_back(std::move(operation));
  }
  return settled;
}

void Clients::give_up(int client) {
  Session& session = sessions_[static_cast<size_t>(client)];
  world_.trace.note("client {} gives up operation {}", Trace::kNobody, static_cast<uint64_t>(client),
                    session.request.number);
  session.is_open = false;
  world_.loop.after(random_.exponential(world_.configuration.think), [this, client] { next(client); });
}

}  // namespace drover::simulation

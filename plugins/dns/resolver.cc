#include "resolver.h"

#include <random>

namespace drover::dns {
namespace {

constexpr size_t kMaxOverTcp = 65535;

std::string_view text_of(Transport transport) { return transport == Transport::udp ? "udp" : "tcp"; }

uint64_t new_seed() {
  static thread_local std::mt19937_64 random{std::random_device{}()};
  return random();
}

}  // namespace

void Resolver::answer(std::string_view question, Transport transport, Done done) {
  const auto header = read_header(question);
  if (!header) return drop("short", done);
  // Two servers would answer each other's answers for ever.
  if (header->is_response) return drop("response", done);
  metrics_.add("nomad.dns.questions", 1, {{"transport", std::string(text_of(transport))}});
  if (header->opcode != kQuery)
    return send(*header, answer_error(*header, Rcode::not_implemented), transport, done);
  const auto query = read_message(question);
  if (!query) return send(*header, answer_error(*header, Rcode::form_error), transport, done);
  Wanted wanted;
  if (const auto ready = answer_at_once(*query, zone_, wanted)) return send(*query, *ready, transport, done);
  registry_.find({.name_space = wanted.name_space, .name = wanted.name},
                 [this, query = *query, wanted, transport, done = std::move(done)](const Found& found) {
                   send(query, answer_service(query, wanted, found, zone_, new_seed()), transport, done);
                 });
}

void Resolver::send(const Message& query, const Message& answer, Transport transport, const Done& done) {
  metrics_.add("nomad.dns.answers", 1, {{"code", std::string(to_string(answer.code))}});
  done(write_message(answer, transport == Transport::udp ? datagram_limit(query) : kMaxOverTcp));
}

void Resolver::drop(const char* why, const Done& done) {
  metrics_.add("nomad.dns.dropped", 1, {{"reason", why}});
  done({});
}

}  // namespace drover::dns

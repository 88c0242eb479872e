// One input as a datagram that somebody sends to the server of the DNS: what can be read, written and read again is the
// same, and an answer is never larger than the question allows.
#include <string_view>

#include "plugins/dns/wire/message.h"
#include "plugins/dns/zone/zone.h"

void fuzz_dns_message(std::string_view text);

namespace {

using namespace drover::dns;

void answer(const Message& query) {
  static const Zone zone{.origin = {"drover"}, .ttl = 5, .negative_ttl = 2, .max_answers = 40, .servers = {}};
  static const Found found = [] {
    Found out;
    for (char c = 1; c < 80; ++c) {
      out.instances.push_back({.alloc_id = std::string(36, c),
                               .address = Address{std::string(c % 2 ? 4 : 16, c)},
                               .port = static_cast<uint16_t>(c),
                               .datacenter = "dc1",
                               .tags = {"v1"}});
    }
    return out;
  }();
  Wanted wanted;
  const auto ready = answer_at_once(query, zone, wanted);
  const Message reply = ready ? *ready : answer_service(query, wanted, found, zone, query.id);
  const size_t limit = datagram_limit(query);
  const std::string bytes = write_message(reply, limit);
  DROVER_CHECK(bytes.size() <= limit);
  const auto read = read_message(bytes);
  DROVER_CHECK(read.ok() && read->id == query.id && read->is_response && read->code == reply.code);
}

}  // namespace

void fuzz_dns_message(std::string_view text) {
  const auto header = read_header(text);
  const auto message = read_message(text);
  DROVER_CHECK(header || !message);
  if (!message) return;
  if (message->questions.size() == 1) {
    const std::string bytes = write_message(*message, 65535);
    const auto again = read_message(bytes);
    DROVER_CHECK(again.ok() && again->questions.size() == 1);
    DROVER_CHECK(again->questions[0].name == message->questions[0].name);
    DROVER_CHECK(again->is_truncated || again->answers.size() == message->answers.size());
  }
  if (!message->is_response) answer(*message);
}

#include "call_codec.h"

#include <algorithm>

namespace drover::wire {
namespace {

constexpr size_t kMaxText = size_t{8} * 1024;

// At most kMaxText bytes, never half a character.
std::string cut(const std::string& text) {
  size_t size = std::min(text.size(), kMaxText);
  while (size < text.size() && size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return text.substr(0, size);
}

}  // namespace

v1::CallContext to_wire(const CallContext& context, SteadyTime now) {
  v1::CallContext message;
  message.set_method(context.method);
  message.set_region(context.query.region);
  message.set_namespace_(context.query.name_space);
  message.set_token(context.query.token);
  message.set_min_index(context.query.min_index);
  message.set_max_wait_ns(context.query.max_wait.count());
  message.set_stale(context.query.stale);
  message.set_prefix(context.query.prefix);
  message.set_filter(context.query.filter);
  message.set_per_page(context.query.per_page);
  message.set_next_token(context.query.next_token);
  message.set_reverse(context.query.reverse);
  for (const std::string& server : context.path) message.add_path(server);
  if (context.deadline != SteadyTime::max()) {
    // One that has passed still is a deadline.
    message.set_timeout_ns(std::max<int64_t>(std::chrono::nanoseconds(context.deadline - now).count(), 1));
  }
  message.set_node_secret(context.node_secret);
  message.set_remote_address(context.remote_address);
  return message;
}

CallContext from_wire(const v1::CallContext& message, SteadyTime now) {
  CallContext context;
  context.method = message.method();
  context.query.region = message.region();
  context.query.name_space = message.namespace_();
  context.query.token = message.token();
  context.query.min_index = message.min_index();
  context.query.max_wait = std::chrono::nanoseconds(message.max_wait_ns());
  context.query.stale = message.stale();
  context.query.prefix = message.prefix();
  context.query.filter = message.filter();
  context.query.per_page = message.per_page();
  context.query.next_token = message.next_token();
  context.query.reverse = message.reverse();
  context.path.assign(message.path().begin(), message.path().end());
  const std::chrono::nanoseconds left(message.timeout_ns());
  if (left.count() > 0 && left < SteadyTime::max() - now) context.deadline = now + left;
  context.node_secret = message.node_secret();
  context.remote_address = message.remote_address();
  return context;
}

v1::ReplyMeta to_wire(const ReplyMeta& meta) {
  v1::ReplyMeta message;
  message.set_index(meta.index);
  message.set_last_contact_ns(meta.last_contact.count());
  message.set_known_leader(meta.known_leader);
  message.set_next_token(meta.next_token);
  return message;
}

ReplyMeta from_wire(const v1::ReplyMeta& message) {
  return {.index = message.index(),
          .last_contact = std::chrono::nanoseconds(message.last_contact_ns()),
          .known_leader = message.known_leader(),
          .next_token = message.next_token()};
}

WireStatus to_wire(const Status& status) {
  return {.code = static_cast<int>(status.code()),
          .text = cut(status.message()),
          .details = status.details().size() <= kMaxText ? status.details() : std::string()};
}

Status from_wire(int code, std::string text, std::string details) {
  if (code == 0) return ok_status();
  const bool known = code > 0 && code <= static_cast<int>(Code::unauthenticated);
  return Status(known ? static_cast<Code>(code) : Code::unknown, std::move(text)).with_details(std::move(details));
}

}  // namespace drover::wire

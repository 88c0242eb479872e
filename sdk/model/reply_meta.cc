#include "drover/reply_meta.h"

#include <charconv>
#include <string>
#include <string_view>

namespace drover {
namespace {

constexpr std::string_view kPrefix = "meta:";  // index, last contact in nanoseconds, 1 where a leader is known

}  // namespace

Status with_meta(Status status, const ReplyMeta& meta) {
  if (!status.details().empty()) return status;
  return std::move(status).with_details(std::string(kPrefix) + std::to_string(meta.index) + "," +
                                        std::to_string(meta.last_contact.count()) + (meta.known_leader ? ",1" : ",0"));
}

std::optional<ReplyMeta> meta_of(const Status& status) {
  std::string_view details = status.details();
  if (!details.starts_with(kPrefix)) return std::nullopt;
  details.remove_prefix(kPrefix.size());
  const char* at = details.data();
  const char* const end = at + details.size();
  const auto read = [&](auto& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    at = next != end && *next == ',' ? next + 1 : next;
    return error == std::errc();
  };
  ReplyMeta meta;
  int64_t contact = 0;
  int leader = 0;
  if (!read(meta.index) || !read(contact) || !read(leader) || at != end) return std::nullopt;
  meta.last_contact = std::chrono::nanoseconds(contact);
  meta.known_leader = leader == 1;
  return meta;
}

}  // namespace drover

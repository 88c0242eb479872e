// Names of the DNS (RFC 1035 §3.1, RFC 4343): labels without the root's empty one, in the case in which they were
// written. Capitals and small letters of ASCII are equal. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::dns {

using Name = std::vector<std::string>;

inline constexpr size_t kMaxLabel = 63, kMaxName = 255;  // bytes; the name's with its lengths and the root

// "web.service.drover"; a dot at the end changes nothing. Errors: invalid_argument for a label or name that is empty or
// too long.
Result<Name> parse_name(std::string_view text);
// "web.service.drover."; bytes that are no printable characters, dots and backslashes in a label as \DDD.
std::string to_string(const Name& name);

// A to Z become small.
std::string lower(std::string_view text);
bool is_same(const Name& one, const Name& other);
// True when `name` is `origin`, or ends in it.
bool is_within(const Name& name, const Name& origin);

}  // namespace drover::dns

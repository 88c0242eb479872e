#include "paging.h"

#include <charconv>
#include <string_view>

namespace drover::hostpath {
namespace {

constexpr std::string_view kPrefix = "after-";

}  // namespace

bool Page::takes(uint64_t number) {
  if (number <= after_) return false;
  if (most_ > 0 && taken_ >= most_) {
    has_more_ = true;
    return false;
  }
  ++taken_;
  last_ = number;
  return true;
}

std::string Page::next_token() const { return has_more_ ? std::string(kPrefix) + std::to_string(last_) : ""; }

Result<Page> page_of(int32_t max_entries, const std::string& starting_token) {
  if (max_entries < 0) return invalid_argument("max_entries is negative");
  if (starting_token.empty()) return Page(max_entries, 0);
  uint64_t after = 0;
  const std::string_view token = starting_token;
  if (token.starts_with(kPrefix)) {
    const char* const end = token.data() + token.size();
    const auto [at, error] = std::from_chars(token.data() + kPrefix.size(), end, after);
    if (error == std::errc() && at == end) return Page(max_entries, after);
  }
  return aborted("starting_token is none of this plugin; begin the list anew");
}

}  // namespace drover::hostpath

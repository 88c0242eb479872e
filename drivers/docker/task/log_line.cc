#include "task/log_line.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "engine/answers.h"

namespace drover::docker {
namespace {

constexpr size_t kLongestStamp = 40;
constexpr int64_t kSecond = 1'000'000'000;

}  // namespace

std::string_view LogStamps::strip(std::string_view bytes, bool is_first) {
  if (is_first) {
    stamp_.clear();
    in_stamp_ = true;
    is_skipped_ = false;
  }
  if (in_stamp_) {
    const size_t space = bytes.find(' ');
    stamp_ += bytes.substr(0, space);
    bytes = space == std::string_view::npos ? std::string_view() : bytes.substr(space + 1);
    if (space == std::string_view::npos && stamp_.size() <= kLongestStamp) return {};
    in_stamp_ = false;
    if (const auto time = read_time(stamp_)) {
      is_skipped_ = *time <= before_;
      seen_ = std::max(seen_, *time);
    }
  }
  return is_skipped_ ? std::string_view() : bytes;
}

std::string since_after(int64_t seen) {
  if (seen <= 0) return {};
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%lld.%09lld", static_cast<long long>((seen + 1) / kSecond),
                static_cast<long long>((seen + 1) % kSecond));
  return text.data();
}

}  // namespace drover::docker

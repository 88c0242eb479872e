#include "task/log_line.h"

#include <array>
#include <charconv>
#include <cstdio>

#include "engine/answers.h"

namespace drover::docker {
namespace {

constexpr size_t kLongestStamp = 40;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kBefore = 1000;  // ns, more than a double's step at today's seconds
constexpr size_t kTimeDigits = 20, kCountDigits = 10;

}  // namespace

void LogStamps::begin(int64_t time) {
  is_skipped_ = time < before_.time || (time == before_.time && skipped_ < before_.count);
  if (is_skipped_) {
    skipped_ += time == before_.time;
  } else if (time > now_.time) {
    now_ = {.time = time, .count = 1};
  } else if (time == now_.time) {
    ++now_.count;
  }
}

std::string_view LogStamps::strip(std::string_view bytes, bool is_first) {
  if (is_first) {
    done_ = now_;
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
    if (const auto time = read_time(stamp_)) begin(*time);
  }
  return is_skipped_ ? std::string_view() : bytes;
}

std::string since_position(const LogPosition& position) {
  if (position.time <= kBefore) return {};
  const int64_t since = position.time - kBefore;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%lld.%09lld", static_cast<long long>(since / kSecond),
                static_cast<long long>(since % kSecond));
  return text.data();
}

std::string write_position(const LogPosition& position) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%020lld %010u\n", static_cast<long long>(position.time), position.count);
  return text.data();
}

LogPosition read_position(std::string_view text) {
  LogPosition out;
  if (text.size() < kTimeDigits + 1 + kCountDigits) return out;
  const char* const time_end = text.data() + kTimeDigits;
  const char* const count_end = time_end + 1 + kCountDigits;
  const auto time = std::from_chars(text.data(), time_end, out.time);
  const auto count = std::from_chars(time_end + 1, count_end, out.count);
  if (time.ptr != time_end || count.ptr != count_end || out.time < 0) return {};
  return out;
}

}  // namespace drover::docker

#include "drover/check_provider.h"

#include <algorithm>

#include "drover/v1/check_provider.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::check {
namespace {

constexpr size_t kMaxName = 64;
constexpr std::string_view kCut = " … (cut)";
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Of the character that begins here; 0: none does. Overlong forms, surrogates and what is beyond U+10FFFF are none.
size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  if (length < 3) return length;
  const auto second = static_cast<unsigned char>(text[1]);
  const bool is_wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return is_wrong ? 0 : length;
}

v1::CheckResult result(v1::CheckResult::Status status, std::string output) {
  v1::CheckResult out;
  out.set_status(status);
  out.set_output(std::move(output));
  return out;
}

}  // namespace

v1::CheckType type(std::string name, std::string description,
                   const hashicorp::nomad::plugins::shared::hclspec::Spec& options) {
  v1::CheckType out;
  out.set_name(std::move(name));
  out.set_description(std::move(description));
  if (options.ByteSizeLong() != 0) *out.mutable_options() = options;
  return out;
}

v1::CheckResult passing(std::string output) { return result(v1::CheckResult::PASSING, std::move(output)); }
v1::CheckResult warning(std::string output) { return result(v1::CheckResult::WARNING, std::move(output)); }
v1::CheckResult critical(std::string output) { return result(v1::CheckResult::CRITICAL, std::move(output)); }

bool is_type_name(std::string_view name) {
  const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_good = [&](char c) { return is_small(c) || (c >= '0' && c <= '9') || c == '_' || c == '-'; };
  return !name.empty() && name.size() <= kMaxName && is_small(name[0]) && std::ranges::all_of(name, is_good);
}

std::string cut_output(std::string_view output) {
  std::string out;
  size_t end = 0;  // of what stays if there turns out to be too much
  while (!output.empty()) {
    const size_t length = character_length(output);
    out += length == 0 ? kReplacement : output.substr(0, length);
    if (out.size() > kMaxCheckOutput) return out.substr(0, end) + std::string(kCut);
    if (out.size() <= kMaxCheckOutput - kCut.size()) end = out.size();
    output.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

}  // namespace drover::check

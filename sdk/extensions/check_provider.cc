#include "drover/check_provider.h"

#include <algorithm>

#include "../encoding/utf8.h"
#include "drover/v1/check_provider.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::check {
namespace {

constexpr size_t kMaxName = 64;
constexpr std::string_view kCut = " … (cut)";

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
    const size_t length = utf8::character_length(output);
    out += length == 0 ? utf8::kReplacement : output.substr(0, length);
    if (out.size() > kMaxCheckOutput) return out.substr(0, end) + std::string(kCut);
    if (out.size() <= kMaxCheckOutput - kCut.size()) end = out.size();
    output.remove_prefix(std::max<size_t>(length, 1));
  }
  return out;
}

}  // namespace drover::check

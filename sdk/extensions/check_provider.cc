#include "drover/check_provider.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "../encoding/utf8.h"
#include "drover/mutex.h"
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

Result<v1::CheckResult> run_begun(CheckProvider& provider, const v1::RunCheckRequest& request, std::stop_token stop) {
  struct Answer {
    Mutex mutex;
    CondVar changed;
    std::optional<Result<v1::CheckResult>> result DROVER_GUARDED_BY(mutex);
  };
  const auto answer = std::make_shared<Answer>();  // whoever tells may still be at it when it is here
  const auto told = [answer](Result<v1::CheckResult> result) {
    const MutexLock lock(answer->mutex);
    answer->result = std::move(result);
    answer->changed.notify_all();
  };
  if (!provider.begin(request, std::move(stop), told)) return internal_error("the check provider cannot begin a run");
  MutexLock lock(answer->mutex);
  answer->changed.wait(lock, [&]() DROVER_REQUIRES(answer->mutex) { return answer->result.has_value(); });
  return *std::move(answer->result);
}

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

Result<std::string> place_of(const v1::RunCheckRequest& request) {
  if (request.address().empty() || request.port() == 0 || request.port() > 65535)
    return invalid_argument("port: a check of the type \"" + request.type() + "\" needs an address and a port");
  const bool is_v6 = request.address().find(':') != std::string::npos;
  return (is_v6 ? "[" + request.address() + "]" : request.address()) + ":" + std::to_string(request.port());
}

std::chrono::nanoseconds timeout_of(const v1::RunCheckRequest& request) {
  return std::chrono::seconds(request.timeout().seconds()) + std::chrono::nanoseconds(request.timeout().nanos());
}

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

namespace drover {

bool CheckProvider::begin(const v1::RunCheckRequest&, std::stop_token, Told) { return false; }

}  // namespace drover

#include <algorithm>
#include <map>
#include <memory>

#include "base_service.h"
#include "drover/check_provider.h"
#include "drover/duration.h"
#include "time_limits.h"

#include "drover/v1/check_provider.pb.h"

namespace drover::serve {
namespace {

class Service {
 public:
  explicit Service(CheckProvider& plugin) : plugin_(plugin) {}

  v1::DescribeChecksResponse describe() const {
    v1::DescribeChecksResponse out;
    for (v1::CheckType& type : plugin_.types()) *out.add_types() = std::move(type);
    return out;
  }

  Result<v1::CheckResult> run(const v1::RunCheckRequest& request, const Call& call) {
    const auto types = plugin_.types();
    if (std::ranges::find(types, request.type(), &v1::CheckType::name) == types.end())
      return not_found("there is no check type \"" + request.type().substr(0, kShown) + "\"");
    const auto timeout = duration_of(request.timeout());
    if (timeout <= std::chrono::nanoseconds::zero()) return invalid_argument("the check has no time limit");
    TimeLimits::Limit limit(limits_, call.stop(), timeout);
    auto result = plugin_.run(request, limit.stop());
    if (call.stop().stop_requested()) return cancelled("the call has ended");
    if (limit.is_over()) return check::critical("no answer within " + format_duration(timeout));
    if (!result) return result;
    if (result->status() == v1::CheckResult::STATUS_UNSPECIFIED) return internal_error("the check has no result");
    result->set_output(check::cut_output(result->output()));
    return result;
  }

 private:
  static constexpr size_t kShown = 100;  // of what a caller made up

  CheckProvider& plugin_;
  TimeLimits limits_;
};

}  // namespace

Methods methods_of(CheckProvider& plugin, const About& about) {
  Methods methods;
  add_base_methods(methods, CheckProvider::kKind, plugin, about, with_code);
  const auto service = std::make_shared<Service>(plugin);
  methods["/drover.v1.CheckPlugin/Describe"] = unary<v1::DescribeChecksRequest, v1::DescribeChecksResponse>(
      with_code, [service](auto&, Call&) { return service->describe(); });
  methods["/drover.v1.CheckPlugin/Run"] = unary<v1::RunCheckRequest, v1::CheckResult>(
      with_code, [service](const auto& request, Call& call) { return service->run(request, call); });
  return methods;
}

}  // namespace drover::serve

#include "kinds/check_program.h"

#include <set>

#include "drover/duration.h"
#include "drover/hclspec.h"

namespace drover::plugin_programs {
namespace {

using namespace std::chrono_literals;

constexpr auto kGrace = 1s;           // for an answer on its way
constexpr auto kLongestRun = 1h;      // of one check
constexpr size_t kMaxTypes = 1000;    // of one provider
constexpr size_t kMaxSentence = 500;  // bytes of a type's description

std::string quoted(const std::string& name) { return "\"" + name.substr(0, 100) + "\""; }

Status judge_type(const v1::CheckType& type, std::set<std::string>& names) {
  if (!check::is_type_name(type.name()))
    return failed_precondition(quoted(type.name()) + " is no name for a check type: it must match [a-z][a-z0-9_-]*");
  if (!names.insert(type.name()).second) return failed_precondition("there are two check types " + quoted(type.name()));
  if (type.description().size() > kMaxSentence)
    return failed_precondition("the description of check type " + quoted(type.name()) + " is longer than 500 bytes");
  if (!type.has_options()) return ok_status();
  return hclspec::check(type.options()).with_context("the options of check type " + quoted(type.name()));
}

}  // namespace

Status CheckProgram::judge(const v1::DescribeChecksResponse& facts) const {
  if (facts.types().empty()) return failed_precondition("the check provider has no check types");
  if (facts.types_size() > static_cast<int>(kMaxTypes))
    return failed_precondition("the check provider has more than 1,000 check types");
  std::set<std::string> names;
  for (const v1::CheckType& type : facts.types()) DROVER_RETURN_IF_ERROR(judge_type(type, names));
  return ok_status();
}

Status CheckProgram::judge_next(const v1::DescribeChecksResponse& now, const v1::DescribeChecksResponse& next) const {
  std::set<std::string> names;
  for (const v1::CheckType& type : next.types()) names.insert(type.name());
  for (const v1::CheckType& type : now.types()) {
    if (!names.contains(type.name()))
      return failed_precondition("it has no check type " + quoted(type.name()) + ", which the version that runs has");
  }
  return ok_status();
}

std::vector<v1::CheckType> CheckProgram::types() const {
  const v1::DescribeChecksResponse facts = this->facts();
  return {facts.types().begin(), facts.types().end()};
}

Result<v1::CheckResult> CheckProgram::run(const v1::RunCheckRequest& request, std::stop_token stop) {
  const std::chrono::nanoseconds timeout = check::timeout_of(request);
  if (timeout <= 0ns || timeout > kLongestRun)
    return invalid_argument("the time limit of a check must be more than nothing and at most an hour");
  auto result = program().ask<v1::CheckResult>("/drover.v1.CheckPlugin/Run", request, ProgramHost::Again::never,
                                               timeout + kGrace, stop, timeout);
  if (result.status().code() == Code::deadline_exceeded)
    return check::critical("no answer within " + format_duration(timeout));
  if (!result) return result;
  if (!v1::CheckResult::Status_IsValid(result->status()) || result->status() == v1::CheckResult::STATUS_UNSPECIFIED)
    return internal_error("plugin " + program().file_name() +
                          ": the result of the check is neither passing, warning nor critical");
  result->set_output(check::cut_output(result->output()));
  return result;
}

}  // namespace drover::plugin_programs

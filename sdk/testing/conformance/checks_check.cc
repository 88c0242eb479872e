// Checks the promises of a check provider: its types of checks, the results of runs, and how it bears many of them.
#include <algorithm>
#include <set>

#include "drover/check_provider.h"
#include "drover/hclspec.h"
#include "drover/v1/check_provider.pb.h"
#include "trial.h"

namespace drover::conformance {
namespace {

using Described = v1::DescribeChecksResponse;
using Ran = v1::CheckResult;

constexpr const char* kDescribe = "/drover.v1.CheckPlugin/Describe";
constexpr const char* kRun = "/drover.v1.CheckPlugin/Run";
constexpr auto kSlowLimit = 500ms;  // for a check that takes longer
constexpr auto kLate = 3s;          // after a time limit

Result<Described> describe(Trial& t) { return t.call<Described>(kDescribe, v1::DescribeChecksRequest()); }

Status each_type(Trial& t, const std::function<Status(const v1::CheckType&)>& judge) {
  DROVER_TRY(const auto all, describe(t));
  for (const auto& type : all.types()) DROVER_RETURN_IF_ERROR(judge(type).with_context("\"" + type.name() + "\""));
  return ok_status();
}

// A run of the setup's check, as a host asks for it. Requires: the setup has it.
Result<v1::RunCheckRequest> request_of(Trial& t, const std::string& kind) {
  const CheckSpec& spec = t.setup().checks.at(kind);
  DROVER_TRY(const auto all, describe(t));
  const auto type = std::ranges::find(all.types(), spec.type, &v1::CheckType::name);
  if (type == all.types().end())
    return failure("check \"" + kind + "\" (-task) is of type \"" + spec.type + "\", which there is not");
  v1::RunCheckRequest request;
  request.set_type(spec.type);
  request.set_check_id("conformance-" + kind);
  if (type->has_options()) {
    DROVER_RETURN_IF_ERROR(hclspec::check(type->options()).with_context("the options of type \"" + spec.type + "\""));
    DROVER_TRY(
        const auto options,
        hclspec::decode(type->options(), spec.options).with_context("the options of check \"" + kind + "\" (-task)"));
    request.set_options(hclspec::to_msgpack(options));
  }
  request.set_service("conformance");
  request.set_address(spec.address);
  request.set_port(spec.port);
  request.set_namespace_("default");
  request.set_job_id("conformance");
  request.set_group("group");
  request.set_alloc_id("5f1c7d2e-0000-4000-8000-000000000001");
  request.set_task("web");
  *request.mutable_timeout() = duration_of(kind == "slow" ? kSlowLimit : std::chrono::nanoseconds(10s));
  return request;
}

Result<Ran> run(Trial& t, const v1::RunCheckRequest& request) { return t.call<Ran>(kRun, request); }
Result<Ran> run(Trial& t, const std::string& kind) {
  DROVER_TRY(const auto request, request_of(t, kind));
  return run(t, request);
}

Status comes_out(Trial& t, const std::string& kind, Ran::Status status) {
  DROVER_TRY(const auto result, run(t, kind));
  return expect(result.status() == status,
                "it is " + Ran::Status_Name(result.status()) + ": " + result.output().substr(0, 200));
}

// An error of the call; the provider goes on.
Status refuses(Trial& t, const v1::RunCheckRequest& request) {
  const auto result = run(t, request);
  if (result.ok()) return failure("Run answers " + Ran::Status_Name(result->status()));
  if (result.status().code() == Code::unavailable || result.status().code() == Code::deadline_exceeded)
    return result.status();
  return t.is_alive();
}

// The slow check, running while `meanwhile` happens; it is broken off afterwards.
Status beside_slow(Trial& t, const std::function<Status()>& meanwhile) {
  DROVER_TRY(auto request, request_of(t, "slow"));
  *request.mutable_timeout() = duration_of(10s);
  std::stop_source stop;
  auto slow = std::async(std::launch::async,
                         [&] { return t.call<Ran>(kRun, request, t.limit() + 10s, stop.get_token()).status(); });
  (void)slow.wait_for(kShort);
  const Status status = meanwhile();
  stop.request_stop();
  (void)slow.get();
  return status;
}

const Check kChecks[] = {
    {"types.some", "it says what types of checks it has", "answer Describe with at least one type", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto all, describe(t));
       return expect(all.types_size() > 0, "it has none");
     }},
    {"information.check-types", "it says what types of checks it has before it is configured",
     "the types are constant; they do not depend on the configuration", Check::nothing,
     [](Trial& t) { return describe(t).status(); }},
    {"types.names", "the name of every type is one that jobs can write", "it must match [a-z][a-z0-9_-]*",
     Check::nothing,
     [](Trial& t) {
       return each_type(t, [](const auto& type) { return expect(check::is_type_name(type.name()), "it is not"); });
     }},
    {"types.names-differ", "no two types have one name", "a check says its type by the name alone", Check::nothing,
     [](Trial& t) -> Status {
       std::set<std::string> names;
       return each_type(t,
                        [&](const auto& type) { return expect(names.insert(type.name()).second, "it comes twice"); });
     }},
    {"types.described", "every type has a sentence that says what it looks at", "set description", Check::nothing,
     [](Trial& t) {
       return each_type(t, [](const auto& type) { return expect(!type.description().empty(), "it has none"); });
     }},
    {"types.options", "the schema of every type's options can be used",
     "every part set, types and default literals readable", Check::nothing,
     [](Trial& t) {
       return each_type(
           t, [](const auto& type) { return type.has_options() ? hclspec::check(type.options()) : ok_status(); });
     }},
    {"types.constant", "asked again it has the same types", "build them from constants", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto first, describe(t));
       DROVER_TRY(const auto second, describe(t));
       return expect(serialize(first) == serialize(second), "they are others");
     }},
    {"types.after-crash", "after a crash it has the same types", "build them from constants", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto first, describe(t));
       DROVER_RETURN_IF_ERROR(t.replace());
       DROVER_TRY(const auto second, describe(t));
       return expect(serialize(first) == serialize(second), "they are others");
     }},

    {"run.passing", "a service that works passes", "return PASSING", Check::passing,
     [](Trial& t) { return comes_out(t, "passing", Ran::PASSING); }},
    {"run.warning", "a service that somebody should look at is a warning", "return WARNING", Check::warning,
     [](Trial& t) { return comes_out(t, "warning", Ran::WARNING); }},
    {"run.critical", "a service that does not work is critical, not an error", "return CRITICAL and no error",
     Check::critical, [](Trial& t) { return comes_out(t, "critical", Ran::CRITICAL); }},
    {"run.output", "a critical result says why", "set output", Check::critical,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto result, run(t, "critical"));
       return expect(!result.output().empty(), "the output is empty");
     }},
    {"run.output-size", "no result says more than 3,072 bytes", "cut the output between two characters",
     Check::passing | Check::critical,
     [](Trial& t) -> Status {
       for (const char* kind : {"passing", "critical"}) {
         DROVER_TRY(const auto result, run(t, kind));
         DROVER_RETURN_IF_ERROR(expect(result.output().size() <= kMaxCheckOutput,
                                       std::to_string(result.output().size()) + " bytes of " + kind));
       }
       return ok_status();
     }},
    {"run.again", "a check that is run again comes out the same", "looking must not change what is looked at",
     Check::passing | Check::critical,
     [](Trial& t) -> Status {
       for (int i = 0; i < 3; ++i) {
         DROVER_RETURN_IF_ERROR(comes_out(t, "passing", Ran::PASSING));
         DROVER_RETURN_IF_ERROR(comes_out(t, "critical", Ran::CRITICAL));
       }
       return ok_status();
     }},
    {"run.other-service", "the same check of another service is run all the same",
     "keep nothing by the check's ID that a run cannot do without", Check::passing,
     [](Trial& t) -> Status {
       DROVER_TRY(auto request, request_of(t, "passing"));
       for (int i = 0; i < 3; ++i) {
         request.set_check_id("another " + std::to_string(i));
         request.set_service("another-" + std::to_string(i));
         DROVER_TRY(const auto result, run(t, request));
         DROVER_RETURN_IF_ERROR(expect(result.status() == Ran::PASSING, "it does not pass any more"));
       }
       return ok_status();
     }},
    {"run.group-service", "a check of a group's service, without a task, is run", "task may be empty", Check::passing,
     [](Trial& t) -> Status {
       DROVER_TRY(auto request, request_of(t, "passing"));
       request.clear_task();
       return run(t, request).status();
     }},
    {"run.unknown-type", "a type that there is not is refused", "look the type up", Check::nothing,
     [](Trial& t) -> Status {
       v1::RunCheckRequest request;
       request.set_type("no-such-type");
       *request.mutable_timeout() = duration_of(1s);
       return refuses(t, request);
     }},
    {"run.unknown-type-named", "the refusal names the type", "put the type into the error's text", Check::nothing,
     [](Trial& t) -> Status {
       v1::RunCheckRequest request;
       request.set_type("no-such-type");
       *request.mutable_timeout() = duration_of(1s);
       const Status status = run(t, request).status();
       return expect(status.message().find("no-such-type") != std::string::npos, "it says: " + status.message());
     }},
    {"run.invalid-options", "options that no run can satisfy are an error, not a result",
     "return INVALID_ARGUMENT naming the option", Check::refusable,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto request, request_of(t, "invalid"));
       return refuses(t, request);
     }},
    {"run.garbage-options", "options that are no msgpack are an error, and it goes on", "let the decoder refuse them",
     Check::passing,
     [](Trial& t) -> Status {
       DROVER_TRY(auto request, request_of(t, "passing"));
       if (request.options().empty()) return t.inapplicable("its checks have no options");
       request.set_options("\xc1 this is no msgpack");
       return refuses(t, request);
     }},
    {"run.long-options", "a mebibyte of options is an error, and it goes on", "let the decoder refuse it",
     Check::passing,
     [](Trial& t) -> Status {
       DROVER_TRY(auto request, request_of(t, "passing"));
       if (request.options().empty()) return t.inapplicable("its checks have no options");
       request.set_options(std::string(1 << 20, '\x91'));  // lists in lists
       return refuses(t, request);
     }},
    {"run.no-time", "a run without time is answered or refused at once", "do not wait for ever where no time is given",
     Check::passing,
     [](Trial& t) -> Status {
       DROVER_TRY(auto request, request_of(t, "passing"));
       request.clear_timeout();
       const Status status = run(t, request).status();
       if (status.code() == Code::deadline_exceeded || status.code() == Code::unavailable) return status;
       return t.is_alive();
     }},
    {"run.time-limit", "a check that takes longer than its time limit is critical",
     "stop looking when the time is over, and say so", Check::slow,
     [](Trial& t) { return comes_out(t, "slow", Ran::CRITICAL); }},
    {"run.soon-after", "the time limit's end ends the run", "give what is waited for the time limit, too", Check::slow,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto request, request_of(t, "slow"));
       const auto began = std::chrono::steady_clock::now();
       const Status status = t.call<Ran>(kRun, request, kSlowLimit + kLate).status();
       if (status.code() == Code::deadline_exceeded) return failure("it goes on three seconds later");
       return expect(std::chrono::steady_clock::now() - began < kSlowLimit + kLate, "it took longer");
     }},
    {"run.cancelled", "after runs that were broken off the next one answers", "end what is waited for with the call",
     Check::slow | Check::passing,
     [](Trial& t) -> Status {
       for (int i = 0; i < 3; ++i) DROVER_RETURN_IF_ERROR(beside_slow(t, [&] { return t.is_alive(); }));
       return comes_out(t, "passing", Ran::PASSING);
     }},
    {"run.beside-slow", "a check that takes its time holds up no other", "run every check on its own",
     Check::slow | Check::passing,
     [](Trial& t) { return beside_slow(t, [&] { return comes_out(t, "passing", Ran::PASSING); }); }},
    {"run.at-once", "fifty checks at once are all answered", "guard what runs share", Check::passing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto request, request_of(t, "passing"));
       return all_at_once(50, [&](int i) -> Status {
         v1::RunCheckRequest own = request;
         own.set_check_id("conformance-" + std::to_string(i));
         DROVER_TRY(const auto result, run(t, own));
         return expect(result.status() == Ran::PASSING, "one is " + Ran::Status_Name(result.status()));
       });
     }},

    kCrashIdle,
    {"crash.run", "after a crash of the plugin during Run, the check can be run",
     "keep no lock or file that stops a second run", Check::passing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto request, request_of(t, "passing"));
       auto running = std::async(std::launch::async, [&] { return run(t, request).status(); });
       (void)running.wait_for(kShort);
       t.subject().kill();
       (void)running.get();
       DROVER_RETURN_IF_ERROR(t.subject().start());
       DROVER_RETURN_IF_ERROR(t.configure());
       return comes_out(t, "passing", Ran::PASSING);
     }},
    {"crash.unasked", "a check can be run before anybody asks the new process for its types",
     "do not wait for Describe: after a restart Run may come first", Check::passing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto request, request_of(t, "passing"));
       DROVER_RETURN_IF_ERROR(t.replace());
       return run(t, request).status();
     }},
    {"crash.result", "after a crash a check comes out the same", "keep nothing from one run to the next",
     Check::passing | Check::critical,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(comes_out(t, "critical", Ran::CRITICAL));
       DROVER_RETURN_IF_ERROR(t.replace());
       DROVER_RETURN_IF_ERROR(comes_out(t, "critical", Ran::CRITICAL));
       return comes_out(t, "passing", Ran::PASSING);
     }},

    {"limits.garbage-run", "bytes that are no message are an error of Run alone",
     "let the protobuf library refuse them", Check::nothing, [](Trial& t) { return survives_garbage(t, kRun); }},
    {"limits.long-type", "a type with a name of a mebibyte is unknown, like any other",
     "put no bound or path on what is only looked up", Check::nothing,
     [](Trial& t) -> Status {
       v1::RunCheckRequest request;
       request.set_type(std::string(1 << 20, 'x'));
       *request.mutable_timeout() = duration_of(1s);
       return refuses(t, request);
     }},
    {"limits.abandoned-runs", "a hundred abandoned runs leave nothing behind",
     "end what is waited for when the call's context ends", Check::slow,
     [](Trial& t) -> Status {
       DROVER_TRY(auto request, request_of(t, "slow"));
       *request.mutable_timeout() = duration_of(1h);
       for (int i = 0; i < 100; ++i) t.open(kRun, request)->cancel();
       return t.is_alive();
     }},
};

}  // namespace

std::span<const Check> check_provider_checks() { return kChecks; }

}  // namespace drover::conformance

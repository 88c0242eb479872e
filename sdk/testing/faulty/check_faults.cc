// Faults of check providers: for every check of theirs at least one.
#include "drover/check_provider.h"
#include "method_faults.h"

#include "drover/v1/check_provider.pb.h"

namespace drover::faulty {
namespace {

using Checks = v1::DescribeChecksResponse;
using Run = v1::RunCheckRequest;
using Ran = v1::CheckResult;
const std::string kTypes = "/drover.v1.CheckPlugin/Describe";
const std::string kRun = "/drover.v1.CheckPlugin/Run";

void types(Methods& m, std::function<void(Checks&)> change) { answer<Checks>(m, kTypes, std::move(change)); }
void results(Methods& m, std::function<void(Ran&)> change) { answer<Ran>(m, kRun, std::move(change)); }
bool is_told(const Run& run, const char* what) { return run.options().find(what) != std::string::npos; }
void told(Methods& m, const char* what, const Ran& result) {
  answer_where<Run>(
      m, kRun, [what](const Run& run) { return is_told(run, what); }, result);
}

const Fault kCheckFaults[] = {
    {"types.some", [](Methods& m, const WorldPtr&) { types(m, [](auto& a) { a.clear_types(); }); }},
    {"information.check-types", [](Methods& m, const WorldPtr& w) { only_configured(m, w, kTypes); }},
    {"types.names",
     [](Methods& m, const WorldPtr&) { types(m, [](auto& a) { a.mutable_types(0)->set_name("Told Me"); }); }},
    {"types.names-differ",
     [](Methods& m, const WorldPtr&) { types(m, [](auto& a) { *a.add_types() = Checks(a).types(0); }); }},
    {"types.described",
     [](Methods& m, const WorldPtr&) { types(m, [](auto& a) { a.mutable_types(0)->clear_description(); }); }},
    {"types.options",
     [](Methods& m, const WorldPtr&) {
       types(m, [](auto& a) { a.mutable_types(0)->mutable_options()->mutable_attr()->set_type("no type"); });
     }},
    {"types.constant",
     [](Methods& m, const WorldPtr& w) {
       types(m, [w](auto& a) { a.mutable_types(0)->set_description(std::to_string(count(w, "types"))); });
     }},
    {"types.after-crash",
     [](Methods& m, const WorldPtr& w) {
       types(m, [w](auto& a) { a.mutable_types(0)->set_description(std::to_string(instance(w))); });
     }},

    {"run.passing", [](Methods& m, const WorldPtr&) { told(m, "passing", check::warning("perhaps")); }},
    {"run.warning", [](Methods& m, const WorldPtr&) { told(m, "warning", check::passing("fine")); }},
    {"run.critical",
     [](Methods& m, const WorldPtr&) {
       say_where<Run>(
           m, kRun, [](const Run& run) { return is_told(run, "critical"); }, no());
     }},
    {"run.output", [](Methods& m, const WorldPtr&) { results(m, [](auto& a) { a.clear_output(); }); }},
    {"run.output-size",
     [](Methods& m, const WorldPtr&) { results(m, [](auto& a) { a.set_output(std::string(5000, 'x')); }); }},
    {"run.again",
     [](Methods& m, const WorldPtr& w) {
       results(m, [w](auto& a) {
         if (count(w, "runs") > 2) a.set_status(Ran::WARNING);
       });
     }},
    {"run.other-service",
     [](Methods& m, const WorldPtr&) {
       say_where<Run>(
           m, kRun, [](const Run& run) { return run.service() != "conformance"; }, no());
     }},
    {"run.group-service",
     [](Methods& m, const WorldPtr&) {
       say_where<Run>(
           m, kRun, [](const Run& run) { return run.task().empty(); }, no());
     }},
    {"run.unknown-type",
     [](Methods& m, const WorldPtr&) {
       answer_where<Run>(
           m, kRun, [](const Run& run) { return run.type() == "no-such-type"; }, check::passing("yes"));
     }},
    {"run.unknown-type-named",
     [](Methods& m, const WorldPtr&) {
       say_where<Run>(
           m, kRun, [](const Run& run) { return run.type() == "no-such-type"; }, no());
     }},
    {"run.invalid-options", [](Methods& m, const WorldPtr&) { told(m, "invalid", check::critical("no")); }},
    {"run.garbage-options",
     [](Methods& m, const WorldPtr&) {
       answer_where<Run>(
           m, kRun, [](const Run& run) { return run.options().starts_with('\xc1'); }, check::passing("yes"));
     }},
    {"run.long-options",
     [](Methods& m, const WorldPtr&) {
       answer_where<Run>(
           m, kRun, [](const Run& run) { return run.options().size() > 1 << 16; }, check::passing("yes"));
     }},
    {"run.no-time",
     [](Methods& m, const WorldPtr&) {
       hang_where<Run>(m, kRun, [](const Run& run) { return !run.has_timeout() && !run.options().empty(); });
     }},
    {"run.time-limit",
     [](Methods& m, const WorldPtr&) {
       answer<Ran>(m, kRun, [](auto& a) {
         if (a.output().find("no answer") != std::string::npos) a.set_status(Ran::WARNING);
       });
     }},
    {"run.soon-after",
     [](Methods& m, const WorldPtr&) {
       hang_where<Run>(m, kRun, [](const Run& run) { return is_told(run, "slow"); });
     }},
    {"run.cancelled",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, kRun, [w](const Handler& inner, Call& call) {
         if (has_mark(w, "broken off")) return no();
         const Status status = inner(call);
         if (call.stop().stop_requested()) (void)count(w, "broken off");
         return status;
       });
     }},
    {"run.beside-slow", [](Methods& m, const WorldPtr& w) { not_side_by_side(m, w, kRun); }},
    {"run.at-once", [](Methods& m, const WorldPtr& w) { not_side_by_side(m, w, kRun); }},

    {"crash.idle", [](Methods& m, const WorldPtr& w) { not_a_second_time(m, w); }},
    {"crash.run", [](Methods& m, const WorldPtr& w) { after_crash_in(m, w, kRun); }},
    {"crash.unasked",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, kTypes, [w](const Handler& inner, Call& call) {
         (void)count(w, "asked " + std::to_string(instance(w)));
         return inner(call);
       });
       wrap(m, kRun, [w](const Handler& inner, Call& call) {
         return has_mark(w, "asked " + std::to_string(instance(w))) ? inner(call) : no();
       });
     }},
    {"crash.result",
     [](Methods& m, const WorldPtr& w) {
       results(m, [w](auto& a) {
         if (instance(w) > 1) a.set_status(Ran::WARNING);
       });
     }},

    {"limits.garbage-run", [](Methods& m, const WorldPtr&) { takes_garbage(m, kRun); }},
    {"limits.long-type",
     [](Methods& m, const WorldPtr&) {
       answer_where<Run>(
           m, kRun, [](const Run& run) { return run.type().size() > 1 << 16; }, check::passing("yes"));
     }},
    {"limits.abandoned-runs", [](Methods& m, const WorldPtr& w) { remembers_the_abandoned(m, w, kRun); }},
};

}  // namespace

std::span<const Fault> check_provider_faults() { return kCheckFaults; }

}  // namespace drover::faulty

// Faults of auth methods: for every check of theirs at least one.
#include "drover/auth_method.h"
#include "method_faults.h"

#include "drover/v1/auth_method.pb.h"

namespace drover::faulty {
namespace {

using About = v1::DescribeAuthResponse;
using CheckConfig = v1::CheckAuthConfigRequest;
using Errors = v1::CheckAuthConfigResponse;
using Login = v1::AuthLoginRequest;
using Started = v1::StartAuthLoginResponse;
using Complete = v1::CompleteAuthLoginRequest;
using Who = v1::AuthIdentity;
std::string auth_method(const char* name) { return "/drover.v1.AuthPlugin/" + std::string(name); }

void about(Methods& m, std::function<void(About&)> change) {
  answer<About>(m, auth_method("Describe"), std::move(change));
}
void found(Methods& m, std::function<void(Errors&)> change) {
  answer<Errors>(m, auth_method("CheckConfig"), std::move(change));
}
void finds_nothing(Methods& m, std::function<bool(const CheckConfig&)> is_meant) {
  answer_where<CheckConfig>(m, auth_method("CheckConfig"), std::move(is_meant), Errors());
}
Who ada() {
  Who who;
  who.set_subject("ada");
  return who;
}
void lets_in(Methods& m, std::function<bool(const Login&)> is_meant) {
  answer_where<Login>(m, auth_method("Login"), std::move(is_meant), ada());
}
void logged_in(Methods& m, std::function<void(Who&)> change) {
  answer<Who>(m, auth_method("Login"), std::move(change));
}
void started(Methods& m, std::function<void(Started&)> change) {
  answer<Started>(m, auth_method("StartLogin"), std::move(change));
}
void completes(Methods& m, std::function<bool(const Complete&)> is_meant) {
  answer_where<Complete>(m, auth_method("CompleteLogin"), std::move(is_meant), ada());
}
// An error of a login that shows what it was given.
void shows_token(Methods& m, const std::function<Status(const std::string& token)>& show) {
  wrap(m, auth_method("Login"), [show](const Handler& inner, Call& call) {
    Login request;
    (void)request.ParseFromString(call.request());
    const Status status = inner(call);
    return status.ok() ? status : show(request.token());
  });
}

const Fault kAuthFaults[] = {
    {"information.auth-type", [](Methods& m, const WorldPtr& w) { only_configured(m, w, auth_method("Describe")); }},
    {"describe.type", [](Methods& m, const WorldPtr&) { about(m, [](auto& a) { a.set_type("a type"); }); }},
    {"describe.flows", [](Methods& m, const WorldPtr&) { about(m, [](auto& a) { a.clear_flows(); }); }},
    {"describe.constant",
     [](Methods& m, const WorldPtr& w) {
       about(m, [w](auto& a) { a.set_type("T" + std::to_string(count(w, "about"))); });
     }},
    {"describe.after-crash",
     [](Methods& m, const WorldPtr& w) { about(m, [w](auto& a) { a.set_type("T" + std::to_string(instance(w))); }); }},

    {"config.good",
     [](Methods& m, const WorldPtr&) { found(m, [](auto& a) { a.add_errors()->set_problem("I do not like it"); }); }},
    {"config.invalid",
     [](Methods& m, const WorldPtr&) {
       finds_nothing(m, [](const CheckConfig& r) { return r.config().find("1815}") != std::string::npos; });
     }},
    {"config.path",
     [](Methods& m, const WorldPtr&) {
       found(m, [](auto& a) {
         for (auto& each : *a.mutable_errors()) each.clear_path();
       });
     }},
    {"config.explained",
     [](Methods& m, const WorldPtr&) {
       found(m, [](auto& a) {
         for (auto& each : *a.mutable_errors()) each.clear_problem();
       });
     }},
    {"config.again",
     [](Methods& m, const WorldPtr& w) {
       found(m, [w](auto& a) {
         for (auto& each : *a.mutable_errors()) each.set_problem(std::to_string(count(w, "found")));
       });
     }},
    {"config.not-json",
     [](Methods& m, const WorldPtr&) {
       finds_nothing(m, [](const CheckConfig& r) { return r.config().ends_with(": "); });
     }},
    {"config.not-object",
     [](Methods& m, const WorldPtr&) {
       finds_nothing(m, [](const CheckConfig& r) { return r.config().starts_with('['); });
     }},
    {"config.unknown",
     [](Methods& m, const WorldPtr&) {
       finds_nothing(m, [](const CheckConfig& r) { return r.config().find("NoSuchOption") != std::string::npos; });
     }},
    {"config.deep",
     [](Methods& m, const WorldPtr&) {
       finds_nothing(m, [](const CheckConfig& r) { return r.config().size() > 50'000; });
     }},

    {"login.good", [](Methods& m, const WorldPtr&) { logged_in(m, [](auto& a) { a.set_subject("grace"); }); }},
    {"login.same",
     [](Methods& m, const WorldPtr& w) {
       logged_in(m, [w](auto& a) { a.set_subject(std::to_string(count(w, "logins"))); });
     }},
    {"login.after-crash",
     [](Methods& m, const WorldPtr& w) { logged_in(m, [w](auto& a) { a.set_subject(std::to_string(instance(w))); }); }},
    {"login.expiry",
     [](Methods& m, const WorldPtr&) { logged_in(m, [](auto& a) { a.mutable_expires_at()->set_seconds(1); }); }},
    {"login.refused",
     [](Methods& m, const WorldPtr&) { lets_in(m, [](const Login& r) { return r.token() == "ada:baroness"; }); }},
    {"login.refused-code",
     [](Methods& m, const WorldPtr&) {
       say_where<Login>(
           m, auth_method("Login"), [](const Login& r) { return r.token() == "ada:baroness"; },
           permission_denied("no"));
     }},
    {"login.empty",
     [](Methods& m, const WorldPtr&) {
       lets_in(m, [](const Login& r) { return r.token().empty() && !r.config().empty(); });
     }},
    {"login.more",
     [](Methods& m, const WorldPtr&) { lets_in(m, [](const Login& r) { return r.token().ends_with("1815x"); }); }},
    {"login.long",
     [](Methods& m, const WorldPtr&) { lets_in(m, [](const Login& r) { return r.token().size() > 1 << 16; }); }},
    {"login.odd",
     [](Methods& m, const WorldPtr&) {
       lets_in(m, [](const Login& r) { return r.token().find("uid=*") != std::string::npos; });
     }},
    {"login.misconfigured",
     [](Methods& m, const WorldPtr&) {
       lets_in(m, [](const Login& r) { return r.config().find("1815}") != std::string::npos; });
     }},
    {"login.at-once", [](Methods& m, const WorldPtr& w) { not_side_by_side(m, w, auth_method("Login")); }},
    {"login.lacking",
     [](Methods& m, const WorldPtr&) {
       about(m, [](auto& a) {
         a.clear_flows();
         a.add_flows(About::TOKEN);
       });
     }},

    {"secrets.error",
     [](Methods& m, const WorldPtr&) {
       shows_token(m, [](const std::string& token) { return auth::refused("who is " + token + "?"); });
     }},
    {"secrets.error",  // of those it knows, and the password alone
     [](Methods& m, const WorldPtr&) {
       shows_token(m, [](const std::string& token) {
         return auth::refused(token.starts_with("ada:") ? "not " + token.substr(4) : "unknown user");
       });
     }},
    {"secrets.claims",
     [](Methods& m, const WorldPtr&) {
       logged_in(m, [](auto& a) { (*a.mutable_claims())["password"] = "countess-1815"; });
     }},
    {"secrets.claims",
     [](Methods& m, const WorldPtr&) {
       logged_in(m, [](auto& a) { (*a.mutable_claims())["token"] = "ada:countess-1815"; });
     }},

    {"browser.url", [](Methods& m, const WorldPtr&) { started(m, [](auto& a) { a.set_auth_url("ldap://here"); }); }},
    {"browser.state",
     [](Methods& m, const WorldPtr&) { started(m, [](auto& a) { a.set_auth_url("http://here/login"); }); }},
    {"browser.kept",
     [](Methods& m, const WorldPtr&) { started(m, [](auto& a) { a.set_kept(std::string(5000, 'x')); }); }},
    {"browser.kept-secret",
     [](Methods& m, const WorldPtr&) {
       started(m, [](auto& a) { a.set_auth_url(a.auth_url() + "&kept=" + a.kept()); });
     }},
    {"browser.complete",
     [](Methods& m, const WorldPtr&) {
       answer<Who>(m, auth_method("CompleteLogin"), [](auto& a) { a.set_subject("grace"); });
     }},
    {"browser.after-crash",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, auth_method("CompleteLogin"),
            [w](const Handler& inner, Call& call) { return instance(w) > 1 ? no() : inner(call); });
     }},
    {"browser.wrong-code",
     [](Methods& m, const WorldPtr&) {
       completes(m, [](const Complete& r) { return r.code().starts_with("marked:"); });
     }},
    {"browser.wrong-kept",
     [](Methods& m, const WorldPtr&) { completes(m, [](const Complete& r) { return r.kept() == "something else"; }); }},

    {"crash.idle", [](Methods& m, const WorldPtr& w) { not_a_second_time(m, w); }},
    {"crash.login", [](Methods& m, const WorldPtr& w) { after_crash_in(m, w, auth_method("Login")); }},

    {"limits.garbage-login", [](Methods& m, const WorldPtr&) { takes_garbage(m, auth_method("Login")); }},
    {"limits.many-refused",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, auth_method("Login"),
            [w](const Handler& inner, Call& call) { return count(w, "tries") > 20 ? no() : inner(call); });
     }},
    {"limits.abandoned",
     [](Methods& m, const WorldPtr& w) {
       delay(m, auth_method("Login"), 20ms);
       remembers_the_abandoned(m, w, auth_method("Login"));
     }},
};

}  // namespace

std::span<const Fault> auth_method_faults() { return kAuthFaults; }

}  // namespace drover::faulty

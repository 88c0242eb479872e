// Checks the promises of an auth method: the Config it takes, who logs in and who does not, and that it keeps secrets.
#include <algorithm>

#include "drover/auth_method.h"
#include "drover/uuid.h"
#include "drover/v1/auth_method.pb.h"
#include "trial.h"

namespace drover::conformance {
namespace {

using Described = v1::DescribeAuthResponse;
using Started = v1::StartAuthLoginResponse;
using Who = v1::AuthIdentity;

constexpr const char* kRedirect = "http://127.0.0.1:4649/oidc/callback";
constexpr auto kCommandTime = 20s;

std::string method(const char* name) { return "/drover.v1.AuthPlugin/" + std::string(name); }

Result<Described> describe(Trial& t) { return t.call<Described>(method("Describe"), v1::DescribeAuthRequest()); }
Result<bool> has_flow(Trial& t, Described::Flow flow) {
  DROVER_TRY(const auto facts, describe(t));
  return std::ranges::find(facts.flows(), flow) != facts.flows().end();
}

Result<v1::CheckAuthConfigResponse> check_config(Trial& t, const std::string& config) {
  v1::CheckAuthConfigRequest request;
  request.set_config(config);
  return t.call<v1::CheckAuthConfigResponse>(method("CheckConfig"), request);
}
// It has an error in it: in the answer, or as one of the call.
Status finds_error(Trial& t, const std::string& config) {
  const auto answer = check_config(t, config);
  if (answer.ok()) return expect(!answer->errors().empty(), "it finds no error");
  if (answer.status().code() == Code::unavailable || answer.status().code() == Code::deadline_exceeded)
    return answer.status();
  return t.is_alive();
}

Result<Who> login(Trial& t, const LoginSpec& spec, const std::string& token) {
  v1::AuthLoginRequest request;
  request.set_config(spec.config);
  request.set_token(token);
  return t.call<Who>(method("Login"), request);
}
Result<Who> login(Trial& t, const std::string& kind) {
  const LoginSpec& spec = t.setup().logins.at(kind);
  return login(t, spec, spec.token);
}
Status refuses(Trial& t, const Result<Who>& answer) {
  if (answer.ok()) return failure("\"" + answer->subject().substr(0, 100) + "\" is logged in");
  if (answer.status().code() == Code::unavailable || answer.status().code() == Code::deadline_exceeded)
    return answer.status();
  return t.is_alive();
}

// A login with the browser on its way.
struct Visit {
  v1::StartAuthLoginRequest request;
  Started started;
};
Result<Visit> start(Trial& t) {
  Visit visit;
  visit.request.set_config(t.setup().logins.at("browser").config);
  visit.request.set_redirect_uri(kRedirect);
  visit.request.set_client_nonce(Uuid::random().to_string());
  visit.request.set_state(Uuid::random().to_string());
  DROVER_TRY(visit.started, t.call<Started>(method("StartLogin"), visit.request));
  return visit;
}
Result<std::string> go(Trial& t, const Visit& visit) {
  const LoginSpec& spec = t.setup().logins.at("browser");
  if (spec.visit.empty()) return failure("login \"browser\" (-task) has no visit");
  DROVER_TRY(std::string code, shell_output(spec.visit, "DROVER_LOGIN_URL", visit.started.auth_url(), kCommandTime));
  while (code.ends_with('\n')) code.pop_back();
  return code;
}
Result<Who> complete(Trial& t, const Visit& visit, const std::string& code) {
  v1::CompleteAuthLoginRequest request;
  request.set_config(visit.request.config());
  request.set_redirect_uri(visit.request.redirect_uri());
  request.set_client_nonce(visit.request.client_nonce());
  request.set_state(visit.request.state());
  request.set_kept(visit.started.kept());
  request.set_code(code);
  return t.call<Who>(method("CompleteLogin"), request);
}

// A token that nobody has, and that can be found again wherever it gets.
std::string marked_token() { return "marked:" + Uuid::random().to_string(); }

// Tokens that are refused: of a name that there is not and, where a token is "name:password", of the good one's name.
std::vector<std::string> wrong_tokens(const LoginSpec& good) {
  std::vector<std::string> out = {marked_token()};
  const size_t colon = good.token.find(':');
  if (colon != std::string::npos) out.push_back(good.token.substr(0, colon + 1) + Uuid::random().to_string());
  return out;
}

Status without(const std::string& text, const std::string& token, const std::string& where) {
  for (const std::string_view secret : auth::secrets_of(token)) {
    const char* const what = secret.size() == token.size() ? "the token" : "a part of the token";
    DROVER_RETURN_IF_ERROR(expect(text.find(secret) == std::string::npos, std::string(what) + " stands in " + where));
  }
  return ok_status();
}
Status keeps_quiet(Trial& t, const std::function<Status(const std::string& token)>& use) {
  const LoginSpec& spec = t.setup().logins.at("good");
  std::vector<std::string> tokens = wrong_tokens(spec);
  tokens.push_back(spec.token);
  for (const std::string& token : tokens) DROVER_RETURN_IF_ERROR(use(token));
  t.subject().kill();
  const std::string words = t.subject().epitaph();
  for (const std::string& token : tokens)
    DROVER_RETURN_IF_ERROR(without(words, token, "what it says on standard error"));
  return ok_status();
}

const Check kChecks[] = {
    {"information.auth-type", "it says its type before it is configured", "answer Describe from constants",
     Check::nothing, [](Trial& t) { return describe(t).status(); }},
    {"describe.type", "its type is a name that operators can write", "letters, digits, '_' and '-', a letter first",
     Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto facts, describe(t));
       return expect(auth::is_type_name(facts.type()), "it is \"" + facts.type().substr(0, 100) + "\"");
     }},
    {"describe.flows", "it has a way to log in", "list TOKEN, BROWSER or both", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const bool token, has_flow(t, Described::TOKEN));
       DROVER_TRY(const bool browser, has_flow(t, Described::BROWSER));
       return expect(token || browser, "it has none");
     }},
    {"describe.constant", "asked again it says the same of itself", "answer Describe from constants", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto first, describe(t));
       DROVER_TRY(const auto second, describe(t));
       return expect(serialize(first) == serialize(second), "it says another thing");
     }},
    {"describe.after-crash", "after a crash its type and flows are the same", "answer Describe from constants",
     Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto first, describe(t));
       DROVER_RETURN_IF_ERROR(t.replace());
       DROVER_TRY(const auto second, describe(t));
       return expect(serialize(first) == serialize(second), "it says another thing");
     }},

    {"config.good", "a Config that works has no error", "report what would keep a login from working, and nothing else",
     Check::good,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto answer, check_config(t, t.setup().logins.at("good").config));
       if (answer.errors().empty()) return ok_status();
       return failure(answer.errors(0).path() + ": " + answer.errors(0).problem());
     }},
    {"config.invalid", "an error in a Config is found", "check everything that an operator can write wrong",
     Check::misconfigured, [](Trial& t) { return finds_error(t, t.setup().logins.at("invalid").config); }},
    {"config.path", "an error in a Config has its place", "set path: \"UserFilter\", \"Servers[1].URL\"",
     Check::misconfigured,
     [](Trial& t) -> Status {
       const LoginSpec& spec = t.setup().logins.at("invalid");
       if (spec.path.empty()) return t.inapplicable("login \"invalid\" (-task) has no path");
       DROVER_TRY(const auto answer, check_config(t, spec.config));
       const bool is_there =
           std::ranges::find(answer.errors(), spec.path, &v1::AuthConfigError::path) != answer.errors().end();
       return expect(is_there, "no error is at " + spec.path);
     }},
    {"config.explained", "an error in a Config says what is wrong", "set problem", Check::misconfigured,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto answer, check_config(t, t.setup().logins.at("invalid").config));
       for (const auto& error : answer.errors()) {
         if (error.problem().empty()) return failure("that at \"" + error.path() + "\" does not");
       }
       return ok_status();
     }},
    {"config.again", "the same Config has the same errors again", "look at the text alone", Check::misconfigured,
     [](Trial& t) -> Status {
       const std::string& config = t.setup().logins.at("invalid").config;
       DROVER_TRY(const auto first, check_config(t, config));
       DROVER_TRY(const auto second, check_config(t, config));
       return expect(serialize(first) == serialize(second), "they are others");
     }},
    {"config.not-json", "a Config that is no JSON is an error, and it goes on", "let the JSON library refuse it",
     Check::nothing, [](Trial& t) { return finds_error(t, "{\"a\": "); }},
    {"config.not-object", "a Config that is a list is an error, and it goes on", "a Config is an object",
     Check::nothing, [](Trial& t) { return finds_error(t, "[1, 2]"); }},
    {"config.unknown", "an option that there is not is an error",
     "report names that you do not know: they are mistyped", Check::good,
     [](Trial& t) -> Status {
       std::string config = t.setup().logins.at("good").config;
       const size_t brace = config.find('{');
       if (brace == std::string::npos) return failure("the Config of login \"good\" (-task) is no object");
       const bool is_empty = config.find('"') == std::string::npos;
       config.insert(brace + 1, std::string("\"NoSuchOption\": 1") + (is_empty ? "" : ", "));
       return finds_error(t, config);
     }},
    {"config.deep", "a Config of a hundred thousand brackets is an error, and it goes on", "bound the depth",
     Check::nothing, [](Trial& t) { return finds_error(t, "{\"a\": " + std::string(100'000, '[')); }},

    {"login.good", "who has a good token is logged in", "return an identity with a subject", Check::good,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto who, login(t, "good"));
       const std::string& subject = t.setup().logins.at("good").subject;
       if (subject.empty()) return expect(!who.subject().empty(), "the subject is empty");
       return expect(who.subject() == subject, "it is \"" + who.subject() + "\"");
     }},
    {"login.same", "who logs in again is the same", "the subject must not depend on the login", Check::good,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto first, login(t, "good"));
       DROVER_TRY(const auto second, login(t, "good"));
       return expect(first.subject() == second.subject(), "it is \"" + second.subject() + "\" now");
     }},
    {"login.after-crash", "after a crash who logs in is the same", "keep nothing of logins", Check::good,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto first, login(t, "good"));
       DROVER_RETURN_IF_ERROR(t.replace());
       DROVER_TRY(const auto second, login(t, "good"));
       return expect(first.subject() == second.subject(), "it is \"" + second.subject() + "\" now");
     }},
    {"login.expiry", "an identity ends in the future, if it ends", "leave expires_at out where nothing ends it",
     Check::good,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto who, login(t, "good"));
       const int64_t now = SystemClock().wall_ns() / 1'000'000'000;
       return expect(!who.has_expires_at() || who.expires_at().seconds() > now, "it has ended");
     }},
    {"login.refused", "who has a wrong token is not logged in", "return UNAUTHENTICATED", Check::refused,
     [](Trial& t) { return refuses(t, login(t, "refused")); }},
    {"login.refused-code", "a wrong token is UNAUTHENTICATED, no other error",
     "hosts tell it apart from what could not be found out", Check::refused,
     [](Trial& t) -> Status {
       const Status status = login(t, "refused").status();
       return expect(status.code() == Code::unauthenticated, "it is " + status.to_string());
     }},
    {"login.empty", "nobody is logged in with an empty token", "an empty password is no password", Check::good,
     [](Trial& t) { return refuses(t, login(t, t.setup().logins.at("good"), "")); }},
    {"login.more", "a good token with something behind it is refused", "compare all of it", Check::good,
     [](Trial& t) -> Status {
       const LoginSpec& spec = t.setup().logins.at("good");
       DROVER_RETURN_IF_ERROR(refuses(t, login(t, spec, spec.token + "x")).with_context("an x"));
       return refuses(t, login(t, spec, spec.token + std::string("\0x", 2))).with_context("a zero byte and an x");
     }},
    {"login.long", "a token of a mebibyte is refused, and it goes on", "bound what is hashed or sent on", Check::good,
     [](Trial& t) { return refuses(t, login(t, t.setup().logins.at("good"), std::string(1 << 20, 'x'))); }},
    {"login.odd", "tokens with odd signs are refused, and it goes on", "escape what becomes part of a query",
     Check::good,
     [](Trial& t) -> Status {
       for (const std::string token : {"*", "*)(uid=*))(|(uid=*:x", "' OR ''='", "a:\n", "../../etc/passwd:x", ":"})
         DROVER_RETURN_IF_ERROR(refuses(t, login(t, t.setup().logins.at("good"), token)).with_context(token));
       return ok_status();
     }},
    {"login.misconfigured", "nobody is logged in by a Config with an error in it", "check the Config of a login, too",
     Check::good | Check::misconfigured,
     [](Trial& t) { return refuses(t, login(t, t.setup().logins.at("invalid"), t.setup().logins.at("good").token)); }},
    {"login.at-once", "twenty logins at once are all answered", "guard what calls share", Check::good,
     [](Trial& t) -> Status { return all_at_once(20, [&](int) { return login(t, "good").status(); }); }},
    {"login.lacking", "a login of a kind that it does not have is UNIMPLEMENTED",
     "leave the methods of the other flow to the SDK or the gRPC library", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const bool token, has_flow(t, Described::TOKEN));
       DROVER_TRY(const bool browser, has_flow(t, Described::BROWSER));
       if (token && browser) return t.inapplicable("it has every kind of login");
       const Status status = token ? t.call<Started>(method("StartLogin"), v1::StartAuthLoginRequest()).status()
                                   : t.call<Who>(method("Login"), v1::AuthLoginRequest()).status();
       return expect(status.code() == Code::unimplemented, "it says " + status.to_string());
     }},

    {"secrets.error", "nothing of the token stands in the text of an error",
     "name the user at most, never what was shown", Check::good,
     [](Trial& t) -> Status {
       const LoginSpec& spec = t.setup().logins.at("good");
       for (const std::string& token : wrong_tokens(spec)) {
         const Status status = login(t, spec, token).status();
         DROVER_RETURN_IF_ERROR(without(status.message(), token, "the error's text"));
         DROVER_RETURN_IF_ERROR(without(status.details(), token, "the error's details"));
       }
       return ok_status();
     }},
    {"secrets.claims", "nothing of the token is a claim of the identity", "claims are shown and logged", Check::good,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto who, login(t, "good"));
       return without(who.DebugString(), t.setup().logins.at("good").token, "the identity");
     }},
    {"secrets.log", "nothing of a token is written to standard error", "what stands there is in the agent's log",
     Check::good | Check::program,
     [](Trial& t) {
       return keeps_quiet(t, [&](const std::string& token) -> Status {
         const Status status = login(t, t.setup().logins.at("good"), token).status();
         return status.code() == Code::unavailable ? status : ok_status();
       });
     }},

    {"browser.url", "a login with the browser begins at an http or https URL", "set auth_url", Check::browser,
     [](Trial& t) -> Status {
       DROVER_TRY(const Visit visit, start(t));
       const std::string& url = visit.started.auth_url();
       return expect(url.starts_with("https://") || url.starts_with("http://"), "it is \"" + url.substr(0, 100) + "\"");
     }},
    {"browser.state", "the URL carries the host's state", "put it into the query as `state`", Check::browser,
     [](Trial& t) -> Status {
       DROVER_TRY(const Visit visit, start(t));
       return expect(visit.started.auth_url().find(visit.request.state()) != std::string::npos, "it does not");
     }},
    {"browser.kept", "what is kept for a login is 4 KiB at most", "keep identifiers, not documents", Check::browser,
     [](Trial& t) -> Status {
       DROVER_TRY(const Visit visit, start(t));
       return expect(visit.started.kept().size() <= kMaxKeptLogin,
                     "it is " + std::to_string(visit.started.kept().size()) + " bytes");
     }},
    {"browser.kept-secret", "what is kept does not stand in the URL", "the browser must not know it", Check::browser,
     [](Trial& t) -> Status {
       DROVER_TRY(const Visit visit, start(t));
       const std::string& kept = visit.started.kept();
       return expect(kept.size() < 8 || visit.started.auth_url().find(kept) == std::string::npos, "it does");
     }},
    {"browser.complete", "who comes back with the code is logged in", "return an identity with a subject",
     Check::browser,
     [](Trial& t) -> Status {
       DROVER_TRY(const Visit visit, start(t));
       DROVER_TRY(const std::string code, go(t, visit));
       DROVER_TRY(const auto who, complete(t, visit, code));
       const std::string& subject = t.setup().logins.at("browser").subject;
       return expect(subject.empty() ? !who.subject().empty() : who.subject() == subject,
                     "it is \"" + who.subject() + "\"");
     }},
    {"browser.after-crash", "a login that began before a crash can be completed after it",
     "keep nothing but what is in `kept`", Check::browser,
     [](Trial& t) -> Status {
       DROVER_TRY(const Visit visit, start(t));
       DROVER_TRY(const std::string code, go(t, visit));
       DROVER_RETURN_IF_ERROR(t.replace());
       return complete(t, visit, code).status();
     }},
    {"browser.wrong-code", "who comes back with a wrong code is not logged in", "return UNAUTHENTICATED",
     Check::browser,
     [](Trial& t) -> Status {
       DROVER_TRY(const Visit visit, start(t));
       return refuses(t, complete(t, visit, marked_token()));
     }},
    {"browser.wrong-kept", "a login that was not begun here is not completed", "refuse a `kept` that is not its own",
     Check::browser,
     [](Trial& t) -> Status {
       DROVER_TRY(Visit visit, start(t));
       DROVER_TRY(const std::string code, go(t, visit));
       visit.started.set_kept("something else");
       return refuses(t, complete(t, visit, code));
     }},

    kCrashIdle,
    {"crash.login", "after a crash of the plugin during Login, the login can be tried again",
     "keep no lock or count that stops a second try", Check::good,
     [](Trial& t) -> Status {
       auto trying = std::async(std::launch::async, [&] { return login(t, "good").status(); });
       (void)trying.wait_for(kShort);
       t.subject().kill();
       (void)trying.get();
       DROVER_RETURN_IF_ERROR(t.subject().start());
       DROVER_RETURN_IF_ERROR(t.configure());
       return login(t, "good").status();
     }},

    {"limits.garbage-login", "bytes that are no message are an error of Login alone",
     "let the protobuf library refuse them", Check::nothing,
     [](Trial& t) { return survives_garbage(t, method("Login")); }},
    {"limits.many-refused", "fifty refused logins do not keep the next one out",
     "leave the counting of tries to the host or the directory", Check::good,
     [](Trial& t) -> Status {
       const LoginSpec& spec = t.setup().logins.at("good");
       for (int i = 0; i < 50; ++i) (void)login(t, spec, marked_token());
       return login(t, "good").status();
     }},
    {"limits.abandoned", "a hundred abandoned logins leave nothing behind", "end what is waited for with the call",
     Check::good,
     [](Trial& t) -> Status {
       v1::AuthLoginRequest request;
       request.set_config(t.setup().logins.at("good").config);
       request.set_token(marked_token());
       for (int i = 0; i < 100; ++i) t.open(method("Login"), request)->cancel();
       return t.is_alive();
     }},
};

}  // namespace

std::span<const Check> auth_method_checks() { return kChecks; }

}  // namespace drover::conformance

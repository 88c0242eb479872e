// login: with a browser, or with a token that somebody else signed.
#include <fcntl.h>
#include <spawn.h>

#include "acl/acl_text.h"
#include "cli_command.h"
#include "drover/api/acl.pb.h"
#include "drover/api/logins.pb.h"
#include "drover/base64url.h"
#include "drover/printable.h"
#include "drover/secret.h"
#include "input.h"
#include "login/callback.h"
#include "object_output.h"

extern char** environ;

namespace drover::cli {
namespace {

constexpr std::chrono::minutes kPatience{10};  // the servers remember a login so long
constexpr size_t kMaxError = 200;              // bytes of the provider's word that are shown
constexpr size_t kNonceBytes = 32;

using Token = Answer<v1::AclTokenResponse>;

// The one that is named, or the default. Errors: not_found with the words for a person.
Result<v1::AclAuthMethodStub> chosen(Run& run) {
  const std::string name = run.arguments.value("method");
  DROVER_TRY(const auto list, run.client.call<v1::Logins::ListMethods>({}));
  for (const v1::AclAuthMethodStub& method : list.message.methods()) {
    if (name.empty() ? method.default_() : method.name() == name) return method;
  }
  if (name.empty()) return not_found("Must specify an auth method name, no default found");
  return not_found("Error: method " + name + " not found in the state store. ");
}

// Opens it where there is a program to do so. Nobody waits for that one, which may live as long as the browser; init
// takes it over when the command ends.
void open_in_browser(const std::string& url) {
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, 2, "/dev/null", O_WRONLY, 0);
  std::string program = "xdg-open", argument = url;
  char* const words[] = {program.data(), argument.data(), nullptr};
  pid_t child = 0;
  (void)::posix_spawnp(&child, words[0], &quiet, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&quiet);
}

Result<Token> log_in_with_token(Run& run, const std::string& method, std::string token) {
  if (token == "-") {
    DROVER_TRY(token, read_text(run, "-"));
    token.erase(token.find_last_not_of(" \t\r\n") + 1);
  }
  v1::LoginRequest request;
  request.set_auth_method_name(method);
  request.set_login_token(std::move(token));
  return run.client.call<v1::Logins::Login>(request);
}

Result<Token> log_in_with_browser(Run& run, const std::string& method) {
  const std::string address = run.arguments.value("oidc-callback-addr");
  DROVER_TRY(CallbackServer server, CallbackServer::open(address));
  v1::StartBrowserLoginRequest start;
  start.set_auth_method_name(method);
  start.set_redirect_uri("http://" + address + "/oidc/callback");
  start.set_client_nonce(base64url(random_secret(kNonceBytes)));
  DROVER_TRY(const auto started, run.client.call<v1::Logins::StartBrowserLogin>(start));
  const std::string& url = started.message.auth_url();
  if (!url.starts_with("https://") && !url.starts_with("http://"))
    return internal_error("the servers sent no address for a browser");
  std::ostream& out = wants_object(run) ? run.err : run.out;
  out << "Log in with a browser at\n\n    " << printable(url) << "\n\n" << std::flush;
  open_in_browser(url);
  DROVER_TRY(const Callback callback, server.wait(kPatience, state_of(url)));
  if (!callback.error.empty())
    return permission_denied("the provider says: " + printable(callback.error.substr(0, kMaxError)));
  v1::CompleteBrowserLoginRequest complete;
  complete.set_auth_method_name(method);
  complete.set_client_nonce(start.client_nonce());
  complete.set_redirect_uri(start.redirect_uri());
  complete.set_state(callback.state);
  complete.set_code(callback.code);
  return run.client.call<v1::Logins::CompleteBrowserLogin>(complete);
}

int log_in(Run& run) {
  if (run.arguments.is_set("type")) run.err << "Warning: -type is ignored: the type is that of the auth method\n";
  const auto method = chosen(run);
  if (!method) {
    run.err << method.status().message() << "\n";
    return 1;
  }
  const std::string token = run.arguments.value("login-token");
  if (token.empty() && method->type() == "JWT") {
    run.err << "You need to provide a login token.\n";
    return 1;
  }
  const auto made =
      token.empty() ? log_in_with_browser(run, method->name()) : log_in_with_token(run, method->name(), token);
  if (!made) return run.fail("Error performing login", made.status());
  if (auto code = print_object(run, *made)) return *code;
  run.out << "Successfully logged in via " << method->type() << " and " << method->name() << "\n\n"
          << token_text(made->message.token());
  return 0;
}

}  // namespace

std::vector<Definition> login_commands() {
  return {
      {"login", "Logs in by an auth method, for a token of the cluster.", "",
       "Types that need a browser print an address, open it where they can, and wait until it comes back. The token is "
       "printed and kept nowhere: put its Secret ID into NOMAD_TOKEN.",
       with_object_flags({with_value("method", "", "The auth method; without: the default one"),
                          with_value("type", "", "Ignored: the type is that of the method"),
                          with_value("login-token", "",
                                     "What proves who you are, such as a JWT; - reads it from "
                                     "standard input, where nobody else sees it"),
                          with_value("oidc-callback-addr", "localhost:4649", "Where the browser comes back to")}),
       0, 0, log_in}};
}

}  // namespace drover::cli

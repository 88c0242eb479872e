// acl auth-method.
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "drover/api/logins.pb.h"
#include "drover/duration.h"
#include "input.h"
#include "login/login_text.h"
#include "object_output.h"
#include "output.h"

namespace drover::cli {
namespace {

// The value, or what it points at: "-" standard input, "@file" a file. Errors: those of reading; invalid_argument for
// what is no JSON object.
Result<std::string> config_of(Run& run) {
  std::string text = run.arguments.value("config");
  if (text == "-" || text.starts_with('@')) {
    DROVER_TRY(text, read_text(run, text == "-" ? text : text.substr(1)));
  }
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return invalid_argument("the configuration is no JSON object");
  return text;
}

// Takes over the flags that are given. Errors: invalid_argument naming the flag.
Status fill(Run& run, v1::AclAuthMethod& method) {
  const Arguments& given = run.arguments;
  if (given.is_set("type")) method.set_type(given.value("type"));
  if (given.is_set("token-locality")) method.set_token_locality(given.value("token-locality"));
  if (given.is_set("token-name-format")) method.set_token_name_format(given.value("token-name-format"));
  if (given.is_set("default")) method.set_default_(given.on("default"));
  if (given.is_set("max-token-ttl")) {
    const auto ttl = parse_duration(given.value("max-token-ttl"));
    if (!ttl) return ttl.status().with_context("-max-token-ttl");
    method.set_max_token_ttl(ttl->count());
  }
  if (given.is_set("config")) {
    DROVER_TRY(*method.mutable_config(), config_of(run).with_context("-config"));
  }
  return ok_status();
}

int print_method(Run& run, const Answer<v1::AuthMethodResponse>& answer) {
  if (auto code = print_object(run, answer)) return *code;
  run.out << auth_method_text(answer.message.method());
  return 0;
}

int create(Run& run) {
  for (const char* needed : {"name", "type", "token-locality", "max-token-ttl", "config"}) {
    if (!run.arguments.is_set(needed)) return run.usage("-" + std::string(needed) + " is missing");
  }
  v1::ApplyAuthMethodRequest request;
  request.mutable_method()->set_name(run.arguments.value("name"));
  if (const Status status = fill(run, *request.mutable_method()); !status.ok()) return run.usage(status.message());
  const auto made = run.client.call<v1::Logins::ApplyMethod>(request);
  if (!made) return run.fail("Error creating ACL auth method", made.status());
  return print_method(run, *made);
}

int update(Run& run) {
  v1::AuthMethodRequest look;
  look.set_name(run.arguments.positional()[0]);
  const auto found = run.client.call<v1::Logins::GetMethod>(look);
  if (!found) return run.fail("Error when retrieving ACL auth method", found.status());
  v1::ApplyAuthMethodRequest request;
  request.set_name(look.name());
  *request.mutable_method() = found->message.method();
  request.mutable_method()->clear_config();  // it stays as it is: what was shown lacks its secrets
  if (const Status status = fill(run, *request.mutable_method()); !status.ok()) return run.usage(status.message());
  const auto changed = run.client.call<v1::Logins::ApplyMethod>(request);
  if (!changed) return run.fail("Error updating ACL auth method", changed.status());
  return print_method(run, *changed);
}

int erase(Run& run) {
  v1::AuthMethodRequest request;
  request.set_name(run.arguments.positional()[0]);
  const auto deleted = run.client.call<v1::Logins::DeleteMethod>(request);
  if (!deleted) return run.fail("Error deleting ACL auth method", deleted.status());
  run.out << "ACL auth method " << request.name() << " successfully deleted\n";
  return 0;
}

int info(Run& run) {
  v1::AuthMethodRequest request;
  request.set_name(run.arguments.positional()[0]);
  const auto found = run.client.call<v1::Logins::GetMethod>(request);
  if (!found) return run.fail("Error reading ACL auth method", found.status());
  return print_method(run, *found);
}

int list(Run& run) {
  const auto list = run.client.call<v1::Logins::ListMethods>({});
  if (!list) return run.fail("Error listing ACL auth methods", list.status());
  if (auto code = print_object(run, *list)) return *code;
  if (list->message.methods().empty()) {
    run.out << "No ACL auth methods found\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"Name", "Type", "Default"}};
  for (const v1::AclAuthMethodStub& method : list->message.methods())
    rows.push_back({method.name(), method.type(), yes_no(method.default_())});
  run.out << format_list(rows);
  return 0;
}

std::vector<Flag> method_flags() {
  return with_object_flags(
      {with_value("type", "", "OIDC, JWT, or the type of another plugin"),
       with_value("token-locality", "", "local or global"),
       with_value("max-token-ttl", "", "How long a token lives at most, such as 8h"),
       with_value("token-name-format", "", "The tokens' names; without: ${auth_method_type}-${auth_method_name}"),
       on_off("default", "Log in by this one where no other is named"),
       with_value("config", "", "The Config, a JSON object; @file reads a file, - standard input")});
}

}  // namespace

std::vector<Definition> auth_method_commands() {
  std::vector<Flag> create_flags = method_flags();
  create_flags.insert(create_flags.begin(), with_value("name", "", "The method's name"));
  return {{"acl auth-method create", "Creates an auth method: a way to log in.", "", "", create_flags, 0, 0, create},
          {"acl auth-method update", "Changes an auth method.", "<name>", "", method_flags(), 1, 1, update},
          {"acl auth-method delete", "Deletes an auth method.", "<name>", "", {}, 1, 1, erase},
          {"acl auth-method info", "Shows an auth method, without its secrets.", "<name>", "", with_object_flags({}), 1,
           1, info},
          {"acl auth-method list", "Lists auth methods.", "", "", with_object_flags({}), 0, 0, list}};
}

}  // namespace drover::cli

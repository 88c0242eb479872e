#include "config_secrets.h"
#include "drover/api/logins.pb.h"
#include "drover/model/listing.h"
#include "drover/v1/auth_method.pb.h"
#include "login.pb.h"
#include "method_plugins.h"
#include "redaction.h"
#include "rpc.h"
#include "stamps.h"

namespace drover::login {
namespace {

constexpr auto kProposeTime = std::chrono::seconds(30);

v1::AclAuthMethodStub entry_of(const v1::AclAuthMethod& method) {
  v1::AclAuthMethodStub entry;
  entry.set_name(method.name());
  entry.set_type(method.type());
  entry.set_default_(method.default_());
  entry.set_hash(method.hash());
  entry.set_create_index(method.create_index());
  entry.set_modify_index(method.modify_index());
  return entry;
}

v1::AuthMethodResponse shown(v1::AclAuthMethod method) {
  v1::AuthMethodResponse response;
  method.set_config(redacted(method.config()));
  method.clear_config_key_id();
  method.clear_sealed_config();
  *response.mutable_method() = std::move(method);
  return response;
}

}  // namespace

Status Rpc::declare(Declarations& declare) {
  return declare.service(
      "drover.v1.Logins",
      {method<&Rpc::list_methods>("ListMethods", this), method<&Rpc::get_method>("GetMethod", this),
       method<&Rpc::apply_method>("ApplyMethod", this), method<&Rpc::delete_method>("DeleteMethod", this),
       method<&Rpc::list_rules>("ListRules", this), method<&Rpc::get_rule>("GetRule", this),
       method<&Rpc::apply_rule>("ApplyRule", this), method<&Rpc::delete_rule>("DeleteRule", this),
       method<&Rpc::log_in>("Login", this), method<&Rpc::start_browser>("StartBrowserLogin", this),
       method<&Rpc::complete_browser>("CompleteBrowserLogin", this)});
}

void Rpc::start(Host& host, const Settings& settings) {
  host_ = &host;
  settings_ = settings;
  pending_ = std::make_unique<PendingLogins>(host.clock());
}

Status Rpc::is_on() const { return settings_.is_enabled ? ok_status() : invalid_argument("ACL support disabled"); }

Result<v1::ListAuthMethodsResponse> Rpc::list_methods(const v1::ListAuthMethodsRequest&, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  DROVER_TRY(const Listing listing, Listing::by_text(call.query()));
  v1::ListAuthMethodsResponse response;
  const auto entry = [](const Cursor& row) { return entry_of(Table<v1::AclAuthMethod>::parse(row.row())); };
  const auto each = [&](const Cursor& row) { return std::optional(entry(row)); };
  const auto add = [&](v1::AclAuthMethodStub&& one) { *response.add_methods() = std::move(one); };
  // The filter looks at what the list shows: a guess about a secret has no answer.
  DROVER_RETURN_IF_ERROR(listing.fill(call, tables_.methods, each, add, entry));
  call.set_index(call.view().table_index(tables_.methods.id()));
  return response;
}

Result<v1::AuthMethodResponse> Rpc::get_method(const v1::AuthMethodRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  auto method = tables_.methods.get(call.view(), request.name());
  if (!method) return no_method();
  call.set_index(method->modify_index());
  return shown(*std::move(method));
}

// Asks the plugin and so may wait: the command holds for the term in which it was decided.
Result<v1::AuthMethodResponse> Rpc::apply_method(const v1::ApplyAuthMethodRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  const uint64_t term = host_->term();
  const auto view = host_->snapshot();
  v1::AclAuthMethod method = request.method();
  if (method.name().empty()) method.set_name(request.name());
  if (!request.name().empty() && method.name() != request.name())
    return invalid_argument("ACL auth method name does not match request path");
  auto existing = tables_.methods.get(*view, method.name());
  if (existing) DROVER_RETURN_IF_ERROR(secrets_.open(*existing));
  if (method.config() == "null") method.clear_config();
  if (existing) complete_method(method, *existing);
  if (method.config().empty()) method.set_config("{}");
  const auto other = default_method(*view, tables_);
  AuthMethod* const plugin = plugin_of_type(*host_, method.type());
  if (plugin) method.set_type(plugin->type());
  DROVER_RETURN_IF_ERROR(check_method(method, settings_.lifetimes, plugin != nullptr,
                                      other && other->name() != method.name() ? other->name() : ""));
  DROVER_TRY(const std::string config, with_secrets(method.config(), existing ? existing->config() : ""));
  method.set_config(config);
  DROVER_TRY(const auto errors, plugin->check_config(config));
  if (!errors.empty()) return invalid_argument("auth method 0 invalid: " + auth::text_of(errors));

  method.clear_config_key_id();
  method.clear_sealed_config();
  // Everybody sees the digest. It is that of the row as answers show it: no guess of a secret can be compared with it.
  v1::AclAuthMethod bare = method;
  bare.set_config(redacted(config));
  set_servers_fields(method, std::move(bare), existing ? &*existing : nullptr, host_->clock().wall_ns());
  DROVER_RETURN_IF_ERROR(secrets_.seal(*view, method));
  v1::AclAuthMethodApplied command;
  command.set_expected_index(existing ? existing->modify_index() : 0);
  *command.mutable_method() = method;
  DROVER_TRY(const Applied applied, host_->propose(command, host_->clock().steady() + kProposeTime, term));
  set_indexes(method, existing ? &*existing : nullptr, applied.index);
  call.set_index(applied.index);
  return shown(std::move(method));
}

Result<Write<v1::LoginChangedResponse>> Rpc::delete_method(const v1::AuthMethodRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  if (!tables_.methods.get(call.view(), request.name())) return no_method();
  v1::AclAuthMethodDeleted command;
  command.set_name(request.name());
  return Write<v1::LoginChangedResponse>(command, v1::LoginChangedResponse());
}

}  // namespace drover::login

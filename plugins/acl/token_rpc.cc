#include <charconv>
#include <fstream>
#include <iterator>

#include "acl.pb.h"
#include "drover/api/acl.pb.h"
#include "drover/log.h"
#include "drover/model/listing.h"
#include "drover/sha256.h"
#include "drover/uuid.h"
#include "rpc.h"
#include "stamps.h"
#include "token_secrets.h"

namespace drover::acl {
namespace {

constexpr auto kOneTimeLife = std::chrono::minutes(10);

// The index in the file by which an operator allows another bootstrap; nothing without a file.
std::optional<uint64_t> allowed_reset(const std::string& data_dir) {
  std::ifstream file(data_dir + "/acl-bootstrap-reset");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return std::nullopt;
  uint64_t index = 0;
  std::from_chars(text.data() + begin, text.data() + text.size(), index);
  return index;
}

v1::AclTokenListStub entry_of(const v1::AclToken& token) {
  v1::AclTokenListStub entry;
  entry.set_accessor_id(token.accessor_id());
  entry.set_name(token.name());
  entry.set_type(token.type());
  *entry.mutable_policies() = token.policies();
  *entry.mutable_roles() = token.roles();
  entry.set_global(token.global());
  entry.set_hash(token.hash());
  entry.set_create_time(token.create_time());
  entry.set_expiration_time(token.expiration_time());
  entry.set_create_index(token.create_index());
  entry.set_modify_index(token.modify_index());
  return entry;
}

// The secret is no part of it: lists show it.
void set_token_hash(v1::AclToken& token) {
  v1::AclToken content = token;
  keep_secret({}, content);
  set_hash(content);
  token.set_hash(content.hash());
}

template <typename Command>
Write<v1::AclTokenResponse> stamped(const Command& command, v1::AclTokenResponse response) {
  return Write<v1::AclTokenResponse>(command, [response = std::move(response)](const Applied& applied) mutable {
    stamp(*response.mutable_token(), applied.index);
    return response;
  });
}

}  // namespace

Result<Write<v1::AclTokenResponse>> Rpc::bootstrap(const v1::BootstrapAclRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  v1::AclBootstrapped command;
  command.set_since_index(bootstrap_index(call.view(), tables_));
  if (const uint64_t index = command.since_index(); index > 0) {
    const auto allowed = allowed_reset(host_->agent().data_dir);
    if (!allowed)
      return invalid_argument("ACL bootstrap already done (reset index: " + std::to_string(index) + ")");
    if (*allowed != index)
      return invalid_argument("Invalid bootstrap reset index (specified " + std::to_string(*allowed) +
                              ", reset index: " + std::to_string(index) + ")");
  }
  v1::AclToken& token = *command.mutable_token();
  token.set_name("Bootstrap Token");
  token.set_type("management");
  token.set_global(true);
  DROVER_RETURN_IF_ERROR(complete_token(token, nullptr, settings_.lifetimes, host_->clock().wall_ns()));
  if (!request.bootstrap_secret().empty()) {
    const auto secret = Uuid::parse(request.bootstrap_secret());
    if (!secret || secret->is_zero()) return invalid_argument("invalid acl token");
    token.set_secret_id(secret->bytes());
  }
  set_token_hash(token);
  v1::AclTokenResponse response;
  *response.mutable_token() = token;
  DROVER_RETURN_IF_ERROR(secrets_.seal(call.view(), token));
  log::warn("acl", "a management token is made without one", {{"caller", call.context().remote_address}});
  return stamped(command, std::move(response));
}

Result<v1::ListAclTokensResponse> Rpc::list_tokens(const v1::ListAclTokensRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  DROVER_TRY(const Listing listing, Listing::by_id(call.query()));
  v1::ListAclTokensResponse response;
  const auto wanted = [&](const Cursor& row) -> std::optional<v1::AclTokenListStub> {
    v1::AclToken token = Table<v1::AclToken>::parse(row.row());
    if (request.global() && !token.global()) return std::nullopt;
    return entry_of(with_role_names(call.view(), tables_, std::move(token)));
  };
  const auto add = [&](v1::AclTokenListStub&& one) { *response.add_tokens() = std::move(one); };
  // The filter looks at what the list shows: a guess about a secret has no answer.
  const auto shown = [&](const Cursor& row) { return entry_of(Table<v1::AclToken>::parse(row.row())); };
  DROVER_RETURN_IF_ERROR(listing.fill(call, tables_.tokens, wanted, add, shown));
  call.set_index(call.view().table_index(tables_.tokens.id()));
  return response;
}

Result<v1::AclTokenResponse> Rpc::own_token(const v1::OwnAclTokenRequest&, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  auto token = token_of(call);
  if (!token) return not_found("ACL token not found");
  v1::AclTokenResponse response;
  DROVER_TRY(*response.mutable_token(), shown(call.view(), *std::move(token)));
  return response;
}

Result<v1::AclTokenResponse> Rpc::get_token(const v1::AclTokenRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  const auto accessor = Uuid::parse(request.accessor_id());
  auto token = accessor ? tables_.tokens.get(call.view(), accessor->bytes()) : std::nullopt;
  const bool is_own = accessor && call.context().identity.kind == Identity::Kind::token &&
                      call.context().identity.name == accessor->to_string();
  if (!is_own && !call.permissions().is_management()) return access_denied();
  if (!token) return not_found("ACL token not found");
  call.set_index(token->modify_index());
  v1::AclTokenResponse response;
  DROVER_TRY(*response.mutable_token(), shown(call.view(), *std::move(token)));
  return response;
}

Result<v1::AclToken> Rpc::shown(const ReadView& view, v1::AclToken token) const {
  DROVER_RETURN_IF_ERROR(secrets_.open(token));
  return with_role_names(view, tables_, std::move(token));
}

Status Rpc::resolve_roles(v1::AclToken& token, const ReadView& view) const {
  std::set<std::string> ids;
  for (const v1::AclTokenRoleLink& link : token.roles()) {
    const auto role = link.id().empty() ? tables_.roles.get_by(view, kRolesByName, link.name())
                                        : tables_.roles.get(view, link.id());
    if (!role)
      return invalid_argument("cannot find role " +
                              (link.id().empty() ? link.name() : Uuid::from_bytes(link.id()).to_string()));
    ids.insert(role->id());
  }
  token.clear_roles();
  for (const std::string& id : ids) token.add_roles()->set_id(id);
  return ok_status();
}

Result<Write<v1::AclTokenResponse>> Rpc::put_token(v1::AclToken token, const v1::AclToken* existing,
                                                   const ReadView& view) const {
  DROVER_RETURN_IF_ERROR(resolve_roles(token, view));
  DROVER_RETURN_IF_ERROR(complete_token(token, existing, settings_.lifetimes, host_->clock().wall_ns()));
  set_token_hash(token);
  if (existing) token.set_create_index(existing->create_index());
  v1::AclTokenResponse response;
  DROVER_TRY(*response.mutable_token(), shown(view, token));
  if (!existing) DROVER_RETURN_IF_ERROR(secrets_.seal(view, token));
  v1::AclTokenApplied command;
  *command.mutable_token() = std::move(token);
  return stamped(command, std::move(response));
}

Result<Write<v1::AclTokenResponse>> Rpc::apply_token(const v1::ApplyAclTokenRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  v1::AclToken token = request.token();
  clear_servers_fields(token);
  keep_secret({}, token);
  if (!request.accessor_id().empty()) {
    const auto accessor = Uuid::parse(request.accessor_id());
    if (!accessor || token.accessor_id() != accessor->bytes())
      return invalid_argument("ACL token accessor does not match request path");
  }
  std::optional<v1::AclToken> existing;
  if (!token.accessor_id().empty()) {
    existing = tables_.tokens.get(call.view(), token.accessor_id());
    if (!existing)
      return invalid_argument("cannot find token " + Uuid::from_bytes(token.accessor_id()).to_string());
  }
  return put_token(std::move(token), existing ? &*existing : nullptr, call.view());
}

Result<Write<v1::AclTokenResponse>> Rpc::create_login_token(const v1::CreateLoginTokenRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  v1::AclToken token;
  token.set_name(request.name());
  token.set_type(request.management() ? "management" : "client");
  token.set_global(request.global());
  token.set_expiration_ttl(request.ttl());
  if (!request.management()) {
    for (const std::string& name : std::set<std::string>(request.policies().begin(), request.policies().end())) {
      if (tables_.policies.get(call.view(), name)) token.add_policies(name);
    }
    for (const std::string& name : std::set<std::string>(request.roles().begin(), request.roles().end())) {
      if (tables_.roles.get_by(call.view(), kRolesByName, name)) token.add_roles()->set_name(name);
    }
    if (token.policies().empty() && token.roles().empty())
      return invalid_argument("no role or policy bindings matched");
  }
  return put_token(std::move(token), nullptr, call.view());
}

Result<Write<v1::AclChangedResponse>> Rpc::delete_token(const v1::AclTokenRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  const auto accessor = Uuid::parse(request.accessor_id());
  if (!accessor || !tables_.tokens.get(call.view(), accessor->bytes()))
    return invalid_argument("Cannot delete nonexistent tokens: " + request.accessor_id());
  v1::AclTokensDeleted command;
  command.add_accessor_ids(accessor->bytes());
  return Write<v1::AclChangedResponse>(command, v1::AclChangedResponse());
}

Result<Write<v1::OneTimeTokenResponse>> Rpc::make_one_time(const v1::OwnAclTokenRequest&, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  const auto token = token_of(call);
  if (!token) return access_denied();
  v1::OneTimeTokenMade command;
  v1::OneTimeToken& made = *command.mutable_one_time_token();
  made.set_one_time_secret_id(Uuid::random().bytes());
  made.set_accessor_id(token->accessor_id());
  made.set_expires_at(host_->clock().wall_ns() + std::chrono::nanoseconds(kOneTimeLife).count());
  v1::OneTimeTokenResponse response;
  *response.mutable_one_time_token() = made;
  put_away_one_time_secret(made);
  return Write<v1::OneTimeTokenResponse>(command, response);
}

Result<Write<v1::ExchangeOneTimeTokenResponse>> Rpc::exchange_one_time(
    const v1::ExchangeOneTimeTokenRequest& request, Call& call) {
  DROVER_RETURN_IF_ERROR(is_on());
  const auto made =
      tables_.one_time_tokens.get_by(call.view(), kOneTimeBySecret, sha256(request.one_time_secret_id()));
  const int64_t now = host_->clock().wall_ns();
  if (!made || now >= made->expires_at()) return access_denied();
  auto token = tables_.tokens.get(call.view(), made->accessor_id());
  if (!token || (token->expiration_time() > 0 && now >= token->expiration_time())) return access_denied();
  v1::OneTimeTokensUsed command;
  command.add_accessor_ids(made->accessor_id());
  v1::ExchangeOneTimeTokenResponse response;
  DROVER_TRY(*response.mutable_token(), shown(call.view(), *std::move(token)));
  return Write<v1::ExchangeOneTimeTokenResponse>(command, response);
}

}  // namespace drover::acl

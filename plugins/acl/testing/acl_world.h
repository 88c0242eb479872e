// Access control over a state in memory: its tables, handlers and the resolver of a server.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "acl.pb.h"
#include "drover/api/acl.pb.h"
#include "drover/api/keyring.pb.h"
#include "drover/base64url.h"
#include "drover/keyring.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/acl.pb.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "rpc.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/fake_keyring.h"
#include "server_resolver.h"
#include "token_secrets.h"

namespace drover::acl {

inline const Uuid kKey = *Uuid::parse("11111111-2222-3333-4444-555555555555");

// A token is a header that names the key, and its claims.
inline std::string signed_claims(const std::string& claims) {
  return base64url(R"({"kid":")" + kKey.to_string() + R"("})") + "." + claims;
}

class FakeKeyring final : public Keyring {
 public:
  Result<Sealed> seal(const ReadView& view, std::string_view plain, std::string_view associated) override {
    return sealing.seal(view, plain, associated);
  }
  Result<std::string> open(std::string_view key_id, std::string_view bytes, std::string_view associated) override {
    return sealing.open(key_id, bytes, associated);
  }
  Result<std::string> sign(const ReadView&, std::string_view, Algorithm) override { return unimplemented("not here"); }
  Result<std::string> verify(std::string_view token) override {
    ++verified;
    const std::string header = signed_claims("");
    if (!token.starts_with(header)) return permission_denied("token refused: the signature is not the key's");
    return std::string(token.substr(header.size()));
  }
  std::string public_keys(const ReadView&) override { return "{}"; }
  Status is_ready(const ReadView&) override { return ok_status(); }
  std::vector<std::string> retiring(const ReadView& view) override { return sealing.retiring(view); }

  drover::testing::FakeKeyring sealing;
  int verified = 0;
};

class Acl : public ::testing::Test {
 protected:
  Acl() {
    nodes_ = Table<v1::Node>(host_.rows().add_table(nodes_table().spec()));
    allocs_ = Table<v1::Allocation>(host_.rows().add_table(allocs_table().spec()));
    jobs_ = Table<v1::Job>(host_.rows().add_table(jobs_table().spec()));
    root_keys_ = Table<v1::RootKey>(host_.rows().add_table(Table<v1::RootKey>::spec(
        "root_keys", {}, [](const v1::RootKey& key, RowKeys& out) { out.primary(key.key_id()); })));
    EXPECT_TRUE(host_.rows().extend<Keyring>("keyring", keyring_).ok());
    EXPECT_TRUE(declare_tables(host_.rows(), tables_).ok());
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    put_root_key(keyring_.sealing.active, v1::ROOT_KEY_STATE_ACTIVE);
    secrets_.start(&keyring_);
    rpc_.start(host_, {.is_enabled = true});
    resolver_.start(host_, /*is_enabled=*/true);
  }

  void put_root_key(const std::string& id, v1::RootKeyState state) {
    v1::RootKey key;
    key.set_key_id(id);
    key.set_state(state);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(root_keys_.put(rows, key).ok()); });
  }
  std::vector<v1::AclToken> rows() { return tables_.tokens.list(*host_.snapshot(), kPrimary, KeyRange::all()); }

  template <typename Response, typename Request>
  Result<Response> call(const std::string& method, const Request& request) {
    return host_.answer<Response>("/drover.v1.Acl/" + method, request);
  }
  Status policy(const std::string& name, const std::string& rules) {
    v1::ApplyAclPolicyRequest request;
    request.set_name(name);
    request.mutable_policy()->set_rules(rules);
    return call<v1::AclChangedResponse>("ApplyPolicy", request).status();
  }
  Result<v1::AclTokenResponse> token(const std::function<void(v1::AclToken&)>& fill) {
    v1::ApplyAclTokenRequest request;
    request.mutable_token()->set_type("client");
    fill(*request.mutable_token());
    if (!request.token().accessor_id().empty())
      request.set_accessor_id(Uuid::from_bytes(request.token().accessor_id()).to_string());
    return call<v1::AclTokenResponse>("ApplyToken", request);
  }
  Result<v1::AclTokenResponse> token_with(const std::string& name) {
    return token([&](v1::AclToken& made) { made.add_policies(name); });
  }
  Result<Identity> resolve(const std::string& secret, const std::string& node_secret = "") {
    CallContext context;
    context.query.token = secret;
    context.node_secret = node_secret;
    return resolver_.resolve(context);
  }
  static std::string text(const std::string& bytes) { return Uuid::from_bytes(bytes).to_string(); }

  drover::testing::FakeHost host_;
  Tables tables_;
  Table<v1::Node> nodes_;
  Table<v1::Allocation> allocs_;
  Table<v1::Job> jobs_;
  Table<v1::RootKey> root_keys_;
  FakeKeyring keyring_;
  ServerResolver resolver_{tables_};
  TokenSecrets secrets_;
  Rpc rpc_{tables_, resolver_, secrets_};
};

}  // namespace drover::acl

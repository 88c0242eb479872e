// Calls every method that has no form in the HTTP API at a server's RPC port, as every kind of caller, and compares
// the answer with the rule that the method declares: "Permission denied" and nothing more for who may not, anything
// else for who may. Methods of nodes are asked for at the server, which passes them on or does not.
//
//   rpc_matrix SOURCES RPC-ADDRESS MANAGEMENT-TOKEN KEY=VALUE…
//
// Keys: node_id and alloc_id, a node and what runs there; other_id and other_identity, another node and its proof;
// workload, a task's identity; ca, and server_cert, server_key, node_cert, node_key where agents use TLS.
#include <chrono>
#include <iostream>
#include <map>
#include <set>

#include "callers.h"
#include "declarations.h"
#include "drover/api/acl.pb.h"
#include "drover/options.pb.h"
#include "drover/uuid.h"
#include "drover/v1/acl.pb.h"
#include "rpc_port.h"

namespace drover::matrix {
namespace {

namespace pb = google::protobuf;
using Names = std::map<std::string, std::string>;

// A caller, the node and the allocation that it speaks of, and how it shows its proof.
struct Asker {
  Caller who;
  std::string node_id, alloc_id, secret;  // of the request's fields; as bytes
  bool is_node_proof = false;             // travels where agents put it, not as a token
  bool is_about_others = false;           // a node that speaks of what is not its own
};

// One end of connections, by what it proves itself by.
struct From {
  std::string name;
  RpcPort& port;
  bool is_server;
};

CallContext context_of(const std::string& method) {
  CallContext context;
  context.method = method;
  context.query.region = "global";
  context.query.stale = true;
  context.deadline = SystemClock().steady() + std::chrono::seconds(20);
  return context;
}

std::string path_of(const pb::MethodDescriptor& method) {
  return "/" + method.service()->full_name() + "/" + method.name();
}

std::string bytes_of(const std::string& uuid) {
  const auto parsed = Uuid::parse(uuid);
  return parsed ? parsed->bytes() : "";
}

bool has_field(const pb::Descriptor& type, const std::string& name) { return type.FindFieldByName(name) != nullptr; }

// The message that names a node: the request, or its field "name".
const pb::Descriptor& naming_part(const pb::Descriptor& request) {
  const pb::FieldDescriptor* name = request.FindFieldByName("name");
  return name && name->message_type() ? *name->message_type() : request;
}

void fill(pb::Message& message, const Asker& asker) {
  const auto set = [&](const char* name, const std::string& bytes) {
    const pb::FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
    if (field && field->type() == pb::FieldDescriptor::TYPE_BYTES && !field->is_repeated())
      message.GetReflection()->SetString(&message, field, bytes);
  };
  set("node_id", asker.node_id);
  set("alloc_id", asker.alloc_id);
  set("secret_id", asker.secret);
  const pb::FieldDescriptor* name = message.GetDescriptor()->FindFieldByName("name");
  if (name && name->message_type()) fill(*message.GetReflection()->MutableMessage(&message, name), asker);
}

class Matrix {
 public:
  Matrix(const std::string& sources, RpcPort& port, std::string management, Names there)
      : declared_(sources), port_(port), management_(std::move(management)), there_(std::move(there)) {
    if (!declared_.problems().empty()) fail(declared_.problems());
  }

  void run(const std::vector<From>& ends) {
    const std::vector<Asker> askers = all_askers();
    for (const pb::MethodDescriptor* method : declared_.methods()) {
      for (const From& end : ends) {
        for (const Asker& asker : askers) check(*method, end, asker);
      }
    }
    std::cout << checks_ << " calls of " << declared_.methods().size() << " methods by " << askers.size()
              << " kinds of callers from " << ends.size() << " kinds of agents\n";
  }
  int failures() const { return failures_; }
  int checks() const { return checks_; }

 private:
  template <typename Response>
  Response as_management(const std::string& method, const pb::Message& request) {
    CallContext context = context_of("/drover.v1.Acl/" + method);
    context.query.token = management_;
    const auto answer = port_.call(context, request.SerializeAsString());
    if (!answer) fail(method + ": " + answer.status().to_string());
    Response response;
    if (answer && !response.ParseFromString(*answer)) fail(method + ": an answer that cannot be read");
    return response;
  }
  std::string make_token(const Caller& caller, const std::string& name, std::chrono::nanoseconds life = {}) {
    v1::ApplyAclPolicyRequest policy;
    policy.set_name(name);
    policy.mutable_policy()->set_name(name);
    policy.mutable_policy()->set_rules(caller.policy);
    (void)as_management<v1::AclChangedResponse>("ApplyPolicy", policy);
    v1::ApplyAclTokenRequest token;
    token.mutable_token()->set_type("client");
    token.mutable_token()->add_policies(name);
    token.mutable_token()->set_expiration_ttl(life.count());
    const auto made = as_management<v1::AclTokenResponse>("ApplyToken", token);
    return Uuid::from_bytes(made.token().secret_id()).to_string();
  }
  std::string expired_token(const Caller& caller) {
    const std::string made = make_token(caller, "short", std::chrono::seconds(1));
    CallContext question = context_of("/drover.v1.Acl/GetOwnToken");
    question.query.token = made;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (port_.call(question, "").ok()) {
      if (std::chrono::steady_clock::now() > until) return fail("a token outlives its time"), made;
    }
    return made;
  }

  std::vector<Asker> all_askers() {
    const std::string node = bytes_of(there_["node_id"]), alloc = bytes_of(there_["alloc_id"]);
    const std::string other = bytes_of(there_["other_id"]), proof = there_["other_identity"];
    std::vector<Caller> people = callers_with_policies();
    for (size_t i = 0; i < people.size(); ++i) people[i].token = make_token(people[i], "rpc-" + std::to_string(i));
    const auto bad = [](std::string name, std::string token) {
      return Caller{.name = std::move(name), .policy = "", .token = std::move(token), .identity = {}, .is_good = false};
    };
    const std::string expired = expired_token(people[0]);
    people.push_back(bad("an expired token", expired));
    people.push_back(bad("an unknown token", Uuid::random().to_string()));
    people.push_back(bad("a forged identity", "eyJhbGciOiJub25lIn0.e30."));
    people.push_back({.name = "nobody", .policy = "", .token = "", .identity = {}});
    people.push_back({.name = "a task", .policy = "", .token = there_["workload"], .identity = {Identity::Kind::workload, ""}});
    people.push_back({.name = "management",
                      .policy = "",
                      .token = management_,
                      .identity = {Identity::Kind::management, "", all_permissions()}});
    std::vector<Asker> all;
    for (Caller& each : people) all.push_back({.who = std::move(each), .node_id = node, .alloc_id = alloc, .secret = ""});
    const auto a_node = [&](const char* name, const std::string& shown) {
      return Caller{.name = name, .policy = "", .token = shown, .identity = {Identity::Kind::client, there_["other_id"]}};
    };
    const std::string none = Uuid::random().bytes();  // an allocation that there is not
    all.push_back({a_node("a node about itself", proof), other, none, proof, true, false});
    all.push_back({a_node("a node, with a token, about itself", proof), other, none, proof, false, false});
    all.push_back({a_node("a node about another one", proof), node, alloc, proof, true, true});
    all.push_back({a_node("a node about another's allocation", proof), other, alloc, proof, true, true});
    Caller forged = bad("a node that is none", Uuid::random().to_string());
    all.push_back({std::move(forged), other, none, proof, true, false});
    return all;
  }

  void check(const pb::MethodDescriptor& method, const From& end, const Asker& asker) {
    const auto request = declared_.request_of(method);
    fill(*request, asker);
    CallContext context = context_of(path_of(method));
    (asker.is_node_proof ? context.node_secret : context.query.token) = asker.who.token;
    const auto answer = end.port.call(context, request->SerializeAsString());
    ++checks_;
    const std::string what = path_of(method) + " from " + end.name + " by " + asker.who.name + ": " +
                             (answer ? "an answer" : answer.status().to_string());
    const Status& status = answer.status();
    if (status.code() == Code::deadline_exceeded) return fail(what);
    if (status.code() == Code::unimplemented) return fail(what + ", where it was declared for this agent");
    const bool is_denied = status.code() == Code::permission_denied;
    if (may(method, end, asker)) {
      if (is_denied && !looks_further(method, asker)) fail(what + ", although it may");
      return;
    }
    if (!is_denied && !is_nothing_there(method, asker, answer)) return fail(what + ", although it may not");
    if (is_denied && (status.message() != "Permission denied" || !status.details().empty()))
      fail(what + ", which says too much");
  }

  // A caller does not see it, so for that caller it is not there.
  static bool is_nothing_there(const pb::MethodDescriptor& method, const Asker& asker,
                               const Result<std::string>& answer) {
    const bool is_not_found = answer.status().code() == Code::not_found;
    if (method.options().GetExtension(drover::access).of_object()) return is_not_found;
    // The allocation of another node has no claim here; one that is none is released already.
    if (method.service()->name() != "CsiClaims" || !asker.is_about_others) return false;
    return is_not_found || (method.name() == "Released" && answer.ok() && answer->empty());
  }

  // From the declaration: the rule, and that a node speaks of what is its own.
  bool may(const pb::MethodDescriptor& method, const From& end, const Asker& asker) const {
    const Access& rule = method.options().GetExtension(drover::access);
    if (rule.anyone()) return true;
    if (!asker.who.is_good) return false;
    const pb::Descriptor& named = naming_part(*method.input_type());
    const bool is_for_nodes = rule.client() && has_field(named, "node_id");
    const bool is_about_alloc = asker.node_id == bytes_of(there_.at("other_id"));
    if (is_for_nodes && asker.is_about_others && (!is_about_alloc || has_field(named, "alloc_id"))) return false;
    CallContext context;
    context.identity = asker.who.identity;
    context.from_server = end.is_server;
    return allows(rule, context, "default");
  }

  // The rule lets callers in, and the handler looks further.
  static bool looks_further(const pb::MethodDescriptor& method, const Asker& asker) {
    const pb::Descriptor& named = naming_part(*method.input_type());
    const bool is_node = asker.who.identity.kind == Identity::Kind::client;
    // A node carries its proof once more in such a message: who is no node has none, and without an allocation there is
    // none that is the node's.
    if (has_field(named, "secret_id") && (!is_node || has_field(named, "alloc_id"))) return true;
    static const std::set<std::string> kMethods = {
        "Registers with a secret of its own: NodeRegistry.Register",
        "Tasks without isolation need a second right: ClientAllocations.Exec",
    };
    const std::string name = method.service()->name() + "." + method.name();
    for (const std::string& each : kMethods) {
      if (each.ends_with(": " + name)) return true;
    }
    return false;
  }

  void fail(const std::string& text) {
    ++failures_;
    std::cerr << text << "\n";
  }

  Declarations declared_;
  RpcPort& port_;
  const std::string management_;
  Names there_;
  int checks_ = 0, failures_ = 0;
};

}  // namespace
}  // namespace drover::matrix

int main(int count, char** words) {
  using namespace drover::matrix;
  if (count < 4) {
    std::cerr << "rpc_matrix SOURCES RPC-ADDRESS MANAGEMENT-TOKEN KEY=VALUE…\n";
    return 2;
  }
  std::map<std::string, std::string> there;
  for (int i = 4; i < count; ++i) {
    const std::string word = words[i];
    there[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  }
  const std::string address = words[2];
  RpcPort server(address, {there["ca"], there["server_cert"], there["server_key"]});
  RpcPort node(address, {there["ca"], there["node_cert"], there["node_key"]});
  std::vector<From> ends = {{"a server", server, true}};
  // Without TLS whoever reaches the port speaks as a server.
  ends.push_back({"a node", node, there["ca"].empty()});
  Matrix matrix(words[1], server, words[3], there);
  matrix.run(ends);
  if (matrix.checks() < 4000) std::cerr << "there were " << matrix.checks() << " calls only\n";
  return matrix.failures() == 0 && matrix.checks() >= 4000 ? 0 : 1;
}

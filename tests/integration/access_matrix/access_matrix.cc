// Calls every form of the HTTP API as every kind of caller, and compares the answer with the rule that the method
// declares: 403 "Permission denied" and not a byte more for who may not, anything else for who may.
//
//   access_matrix ADDRESS MANAGEMENT-TOKEN KEY=VALUE…
//
// Keys: fields of requests and what is there (alloc_id, node_id, job_id); node_identity and workload, two proofs.
//
// Callers that may call get names that are not there where a call would change something.
#include <curl/curl.h>
#include <google/protobuf/descriptor.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "callers.h"
#include "drover/api_descriptors.h"
#include "drover/options.pb.h"
#include "drover/uuid.h"

namespace drover::matrix {
namespace {

using nlohmann::json;
using Names = std::map<std::string, std::string>;

struct Answer {
  long status = 0;
  std::string body;
};

size_t take(char* bytes, size_t one, size_t count, void* body) {
  static_cast<std::string*>(body)->append(bytes, one * count);
  return one * count;
}

class Api {
 public:
  explicit Api(std::string address) : address_(std::move(address)), curl_(curl_easy_init()) {}
  ~Api() { curl_easy_cleanup(curl_); }

  // A stream that goes on is left after a moment.
  Answer call(const std::string& verb, const std::string& path, const std::string& token, const std::string& body) {
    Answer answer;
    curl_easy_reset(curl_);
    curl_easy_setopt(curl_, CURLOPT_URL, (address_ + path).c_str());
    curl_easy_setopt(curl_, CURLOPT_CUSTOMREQUEST, verb.c_str());
    if (verb != "GET" && verb != "DELETE") curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body.c_str());
    curl_slist* headers = nullptr;
    if (!token.empty()) headers = curl_slist_append(headers, ("X-Nomad-Token: " + token).c_str());
    curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &answer.body);
    curl_easy_setopt(curl_, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl_, CURLOPT_TIMEOUT_MS, 6000L);
    (void)curl_easy_perform(curl_);
    curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &answer.status);
    curl_slist_free_all(headers);
    return answer;
  }

 private:
  const std::string address_;
  CURL* const curl_;
};

struct Form {
  const google::protobuf::MethodDescriptor* method;
  Http http;
  std::string verb, path;
};

void add_forms(const google::protobuf::MethodDescriptor& method, const Http& http, std::vector<Form>& forms) {
  const auto add = [&](const char* verb, const std::string& path) {
    if (!path.empty()) forms.push_back({&method, http, verb, path});
  };
  add("GET", http.get());
  add("PUT", http.write());
  add("POST", http.write());
  add("PUT", http.put());
  add("POST", http.post());
  add("DELETE", http.delete_());
  add("GET", http.any());
  for (const Http& other : http.also()) add_forms(method, other, forms);
}

std::vector<Form> all_forms() {
  std::vector<Form> forms;
  google::protobuf::FileDescriptorSet files;
  if (!files.ParseFromArray(api_descriptors().data(), static_cast<int>(api_descriptors().size()))) return forms;
  for (const auto& file : files.file()) {
    const auto* found = google::protobuf::DescriptorPool::generated_pool()->FindFileByName(file.name());
    for (int s = 0; found && s < found->service_count(); ++s) {
      for (int m = 0; m < found->service(s)->method_count(); ++m) {
        const auto& method = *found->service(s)->method(m);
        // Conversations begin with an upgrade of the connection; router_stream_test has them.
        if (method.options().HasExtension(drover::http) && !method.client_streaming())
          add_forms(method, method.options().GetExtension(drover::http), forms);
      }
    }
  }
  return forms;
}

// "/v1/job/{job_id=**}/plan" with names for the parts in braces.
std::string filled(const Form& form, const Names& names) {
  std::string path;
  for (size_t at = 0; at < form.path.size();) {
    const size_t open = std::min(form.path.find('{', at), form.path.size());
    path += form.path.substr(at, open - at);
    if (open == form.path.size()) break;
    const size_t close = form.path.find('}', open);
    std::string field = form.path.substr(open + 1, close - open - 1);
    field = field.substr(0, field.find('='));
    const auto known = names.find(field);
    path += known != names.end() ? known->second : Uuid::random().to_string();
    at = close + 1;
  }
  // Methods of a node are told which, where the path does not say it.
  const auto& route = form.method->options().GetExtension(drover::route);
  const bool is_of_node = route.target() == Route::NODE || !route.node_field().empty();
  const auto says = [&](const char* part) { return form.path.find(part) != std::string::npos; };
  const bool says_it = says("{node_id}") || says("{alloc_id}");
  if (const auto node = names.find("node_id"); is_of_node && !says_it && node != names.end())
    path += "?node_id=" + node->second;
  if (!form.http.query().empty()) path += (path.find('?') == std::string::npos ? "?" : "&") + form.http.query();
  return path;
}

class Matrix {
 public:
  Matrix(Api& api, std::string management, Names there)
      : api_(api), management_(std::move(management)), there_(std::move(there)) {}

  void run() {
    const std::vector<Caller> callers = all_callers();
    for (const Form& form : all_forms()) {
      for (const Caller& caller : callers) check(form, caller);
    }
    std::cout << checks_ << " calls of " << forms_.size() << " forms by " << callers.size() << " kinds of callers\n";
  }
  int failures() const { return failures_; }
  int checks() const { return checks_; }

 private:
  std::string make_token(const Caller& caller, size_t number) {
    const std::string name = "only-" + std::to_string(number);
    const Answer made = api_.call("PUT", "/v1/acl/policy/" + name, management_,
                                  json{{"Name", name}, {"Rules", caller.policy}}.dump());
    if (made.status != 200) fail("the policy of " + caller.name + " is refused: " + made.body);
    return token(json{{"Name", name}, {"Type", "client"}, {"Policies", {name}}});
  }
  std::string token(const json& wanted) {
    const Answer made = api_.call("PUT", "/v1/acl/token", management_, wanted.dump());
    const json said = json::parse(made.body, nullptr, false);
    if (made.status != 200 || !said.is_object()) return fail("no token: " + made.body), "";
    return said["SecretID"].get<std::string>();
  }
  std::string expired_token() {
    const json wanted = {{"Name", "short"}, {"Type", "client"}, {"Policies", {"only-0"}}, {"ExpirationTTL", "1s"}};
    const std::string made = token(wanted);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (api_.call("GET", "/v1/acl/token/self", made, "").status == 200) {
      if (std::chrono::steady_clock::now() > deadline) return fail("a token outlives its time"), "";
    }
    return made;
  }

  std::vector<Caller> all_callers() {
    std::vector<Caller> all = callers_with_policies();
    for (size_t i = 0; i < all.size(); ++i) all[i].token = make_token(all[i], i);
    const auto bad = [](std::string name, std::string token) {
      return Caller{.name = std::move(name), .policy = "", .token = std::move(token), .identity = {}, .is_good = false};
    };
    all.push_back({.name = "nobody", .policy = "", .token = "", .identity = {}});
    all.push_back(bad("an unknown token", Uuid::random().to_string()));
    all.push_back(bad("no token at all", "not-a-token"));
    all.push_back(bad("a forged identity", "eyJhbGciOiJub25lIn0.e30."));
    all.push_back(bad("an expired token", expired_token()));
    if (const std::string& shown = there_["node_identity"]; !shown.empty())
      all.push_back({.name = "a node", .policy = "", .token = shown, .identity = {Identity::Kind::client, ""}});
    if (const std::string& shown = there_["workload"]; !shown.empty())
      all.push_back({.name = "a task", .policy = "", .token = shown, .identity = {Identity::Kind::workload, ""}});
    all.push_back({.name = "management",
                   .policy = "",
                   .token = management_,
                   .identity = {Identity::Kind::management, "", all_permissions()}});
    return all;
  }

  // A request that carries a job is about the job's namespace, which is that of the calls.
  static bool has_job(const google::protobuf::MethodDescriptor& method) {
    const auto* job = method.input_type()->FindFieldByName("job");
    return job && job->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE;
  }
  // A job of which nothing will ever run.
  static std::string body_of(const google::protobuf::MethodDescriptor& method) {
    if (!has_job(method)) return "{}";
    const json task = {{"Name", "t"}, {"Driver", "raw_exec"}, {"Config", {{"command", "/bin/true"}}}};
    const json group = {{"Name", "g"}, {"Count", 0}, {"Tasks", {task}}};
    return json{{"Job", {{"ID", "matrix"}, {"Namespace", "default"}, {"Datacenters", {"*"}}, {"TaskGroups", {group}}}}}
        .dump();
  }

  static bool expects(const google::protobuf::MethodDescriptor& method, const Caller& caller) {
    const Access& rule = method.options().GetExtension(drover::access);
    if (rule.anyone()) return true;
    if (!caller.is_good) return false;
    CallContext context;
    context.identity = caller.identity;
    return allows(rule, context, rule.of_object() && !has_job(method) ? "*" : "default");
  }

  void check(const Form& form, const Caller& caller) {
    const Access& rule = form.method->options().GetExtension(drover::access);
    const bool may = expects(*form.method, caller);
    const bool changes = form.verb != "GET";
    Names names = may && changes ? Names() : there_;
    if (has_job(*form.method)) names["job_id"] = "matrix";
    const Answer answer = api_.call(form.verb, filled(form, names), caller.token, body_of(*form.method));
    const std::string what = form.verb + " " + form.path + " by " + caller.name + ": " +
                             std::to_string(answer.status) + " " + answer.body.substr(0, 200);
    forms_.insert(form.verb + form.path + form.http.query());
    ++checks_;
    if (answer.status == 0) return fail(what + "no answer");
    const bool is_of_another = caller.identity.kind == Identity::Kind::client;  // a node asks about itself only
    const bool is_decided_here = !is_of_another && !decides_itself(*form.method);
    if (may && answer.status == 403 && is_decided_here) return fail(what + ", although it may");
    if (may) return;
    if (answer.status == 501) return;                      // agents of another role answer it
    if (rule.of_object() && !has_job(*form.method) && answer.status == 404) return;  // what the caller does not see is not there
    if (answer.status != 403) return fail(what + ", although it may not");
    if (answer.body != "Permission denied" && answer.body != "Permission denied\n")
      fail(what + ", which says too much");
  }

  // The rule lets callers in, and the handler looks further: at the namespace or the path of what it found, at the
  // content of a job, at whose token it is, for a second right.
  static bool decides_itself(const google::protobuf::MethodDescriptor& method) {
    static const std::set<std::string> kMethods = {
        "Acl.GetPolicy",        "Acl.GetToken",             "Acl.GetRole",       "Acl.GetOwnToken",
        "Acl.MakeOneTimeToken", "Acl.ExchangeOneTimeToken", "Variables.Read",    "Variables.Apply",
        "Variables.Delete",     "Variables.History",        "Variables.Rollback",
        "Namespaces.Get",       "AgentInformation.Profile", "Volumes.Delete",    "Volumes.Detach",
        "Volumes.CreateSnapshots", "Volumes.DeleteSnapshot", "ClientDisk.Snapshot"};
    return kMethods.contains(method.service()->name() + "." + method.name()) ||
           (method.options().GetExtension(drover::access).of_object() && !has_job(method));
  }

  void fail(const std::string& text) {
    ++failures_;
    std::cerr << text << "\n";
  }

  Api& api_;
  const std::string management_;
  Names there_;
  std::set<std::string> forms_;
  int checks_ = 0, failures_ = 0;
};

}  // namespace
}  // namespace drover::matrix

int main(int count, char** words) {
  if (count < 3) {
    std::cerr << "access_matrix ADDRESS MANAGEMENT-TOKEN KEY=VALUE…\n";
    return 2;
  }
  std::map<std::string, std::string> there;
  for (int i = 3; i < count; ++i) {
    const std::string word = words[i];
    there[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
  }
  curl_global_init(CURL_GLOBAL_DEFAULT);
  drover::matrix::Api api(words[1]);
  drover::matrix::Matrix matrix(api, words[2], there);
  matrix.run();
  if (matrix.checks() < 5000) std::cerr << "there were " << matrix.checks() << " calls only\n";
  return matrix.failures() == 0 && matrix.checks() >= 5000 ? 0 : 1;
}

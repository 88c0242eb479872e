#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "drover/json.h"
#include "drover/options.pb.h"
#include "rules/compiled.h"
#include "rules/policy.h"

void fuzz_policy(std::string_view text);

namespace drover::acl {
namespace {

// The shorthand of the table below. Policies of one token are divided by " + ", blocks of one policy by " ; ".
//   n:NAME{word}[capabilities]   namespace
//   v:NAMESPACE/PATH[…]          variables
//   h:NAME{word}[…]              host volume
//   node{word}, agent{word} …    areas
std::string hcl_block(const std::string& text) {
  const size_t word = text.find('{'), list = text.find('[');
  const std::string head = text.substr(0, std::min(word, list));
  std::string body;
  if (word != std::string::npos) {
    std::string value = text.substr(word + 1, text.find('}') - word - 1);
    if (value == "r") value = "read";
    if (value == "w") value = "write";
    if (value == "s") value = "scale";
    if (value == "d") value = "deny";
    body += "policy = \"" + value + "\"\n";
  }
  if (list != std::string::npos) {
    std::stringstream names(text.substr(list + 1, text.find(']') - list - 1));
    body += "capabilities = [";
    for (std::string name; std::getline(names, name, ',');) body += "\"" + name + "\", ";
    body += "]\n";
  }
  const std::string name = head.substr(head.find(':') + 1);
  const auto full = [](const std::string& n) { return n == "d" ? std::string("default") : n; };
  if (head.starts_with("n:")) return "namespace \"" + full(name) + "\" {\n" + body + "}\n";
  if (head.starts_with("h:")) return "host_volume \"" + name + "\" {\n" + body + "}\n";
  if (head.starts_with("v:")) {
    const size_t slash = name.find('/');
    return "namespace \"" + full(name.substr(0, slash)) + "\" {\nvariables {\npath \"" + name.substr(slash + 1) +
           "\" {\n" + body + "}\n}\n}\n";
  }
  return head + " {\n" + body + "}\n";
}

std::vector<std::string> parts(std::string text, const std::string& divider) {
  std::vector<std::string> all;
  for (size_t at; (at = text.find(divider)) != std::string::npos; text.erase(0, at + divider.size()))
    all.push_back(text.substr(0, at));
  all.push_back(text);
  return all;
}

Compiled compiled(const std::string& shorthand, std::optional<Workload> workload = {}) {
  std::vector<PolicyRules> policies;
  for (const std::string& policy : parts(shorthand, " + ")) {
    std::string text;
    for (const std::string& block : parts(policy, " ; ")) {
      if (!block.empty()) text += hcl_block(block);
    }
    auto rules = parse_policy(text);
    EXPECT_TRUE(rules.ok()) << text << rules.status().message();
    if (rules) policies.push_back(*std::move(rules));
  }
  return Compiled(policies, std::move(workload));
}

// "submit-job@d", "see@d", "node read", "mount-rw x", "variable read@default/x".
bool answer(const Compiled& token, const std::string& question) {
  const size_t space = question.find(' ');
  const std::string subject = question.substr(0, space);
  const std::string rest = space == std::string::npos ? "" : question.substr(space + 1);
  if (subject == "mount-ro") return token.may_mount(rest, false);
  if (subject == "mount-rw") return token.may_mount(rest, true);
  const auto grant = rest == "list" ? Grant::list : rest == "read" ? Grant::read : Grant::write;
  if (subject == "node") return token.granted(Area::node) >= grant;
  if (subject == "agent") return token.granted(Area::agent) >= grant;
  if (subject == "plugin") return token.granted(Area::plugin) >= grant;
  const auto full = [](const std::string& n) { return n == "d" ? std::string("default") : n; };
  if (subject == "variable") {
    const size_t at = rest.find('@'), slash = rest.find('/', at);
    const std::string word = rest.substr(0, at);
    const auto right = word == "list"    ? Access::VARIABLE_LIST
                       : word == "read"  ? Access::VARIABLE_READ
                       : word == "write" ? Access::VARIABLE_WRITE
                                         : Access::VARIABLE_DESTROY;
    return token.may_variable(full(rest.substr(at + 1, slash - at - 1)), rest.substr(slash + 1), right);
  }
  const size_t at = question.find('@');
  const std::string name_space = full(question.substr(at + 1)), word = question.substr(0, at);
  if (word == "see") return token.may_see(name_space);
  const auto* all = google::protobuf::GetEnumDescriptor<Access::Capability>();
  for (int i = 1; i < all->value_count(); ++i) {
    if (json_word(*all->value(i)) == word)
      return token.may(static_cast<Access::Capability>(all->value(i)->number()), name_space);
  }
  ADD_FAILURE() << "no such question: " << question;
  return false;
}

TEST(Decisions, AreThoseOfTheTable) {
  const struct {
    const char* policies;
    std::vector<std::pair<const char*, bool>> answers;
  } cases[] = {
      {"n:d{r}", {{"read-job@d", true}, {"submit-job@d", false}, {"read-job@other", false}, {"list-jobs@*", true}}},
      {"n:d{w}",
       {{"alloc-exec@d", true},
        {"alloc-node-exec@d", false},
        {"csi-register-plugin@d", false},
        {"sentinel-override@d", false},
        {"csi-mount-volume@d", true}}},
      {"n:d{s}",
       {{"scale-job@d", true},
        {"read-job-scaling@d", true},
        {"read-job@d", false},
        {"submit-recommendation@d", false}}},
      {"n:d{r}", {{"host-volume-read@d", true}, {"host-volume-create@d", false}}},
      {"n:d{w}", {{"host-volume-create@d", true}, {"host-volume-register@d", false}, {"host-volume-delete@d", false}}},
      {"n:d[host-volume-create]", {{"host-volume-read@d", true}, {"host-volume-register@d", false}}},
      {"n:d[host-volume-register]",
       {{"host-volume-read@d", true}, {"host-volume-create@d", true}, {"host-volume-delete@d", false}}},
      {"n:d[host-volume-delete]", {{"host-volume-read@d", false}}},
      {"n:d[host-volume-write]",
       {{"host-volume-read@d", true},
        {"host-volume-register@d", true},
        {"host-volume-delete@d", true},
        {"csi-write-volume@d", false}}},
      {"n:d[read-job]", {{"list-jobs@d", false}}},
      {"n:d[submit-job]", {{"parse-job@d", false}}},
      {"n:d[submit-job,deny]", {{"submit-job@d", false}}},
      {"n:d{w}[deny]", {{"submit-job@d", false}}},
      {"n:d{r} ; n:d[submit-job]", {{"submit-job@d", true}, {"read-job@d", true}}},
      {"n:d[submit-job] + n:d{d} + n:d{w}", {{"submit-job@d", false}}},
      {"n:d", {{"see@d", false}}},
      {"n:*{r} + n:prod{d}", {{"read-job@prod", false}, {"read-job@dev", true}, {"read-job@*", true}}},
      {"n:prod-*{d} + n:prod-api{w}", {{"submit-job@prod-api", true}, {"list-jobs@prod-web", false}}},
      {"n:d{w} ; n:def*{d}", {{"submit-job@d", true}}},
      {"n:*{d} ; n:d[list-jobs]", {{"list-jobs@d", true}, {"list-jobs@*", true}, {"see@x", false}}},
      {"n:prod*{r} + n:prod-*{d}", {{"read-job@prod-1", false}, {"read-job@prod1", true}}},
      {"n:prod-*{w} + n:*-api{d}", {{"submit-job@prod-api", true}}},
      {"n:a*{w} + n:*a{d}", {{"submit-job@aba", true}}},
      {"n:a*{d} + n:*a{w}", {{"submit-job@aba", false}}},
      {"n:a*c{r}", {{"read-job@ac", true}, {"read-job@abcd", false}}},
      {"node{w} + node{d}", {{"node read", false}}},
      {"node{r} + node{w}", {{"node write", true}}},
      {"plugin{list}", {{"plugin read", false}, {"plugin list", true}}},
      {"plugin{list} + plugin{r}", {{"plugin read", true}}},
      {"agent{r} ; node{d}", {{"agent read", true}, {"node read", false}}},
      {"agent{r} + agent{d}", {{"agent read", false}}},
      {"h:prod-*{r} + h:prod-db[mount-readwrite]",
       {{"mount-ro prod-db", true}, {"mount-rw prod-db", true}, {"mount-ro prod-x", true}, {"mount-rw prod-x", false}}},
      {"h:*{d} ; h:data{r}", {{"mount-ro data", true}, {"mount-ro x", false}}},
      {"n:d{w}", {{"variable read@d/x", false}}},
      {"v:d/x[read]",
       {{"variable list@d/x", true}, {"variable write@d/x", false}, {"variable read@d/x/y", false}, {"see@d", false}}},
      {"v:d/x/*[write]",
       {{"variable write@d/x/a/b", true},
        {"variable write@d/x", false},
        {"variable read@d/x/1", false},
        {"variable destroy@d/x/1", false}}},
      {"v:d/x[deny,read]", {{"variable read@d/x", false}}},
      {"v:d/x[deny] + v:d/x[read]", {{"variable read@d/x", false}}},
      {"v:d/x[deny] ; v:d/x[read]", {{"variable read@d/x", false}}},
      {"v:d/*[read] ; v:d/secret/*[deny]", {{"variable read@d/secret/a", false}, {"variable read@d/other", true}}},
      {"n:d{d} ; v:d/x[read]", {{"variable read@d/x", true}}},
      {"v:*/app/*[write] ; v:prod/*[read]", {{"variable write@prod/app/1", false}, {"variable read@prod/app/1", true}}},
      {"v:*/application/*[write] ; v:prod/*[read]",
       {{"variable write@prod/application/1", true}, {"variable read@prod/application/1", false}}},
      {"v:n/a/*[read] ; v:n/*/b[deny]", {{"variable read@n/a/b", true}}},
      {"", {{"list-jobs@d", false}, {"node read", false}, {"variable list@d/x", false}}},
  };
  for (const auto& c : cases) {
    const Compiled token = compiled(c.policies);
    for (const auto& [question, allowed] : c.answers)
      EXPECT_EQ(answer(token, question), allowed) << c.policies << " : " << question;
  }
}

TEST(Decisions, OfTasksBeginWithTheirOwnVariables) {
  const Workload web{"default", "web", "g", "t"};
  const struct {
    const char* policies;
    const char* question;
    bool allowed;
  } cases[] = {
      {"", "variable read@d/nomad/jobs", true},
      {"", "variable read@d/nomad/jobs/web", true},
      {"", "variable list@d/nomad/jobs/web/g/t", true},
      {"", "variable read@d/nomad/jobs/web/g/u", false},
      {"", "variable write@d/nomad/jobs/web", false},
      {"", "variable read@d/nomad/jobs/web2", false},
      {"", "variable read@prod/nomad/jobs/web", false},
      {"v:d/nomad/jobs/web[deny]", "variable read@d/nomad/jobs/web", false},
      {"v:d/nomad/jobs/*[deny]", "variable read@d/nomad/jobs/web", true},
      {"v:*/nomad/jobs/web[deny]", "variable read@d/nomad/jobs/web", true},
      {"v:d/nomad/jobs/web[write]", "variable read@d/nomad/jobs/web", false},
      {"v:d/nomad/jobs/web[write]", "variable write@d/nomad/jobs/web", true},
      {"v:d/nomad/jobs/*[write]", "variable write@d/nomad/jobs/web", true},
      {"", "read-job@d", false},
  };
  for (const auto& c : cases)
    EXPECT_EQ(answer(compiled(c.policies, web), c.question), c.allowed) << c.policies << " : " << c.question;
}

TEST(Policies, SayWhatIsWrong) {
  const struct {
    const char* text;
    const char* problem;
  } cases[] = {
      {"", ""},
      {R"({"namespace":{"default":{"policy":"read"}}})", ""},
      {R"({"namespace":[{"default":[{"policy":"read"}]}],"node":{"policy":"write"}})", ""},
      {"namespace \"default\" { policy = \"reed\" }", "Invalid namespace policy: \"reed\""},
      {"namespace \"a b\" { policy = \"read\" }", "Invalid namespace name: \"a b\""},
      {"namespace \"d\" { capabilities = [\"fly\"] }", "Invalid namespace capability 'fly'"},
      {"namespace { policy = \"read\" }", "policy:1"},
      {"namespace \"d\" { polcy = \"deny\" }", "policy:1"},
      {"namespace \"d\" { variables { } }", "no variable paths in namespace d"},
      {"namespace \"d\" { variables { path \"x\" { capabilities = [\"fly\"] } } }",
       "Invalid variable capability 'fly'"},
      {"namespace \"d\" { variables { path \"/x\" { capabilities = [\"read\"] } } }", "begin without a slash"},
      {"host_volume \"v\" { policy = \"list\" }", "Invalid host volume policy: \"list\""},
      {"host_volume \"v\" { capabilities = [\"x\"] }", "Invalid host volume capability 'x'"},
      {"node { policy = \"list\" }", "Invalid node policy: \"list\""},
      {"node { }", "Invalid node policy: \"\""},
      {"agent { policy = \"read\" }\nagent { policy = \"deny\" }", "a second block agent"},
      {"nodes { policy = \"read\" }", "nodes"},
      {"node { policy = ", "policy:1"},
      {"# nothing", "Invalid policy: # nothing"},
  };
  for (const auto& c : cases) {
    const auto rules = parse_policy(c.text);
    EXPECT_EQ(rules.ok(), *c.problem == '\0') << c.text << ": " << rules.status().message();
    const std::string said = rules.status().message();
    EXPECT_NE(said.find(c.problem), std::string::npos) << c.text << ": " << said;
  }
  const auto json = parse_policy(R"({"namespace":{"default":{"policy":"read"}}})");
  EXPECT_TRUE(Compiled({*json}).may(Access::READ_JOB, "default"));
}

TEST(Policies, MutatedOnesGrantTheSameEachTime) {
  const std::string corpus[] = {
      R"(namespace "default" {
           policy       = "write"
           capabilities = ["alloc-exec", "deny"]
         }
         node { policy = "read" })",
      R"(namespace "prod-*" {
           variables {
             path "a/*" { capabilities = ["read", "list"] }
           }
         })",
      R"({"namespace":[{"default":[{"policy":"read"}]}],"host_volume":{"*":{"policy":"deny"}},
          "plugin":{"policy":"list"}})"};
  const std::string_view pieces[] = {"{",  "}", "\"",        "[",      "]",    "=",  "*",  "deny",
                                     "\n", ",", "namespace", "policy", "\xff", "${", "<<E"};
  std::mt19937_64 random(7);
  for (int i = 0; i < 5'000; ++i) {
    std::string text = corpus[random() % std::size(corpus)];
    for (size_t edits = 1 + random() % 4; edits > 0; --edits) {
      const size_t at = random() % (text.size() + 1);
      if (random() % 2 == 0) {
        text.insert(at, pieces[random() % std::size(pieces)]);
      } else {
        text.erase(at, 1 + random() % 8);
      }
    }
    fuzz_policy(text);
  }
}

TEST(Policies, MatchRunsOfCharacters) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("a*b*c", "a/x/b//c"));
  EXPECT_TRUE(matches("a**", "a"));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_FALSE(matches("a*b", "abc"));
  EXPECT_TRUE(matches("*ab", "aab"));
}

}  // namespace
}  // namespace drover::acl

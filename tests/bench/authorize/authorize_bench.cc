// The price of access control on a server: nanoseconds from a call's token of ten policies to "may" or "may not",
// beside a call without access control. Through the kernel's store, with many tokens; a token that nobody has used
// lately is looked up and its policies are found compiled, one that somebody has used is remembered.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "acl.pb.h"
#include "drover/options.pb.h"
#include "drover/uuid.h"
#include "drover/v1/acl.pb.h"
#include "kernel/host/command_table.h"
#include "kernel/host/plugin_host.h"
#include "kernel/rpc/stages/access.h"
#include "kernel/state/store.h"
#include "kernel/state/transaction.h"
#include "plugins/acl/server_resolver.h"
#include "plugins/acl/tables.h"
#include "sdk/testing/fake_host.h"

namespace drover {
namespace {

constexpr int kPolicies = 10;
constexpr int kTokens = 100'000;
constexpr int kRounds = 300'000;

double processor_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

long resident_kb() {
  FILE* file = std::fopen("/proc/self/statm", "r");
  long pages = 0, resident = 0;
  if (file && std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  if (file) std::fclose(file);
  return resident * 4;
}

void check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  std::exit(1);
}

// A host whose snapshots are the kernel's.
class StoreHost final : public testing::FakeHost {
 public:
  std::shared_ptr<const ReadView> snapshot() override { return store.snapshot("bench"); }

  template <typename Command>
  void apply(const Command& command) {
    auto transaction = store.begin(++index);
    check(commands.apply(Command::descriptor()->full_name(), serialize(command), index, *transaction).status());
    transaction->commit();
  }

  state::Store store;
  host::CommandTable commands;
  rpc::MethodTable methods;
  host::ExtensionTable extensions;
  DeclaredBlocks configuration;
  uint64_t index = 0;
};

double each_ns(int rounds, const std::function<bool(int)>& step) {
  const double began = processor_ns();
  for (int i = 0; i < rounds; ++i) {
    if (!step(i)) {
      std::fprintf(stderr, "a call was refused\n");
      std::exit(1);
    }
  }
  return (processor_ns() - began) / rounds;
}

v1::AclPolicy policy_number(int i) {
  v1::AclPolicy policy;
  const std::string n = std::to_string(i);
  policy.set_name("policy-" + n);
  policy.set_rules("namespace \"default\" { policy = \"read\" }\n"
                   "namespace \"team-" + n + "-*\" { policy = \"write\" }");
  return policy;
}

int run() {
  StoreHost host;
  acl::Tables tables;
  const auto declarations = host::make_declarations(
      "acl", {host.store, host.commands, host.methods, host.extensions, host.configuration});
  check(acl::declare_tables(*declarations, tables));
  for (int i = 0; i < kPolicies; ++i) {
    v1::AclPolicyApplied command;
    *command.mutable_policy() = policy_number(i);
    host.apply(command);
  }
  std::vector<CallContext> calls(kTokens);
  for (CallContext& call : calls) {
    v1::AclTokenApplied command;
    v1::AclToken& token = *command.mutable_token();
    const Uuid secret = Uuid::random();
    token.set_accessor_id(Uuid::random().bytes());
    token.set_secret_id(secret.bytes());
    token.set_type("client");
    for (int i = 0; i < kPolicies; ++i) token.add_policies("policy-" + std::to_string(i));
    host.apply(command);
    call.query.token = secret.to_string();
  }
  acl::ServerResolver resolver(tables);
  resolver.start(host, /*is_enabled=*/true);
  Access rule;
  rule.set_namespace_(Access::READ_JOB);
  const auto asks = [&](CallContext& call) {
    auto identity = resolver.resolve(call);
    if (!identity) return false;
    call.identity = *std::move(identity);
    return allows(rule, call, "default");
  };
  rpc::OpenAccess open;
  CallContext nobody;
  const double without = each_ns(kRounds, [&](int) {
    open.authenticate(nobody, [&](Result<Identity> identity) { nobody.identity = *std::move(identity); });
    return allows(rule, nobody, "default");
  });
  const long before = resident_kb();
  const double first = each_ns(kTokens, [&](int i) { return asks(calls[static_cast<size_t>(i)]); });
  const long after = resident_kb();
  const double again = each_ns(kRounds, [&](int i) { return asks(calls[static_cast<size_t>(kTokens - 1 - i % 100)]); });
  std::printf("one call, token of %d policies, %d tokens      ns   beside none\n", kPolicies, kTokens);
  std::printf("without access control                  %8.0f\n", without);
  std::printf("a token that is remembered              %8.0f   %+8.0f\n", again, again - without);
  std::printf("a token that is not                     %8.0f   %+8.0f\n", first, first - without);
  std::printf("memory after a call of each token       %+8ld kB\n", after - before);
  return 0;
}

}  // namespace
}  // namespace drover

int main() { return drover::run(); }

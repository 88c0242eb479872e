// acl bootstrap, acl policy.
#include "acl/acl_text.h"
#include "cli_command.h"
#include "drover/api/acl.pb.h"
#include "drover/pause.h"
#include "input.h"
#include "object_output.h"
#include "output.h"

namespace drover::cli {
namespace {

constexpr auto kPause = std::chrono::milliseconds(200);
constexpr int kMostTries = 50;

bool is_key_missing(const Status& status) {
  return status.message().find("keyring has not been initialized yet") != std::string::npos;
}

int bootstrap(Run& run) {
  v1::BootstrapAclRequest request;
  const auto& typed = run.arguments.positional();
  if (!typed.empty()) {
    auto secret = read_text(run, typed[0]);
    if (!secret) return run.fail("Error reading the bootstrap secret", secret.status());
    secret->erase(secret->find_last_not_of(" \t\r\n") + 1);
    request.set_bootstrap_secret(*std::move(secret));
  }
  auto made = run.client.call<v1::Acl::Bootstrap>(request);
  // A cluster that has just begun makes its first key, which seals the token.
  for (int tries = 0; !made && tries < kMostTries && is_key_missing(made.status()); ++tries) {
    pause_for(kPause, {});
    made = run.client.call<v1::Acl::Bootstrap>(request);
  }
  if (!made) return run.fail("Error bootstrapping", made.status());
  if (auto code = print_object(run, *made)) return *code;
  run.out << token_text(made->message.token());
  return 0;
}

int policy_apply(Run& run) {
  const auto& typed = run.arguments.positional();
  auto rules = read_text(run, typed[1]);
  if (!rules) return run.fail("Error opening rules file", rules.status());
  v1::ApplyAclPolicyRequest request;
  request.set_name(typed[0]);
  v1::AclPolicy& policy = *request.mutable_policy();
  policy.set_name(typed[0]);
  policy.set_description(run.arguments.value("description"));
  policy.set_rules(*std::move(rules));
  const std::string job = run.arguments.value("job");
  if (job.empty() && (run.arguments.is_set("group") || run.arguments.is_set("task")))
    return run.usage("-group and -task narrow down -job; name the job too");
  if (!job.empty()) {
    v1::JobAcl& tasks = *policy.mutable_job_acl();
    tasks.set_namespace_(run.client.options().name_space.empty() ? "default" : run.client.options().name_space);
    tasks.set_job_id(job);
    tasks.set_group(run.arguments.value("group"));
    tasks.set_task(run.arguments.value("task"));
  }
  const auto applied = run.client.call<v1::Acl::ApplyPolicy>(request);
  if (!applied) return run.fail("Error writing policy", applied.status());
  run.out << "Successfully wrote \"" << typed[0] << "\" ACL policy!\n";
  return 0;
}

int policy_delete(Run& run) {
  v1::AclNameRequest request;
  request.set_name(run.arguments.positional()[0]);
  const auto deleted = run.client.call<v1::Acl::DeletePolicy>(request);
  if (!deleted) return run.fail("Error deleting ACL policy", deleted.status());
  run.out << "Successfully deleted " << request.name() << " policy!\n";
  return 0;
}

int policy_info(Run& run) {
  v1::AclNameRequest request;
  request.set_name(run.arguments.positional()[0]);
  const auto found = run.client.call<v1::Acl::GetPolicy>(request);
  if (!found) return run.fail("Error fetching info on ACL policy", found.status());
  const v1::AclPolicy& policy = found->message.policy();
  run.out << format_pairs({{"Name", policy.name()},
                           {"Description", policy.description().empty() ? "<none>" : policy.description()},
                           {"CreateIndex", std::to_string(policy.create_index())},
                           {"ModifyIndex", std::to_string(policy.modify_index())}});
  if (policy.has_job_acl()) {
    const v1::JobAcl& tasks = policy.job_acl();
    const auto or_none = [](const std::string& text) { return text.empty() ? "<none>" : text; };
    run.out << "\nAssociated Workload\n"
            << format_pairs({{"Namespace", or_none(tasks.namespace_())},
                             {"JobID", or_none(tasks.job_id())},
                             {"Group", or_none(tasks.group())},
                             {"Task", or_none(tasks.task())}});
  }
  run.out << "\nRules\n\n" << policy.rules() << (policy.rules().ends_with("\n") ? "" : "\n");
  return 0;
}

int policy_list(Run& run) {
  const auto list = run.client.call<v1::Acl::ListPolicies>({});
  if (!list) return run.fail("Error listing ACL policies", list.status());
  if (auto code = print_object(run, *list)) return *code;
  if (list->message.policies().empty()) {
    run.out << "No policies found\n";
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {{"Name", "Description"}};
  for (const v1::AclPolicyListStub& policy : list->message.policies())
    rows.push_back({policy.name(), policy.description()});
  run.out << format_list(rows);
  return 0;
}

}  // namespace

std::vector<Definition> acl_commands() {
  return {
      {"acl bootstrap", "Makes the first management token.", "[secret file]",
       "Works once. The file holds a UUID that becomes the token's secret; - reads standard input. To make another "
       "token when all are lost, write the reset index of the refusal into the file acl-bootstrap-reset in the data "
       "directory of the leading server.",
       with_object_flags({}), 0, 1, bootstrap},
      {"acl policy apply",
       "Creates a policy or changes one.",
       "<name> <file>",
       "The file holds the rules in HCL or JSON; - reads standard input.",
       {with_value("description", "", "What the policy is for"),
        with_value("job", "", "Give these rights to the tasks of this job, without a token"),
        with_value("group", "", "Only to the tasks of this group"), with_value("task", "", "Only to this task")},
       2,
       2,
       policy_apply},
      {"acl policy delete", "Deletes a policy.", "<name>", "", {}, 1, 1, policy_delete},
      {"acl policy info", "Shows a policy.", "<name>", "", {}, 1, 1, policy_info},
      {"acl policy list", "Lists policies.", "", "", with_object_flags({}), 0, 0, policy_list}};
}

}  // namespace drover::cli

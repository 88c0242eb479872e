// The command line: each command is a plugin's extension, found by the manifest.
#include "cli_command.h"
#include "drover/module.h"
#include "nodes/identity_commands.h"

namespace drover::cli {
namespace {

class CliPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    for (auto* group :
         {job_commands,       job_init_commands,    job_plan_commands,     job_status_commands,   job_dispatch_commands,
          job_why_commands,   job_version_commands, job_scaling_commands,  alloc_commands,        fs_commands,
          logs_commands,      node_commands,        node_drain_commands,   eval_commands,         deployment_commands,
          agent_commands,     operator_commands,    fmt_commands,          raft_recover_commands, snapshot_commands,
          raft_file_commands, exec_commands,        autocomplete_commands, plugin_commands,       node_pool_commands,
          node_meta_commands, acl_commands,         acl_token_commands,    service_commands,      check_commands,
          keyring_commands,   var_commands,         var_put_commands,      var_lock_commands,     namespace_commands,
          tls_commands,       auth_method_commands, binding_rule_commands, login_commands,        volume_commands,
          volume_snapshot_commands, volume_claim_commands, node_identity_commands,
          gossip_key_commands, job_restart_commands, status_commands, debug_commands}) {
      for (Definition& definition : group()) {
        std::string name = definition.name;
        commands_.push_back(make_command(std::move(definition)));
        DROVER_RETURN_IF_ERROR(declare.extend<Command>(std::move(name), *commands_.back()));
      }
    }
    return ok_status();
  }
  Status start(Host&) override { return ok_status(); }
  void stop(SteadyTime) override {}

 private:
  std::vector<std::unique_ptr<Command>> commands_;
};

}  // namespace
}  // namespace drover::cli

DROVER_MODULE(drover::cli::CliPlugin, "module", "cli", "0.1.0");

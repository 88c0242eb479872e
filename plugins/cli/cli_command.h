// Shared by the commands: common options, the client, help, and how errors are said.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "client/client.h"
#include "drover/command.h"
#include "flags.h"

namespace drover::cli {

// The things that a command runs with.
struct Run {
  const Arguments& arguments;
  Client& client;
  CommandHost& host;
  std::ostream& out;
  std::ostream& err;

  // "Error …: text" on standard error; the exit code of an error.
  int fail(std::string_view what, const Status& status) const;
  int usage(std::string_view text) const;
  // Takes pieces of a text and shows each at once; false when nobody reads on.
  std::function<bool(std::string_view)> printer() const {
    return [this](std::string_view bytes) { return static_cast<bool>(out << bytes << std::flush); };
  }
  bool verbose() const { return arguments.on("verbose"); }
};

struct Definition {
  std::string name;
  std::string synopsis;
  std::string usage;        // "<job>"
  std::string description;  // some lines
  std::vector<Flag> flags;
  size_t minimum = 0, maximum = 0;  // positional arguments
  std::function<int(Run&)> run;
  bool takes_command = false;  // what follows the first argument is another command's, with options of its own
};

// Ctrl-C ends the program with 0 from here on: for commands that follow something until somebody has seen enough.
void leave_on_interrupt();

std::unique_ptr<Command> make_command(Definition definition);

inline Flag on_off(std::string name, std::string help) { return {std::move(name), false, "", std::move(help)}; }
inline Flag with_value(std::string name, std::string fallback, std::string help) {
  return {std::move(name), true, std::move(fallback), std::move(help)};
}

std::vector<Definition> acl_commands();
std::vector<Definition> acl_token_commands();
std::vector<Definition> auth_method_commands();
std::vector<Definition> binding_rule_commands();
std::vector<Definition> login_commands();
std::vector<Definition> job_commands();
std::vector<Definition> job_init_commands();
std::vector<Definition> job_plan_commands();
std::vector<Definition> job_status_commands();
std::vector<Definition> job_dispatch_commands();
std::vector<Definition> job_version_commands();
std::vector<Definition> job_restart_commands();
std::vector<Definition> job_scaling_commands();
std::vector<Definition> job_why_commands();
std::vector<Definition> alloc_commands();
std::vector<Definition> check_commands();
std::vector<Definition> fs_commands();
std::vector<Definition> logs_commands();
std::vector<Definition> namespace_commands();
std::vector<Definition> node_commands();
std::vector<Definition> node_drain_commands();
std::vector<Definition> node_meta_commands();
std::vector<Definition> node_pool_commands();
std::vector<Definition> service_commands();
std::vector<Definition> status_commands();
std::vector<Definition> debug_commands();
std::vector<Definition> eval_commands();
// How to ask for the page of `eval list` that begins at the token.
std::string next_page_text(const Arguments& arguments, const std::string& next_token);
std::vector<Definition> deployment_commands();
std::vector<Definition> agent_commands();
std::vector<Definition> operator_commands();
std::vector<Definition> gossip_key_commands();
std::vector<Definition> fmt_commands();
std::vector<Definition> raft_recover_commands();
std::vector<Definition> autocomplete_commands();
std::vector<Definition> snapshot_commands();
std::vector<Definition> raft_file_commands();
std::vector<Definition> plugin_commands();
std::vector<Definition> exec_commands();
std::vector<Definition> tls_commands();
std::vector<Definition> keyring_commands();
std::vector<Definition> volume_claim_commands();
std::vector<Definition> volume_commands();
std::vector<Definition> volume_snapshot_commands();
std::vector<Definition> var_commands();
std::vector<Definition> var_put_commands();
std::vector<Definition> var_lock_commands();

}  // namespace drover::cli

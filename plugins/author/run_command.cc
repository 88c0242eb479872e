#include <unistd.h>

#include <istream>

#include "commands.h"
#include "options.h"
#include "subject.h"

namespace drover::author {
namespace {

const std::vector<Option> kRunOptions = {
    {"config", "FILE", "the plugin's own configuration: what its `config` block would hold"},
};
const std::vector<Option> kServeOptions = kRunOptions;

}  // namespace

std::string RunCommand::help() const {
  return "Usage: drover plugin run [options] FILE\n\n"
         "  Starts a plugin alone, configures it and reads commands from standard input, one a line: info, "
         "fingerprint,\n"
         "  start FILE, wait ID, stats ID and others; `help` lists them. Answers are JSON. When the plugin ends under "
         "a\n"
         "  call, it says how, and the next one is started.\n"
         "  Exit code: 0 every command succeeded, 1 one failed, 2 the plugin cannot be tried.\n\nOptions:\n\n" +
         help_of(kRunOptions);
}

int RunCommand::run(std::span<const std::string> arguments, CommandHost& host) {
  if (wants_help(arguments)) {
    host.out() << help();
    return 0;
  }
  const auto options = Options::parse(arguments, kRunOptions);
  const auto prepare = [&](conformance::Setup& setup) -> Result<conformance::SubjectFactory> {
    DROVER_RETURN_IF_ERROR(options.status());
    if (options->arguments().size() != 1)
      return invalid_argument("name one plugin: a program or a shared object (.so)");
    DROVER_TRY(const Tried tried, program_of(options->arguments().front(), {}, options->value("config")));
    if (!tried.is_exact && options->on("config")) {
      setup.config_place = options->value("config");
      DROVER_TRY(setup.config, read_config(setup.config_place));
    }
    return conformance::program_subject(tried.program);
  };
  const auto run_plugin = [&]() -> Result<int> {
    conformance::Setup setup;
    DROVER_TRY(const auto factory, prepare(setup));
    const bool has_prompt = ::isatty(STDIN_FILENO) != 0;
    return conformance::run_shell(factory, std::move(setup), host.in(), host.out(), has_prompt);
  };
  const auto failures = run_plugin();
  if (!failures) {
    host.err() << "Error: " << failures.status().message() << "\n";
    return 2;
  }
  return *failures == 0 ? 0 : 1;
}

std::string ServeCommand::help() const {
  return "Usage: drover plugin serve [options] FILE.so\n\n"
         "  Serves a plugin that was made for the agent's process over the plugin protocol. A host starts it; started "
         "by\n"
         "  hand it says so and ends. `drover plugin test` and `run` use it for shared objects.\n\nOptions:\n\n" +
         help_of(kServeOptions);
}

int ServeCommand::run(std::span<const std::string> arguments, CommandHost& host) {
  if (wants_help(arguments)) {
    host.out() << help();
    return 0;
  }
  const auto options = Options::parse(arguments, kServeOptions);
  Result<std::unique_ptr<Plugin>> plugin = options.status();
  if (options.ok() && options->arguments().size() != 1) {
    plugin = invalid_argument("name one shared object (.so)");
  } else if (options.ok()) {
    plugin = host.load_plugin(options->arguments().front());
  }
  if (!plugin) {
    host.err() << "Error: " << plugin.status().message() << "\n";
    return 2;
  }
  // A line on standard output before the handshake's ends the launch.
  const int handshake = ::dup(STDOUT_FILENO);
  (void)::dup2(STDERR_FILENO, STDOUT_FILENO);
  return conformance::serve_module(**plugin, options->value("config"), handshake);
}

}  // namespace drover::author

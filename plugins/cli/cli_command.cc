#include "cli_command.h"

#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace drover::cli {
namespace {

std::string environment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

const std::vector<Flag>& common_flags() {
  static const std::vector<Flag> flags = [] {
    std::vector<Flag> all = client_flags();
    all.push_back(on_off("no-color", "Print without colours, which this version always does"));
    return all;
  }();
  return flags;
}

class CliCommand final : public Command {
 public:
  explicit CliCommand(Definition definition) : definition_(std::move(definition)) {}
  std::string name() const override { return definition_.name; }
  std::string synopsis() const override { return definition_.synopsis; }

  std::string help() const override {
    std::string text = "Usage: drover " + definition_.name + " [options]" +
                       (definition_.usage.empty() ? "" : " " + definition_.usage) + "\n\n";
    text += "  " + definition_.synopsis + "\n";
    if (!definition_.description.empty()) text += "\n" + definition_.description;
    const auto add = [&text](const Flag& flag) {
      text += "  -" + flag.name + (flag.takes_value ? "=<value>" : "") + "\n      " + flag.help + "\n";
    };
    text += "\nGeneral Options:\n\n";
    for (const Flag& flag : common_flags()) add(flag);
    if (!definition_.flags.empty()) {
      text += "\nOptions:\n\n";
      for (const Flag& flag : definition_.flags) add(flag);
    }
    return text;
  }

  int run(std::span<const std::string> words, CommandHost& host) override {
    std::vector<Flag> flags = definition_.flags;
    flags.insert(flags.end(), common_flags().begin(), common_flags().end());
    const size_t own = definition_.takes_command ? own_words(words, flags) : words.size();
    for (const std::string& word : words.first(own)) {
      if (word == "-h" || word == "-help" || word == "--help") {
        host.out() << help();
        return 0;
      }
    }
    auto arguments = Arguments::parse(words.first(own), flags, words.subspan(own));
    const std::string hint = "For additional help try 'drover " + definition_.name + " -help'\n";
    if (!arguments) {
      host.err() << arguments.status().message() << "\n" << hint;
      return 1;
    }
    const size_t given = arguments->positional().size();
    if (given < definition_.minimum || given > definition_.maximum) {
      host.err() << "This command takes "
                 << (definition_.usage.empty() ? "no arguments" : "these arguments: " + definition_.usage) << "\n"
                 << hint;
      return 1;
    }
    auto options = client_options(*arguments, environment);
    if (!options) {
      host.err() << options.status().message() << "\n" << hint;
      return 1;
    }
    Client client(*std::move(options));
    Run run{*arguments, client, host, host.out(), host.err()};
    return definition_.run(run);
  }

 private:
  const Definition definition_;
};

}  // namespace

int Run::fail(std::string_view what, const Status& status) const {
  err << what << ": " << status.message() << "\n";
  return 1;
}

int Run::usage(std::string_view text) const {
  err << text << "\n";
  return 1;
}

void leave_on_interrupt() {
  std::signal(SIGINT, [](int) { ::_exit(0); });
}

std::unique_ptr<Command> make_command(Definition definition) {
  return std::make_unique<CliCommand>(std::move(definition));
}

}  // namespace drover::cli

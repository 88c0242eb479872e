#include <charconv>
#include <fstream>

#include "commands.h"
#include "drover/duration.h"
#include "drover/task_driver.h"
#include "options.h"
#include "report.h"
#include "storage_kit.h"
#include "subject.h"

namespace drover::author {
namespace {

const std::vector<Option> kOptions = {
    {"config", "FILE", "the plugin's own configuration: what its `config` block would hold"},
    {"task", "FILE", "what to try the plugin with: blocks task, check, login and published"},
    {"arg", "WORDS", "arguments of the program, separated by blanks"},
    {"run", "PATTERN", "only checks with this in their name or sentence; * stands for anything"},
    {"list", "", "only say what would be checked"},
    {"sdk", "", "it is made with drover's SDK: errors have that SDK's codes, too (known of a .so of the exact tier)"},
    {"parallel", "N", "checks at a time, 1 to 64 (4)"},
    {"timeout", "TIME", "for each call of a plugin (20s)"},
    {"junit", "FILE", "also write a report as JUnit does"},
    {"json", "", "write the report as JSON instead"},
    {"verbose", "", "name the checks that pass, too"},
};

constexpr int kUnusable = 2;

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = text.find_first_not_of(' ', at);
    if (begin == std::string::npos) break;
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    at = end;
  }
  return words;
}

Result<int> read_parallel(const std::string& text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < 1 || number > 64)
    return invalid_argument("option -parallel must be a number from 1 to 64");
  return number;
}

struct Plan {
  std::string file;
  conformance::SubjectFactory factory;
  conformance::Setup setup;
  std::vector<const conformance::Check*> checks;
  int parallel = 4;
};

Result<Plan> make_plan(const Options& options) {
  if (options.arguments().size() != 1) return invalid_argument("name one plugin: a program or a shared object (.so)");
  Plan plan{.file = options.arguments().front(), .factory = {}, .setup = {}, .checks = {}};
  DROVER_TRY(plan.parallel, read_parallel(options.value("parallel", "4")));
  DROVER_TRY(const Tried tried, program_of(plan.file, words_of(options.value("arg")), options.value("config")));
  plan.factory = conformance::program_subject(tried.program);
  plan.setup.is_sdk = tried.is_exact || options.on("sdk");
  DROVER_TRY(plan.setup.limit, parse_duration(options.value("timeout", "20s")).with_context("option -timeout"));
  if (plan.setup.limit < std::chrono::milliseconds(100))
    return invalid_argument("option -timeout must be 100ms at least");
  if (options.on("config") && !tried.is_exact) {
    plan.setup.config_place = options.value("config");
    DROVER_TRY(plan.setup.config, read_config(plan.setup.config_place));
  }
  if (options.on("task")) {
    DROVER_TRY(std::string text, read_file(options.value("task")));
    DROVER_RETURN_IF_ERROR(conformance::read_tasks(options.value("task"), std::move(text), plan.setup));
  }
  DROVER_TRY(const PluginKind* const kind, conformance::kind_of(plan.factory).with_context(plan.file));
  plan.checks = conformance::select(*kind, options.value("run"));
  if (plan.checks.empty()) return invalid_argument("no check has \"" + options.value("run") + "\" in it; see -list");
  if (options.on("list")) return plan;
  DROVER_RETURN_IF_ERROR(conformance::check_setup(*kind, plan.factory, plan.setup));
  if (*kind == TaskDriver::kKind)
    DROVER_RETURN_IF_ERROR(conformance::guess_tasks(plan.factory, plan.setup).with_context(plan.file));
  return plan;
}

void list(const Plan& plan, std::ostream& out) {
  for (const auto* check : plan.checks) {
    std::string name(check->name);
    name.resize(std::max<size_t>(name.size() + 1, 34), ' ');
    out << name << check->sentence << "\n";
  }
  out << plan.checks.size() << " checks\n";
}

}  // namespace

std::string TestCommand::help() const {
  return "Usage: drover plugin test [options] FILE\n"
         "       drover plugin test -kind csi [options] PROGRAM [-- ARGUMENTS]\n\n"
         "  Starts the plugin, once for each check, and looks whether it does what its kind promises: on the wire, "
         "under\n"
         "  many calls at once, and after it was killed. FILE is a program that speaks the plugin protocol, written "
         "in\n"
         "  any language, or a shared object made with drover's SDK. Checks of what a plugin says it cannot do are "
         "not applicable.\n"
         "  With -kind csi the plugin is a storage plugin (CSI); `-kind csi -help` lists the options of that test.\n"
         "  Exit code: 0 nothing failed, 1 something did, 2 nothing could be tested.\n\nOptions:\n\n" +
         help_of(kOptions);
}

int TestCommand::run(std::span<const std::string> arguments, CommandHost& host) {
  const auto storage = storage_words(arguments);
  if (!storage) {
    host.err() << "Error: " << storage.status().message() << "\n";
    return kUnusable;
  }
  if (*storage) return become_storage_kit(**storage, host);
  if (wants_help(arguments)) {
    host.out() << help();
    return 0;
  }
  const auto options = Options::parse(arguments, kOptions);
  Result<Plan> plan = options ? make_plan(*options) : Result<Plan>(options.status());
  if (!plan) {
    host.err() << "Error: " << plan.status().message() << "\n";
    return kUnusable;
  }
  if (options->on("list")) {
    list(*plan, host.out());
    return 0;
  }
  const bool is_json = options->on("json");
  Progress progress(host.out(), plan->checks, *options);
  if (!is_json) host.out() << plan->checks.size() << " checks of " << plan->file << "\n";
  const auto began = std::chrono::steady_clock::now();
  const auto outcomes = conformance::run_all(plan->checks, plan->factory, plan->setup, plan->parallel,
                                             [&](size_t index, const conformance::Outcome& outcome) {
                                               if (!is_json) progress.ended(index, outcome);
                                             });
  std::vector<Judged> judged;
  for (size_t i = 0; i < outcomes.size(); ++i) judged.push_back({plan->checks[i], outcomes[i]});
  if (is_json) {
    host.out() << to_json(plan->file, judged);
  } else {
    host.out() << summary(judged, std::chrono::steady_clock::now() - began) << "\n";
  }
  if (options->on("junit")) {
    std::ofstream junit(options->value("junit"));
    junit << to_junit(plan->file, judged);
    if (!junit.flush()) {
      host.err() << "Error: " << options->value("junit") << " cannot be written\n";
      return kUnusable;
    }
  }
  const Tally count = tally(judged);
  if (count.passed + count.failed > 0) return count.failed == 0 ? 0 : 1;
  host.err() << "Error: nothing was tested: no check that was chosen applies; -verbose says why\n";
  return kUnusable;
}

}  // namespace drover::author

// The simulator's command line. See README.md.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>
#include <thread>

#include "drover/log.h"
#include "tests/simulation/check/linearizability.h"
#include "tests/simulation/check/sessions.h"
#include "tests/simulation/report.h"

namespace drover::simulation {
namespace {

constexpr const char* kUsage = R"(Usage: simulate [options]

Runs clusters of the real consensus core, log and snapshots in one thread, with faults drawn from seeds, and checks
every step. Without options: 20 seconds of seeds that are these sources' own.

    --time 90s         fresh seeds for so long (s, m or h)
    --seeds N          so many seeds
    --from S           beginning with this one (otherwise one that depends on the sources)
    --jobs N           so many processes (otherwise one a core)
    --seed S           this seed alone
    --trace            with --seed: the story, every event a line
    --set NAME=VALUE,… changes what the seed drew; the names are listed by --fields
    --no-shrink        reports a failure without looking for a simpler one
    --write-history F  with --seed: what the clients saw, as a file
    --history F        judges a file of that format, and nothing else
    --corpus F         first the lines of this file: SEED [NAME=VALUE,…] # why; fields that are not named are
                       as --fields says, whatever the seed would draw
    --suite F          what the test suite runs: the corpus F, twenty seeds twice, then fresh seeds for
                       DROVER_SIMULATE_SECONDS (90)
    --twice            runs each seed twice: the two must be the same, event for event
    --bug NAME         breaks a rule of the core (simulate_planted only)
    --bugs             lists them
    --mutants          plants each in turn, for at most --time each (10s), and prints the table
    --fields           lists what a seed draws

Ends with 0 when nothing broke, 1 when something did, 2 when it was called wrongly.
)";

struct Options {
  Sweep sweep{};
  std::optional<uint64_t> seed;
  bool has_time = false;
  bool has_from = false;
  bool is_traced = false;
  bool shrinks = true;
  bool is_mutants = false;
  bool is_suite = false;
  std::string bug;
  std::string corpus;
  std::string history;
  std::string history_out;
};

std::optional<uint64_t> number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> seconds(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const double unit = text.back() == 'h' ? 3600 : text.back() == 'm' ? 60 : 1;
  if (std::string_view("smh").find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  const auto value = number(text);
  if (!value || *value == 0) return std::nullopt;
  return static_cast<double>(*value) * unit;
}

// Errors: invalid_argument names the word.
Status parse_value(Options& options, std::string_view name, std::string_view value) {
  const auto wrong = [&](const char* expected) {
    return invalid_argument(std::string(name) + " " + std::string(value) + ": expected " + expected);
  };
  if (name == "--time") {
    const auto time = seconds(value);
    if (!time) return wrong("a time such as 90s");
    options.sweep.seconds = *time;
    options.has_time = true;
    return ok_status();
  }
  if (name == "--bug") return options.bug = value, plant_bug(options.bug);
  if (name == "--set") return options.sweep.overrides = value, ok_status();
  if (name == "--corpus" || name == "--suite") {
    options.corpus = value;
    options.is_suite = name == "--suite";
    return ok_status();
  }
  if (name == "--history") return options.history = value, ok_status();
  if (name == "--write-history") return options.history_out = value, ok_status();
  const auto whole = number(value);
  if (!whole) return wrong("a number");
  if (name == "--seeds") options.sweep.count = *whole;
  if (name == "--seed") options.seed = *whole;
  if (name == "--jobs") {
    if (*whole < 1 || *whole > 1024) return wrong("1 to 1024");
    options.sweep.jobs = static_cast<int>(*whole);
  }
  if (name == "--from") {
    options.sweep.from = *whole;
    options.has_from = true;
  }
  return ok_status();
}

Result<Options> parse(int argc, char** argv) {
  Options options;
  options.sweep.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  constexpr std::string_view kWithValue[] = {"--time", "--seeds",  "--from",  "--jobs",    "--seed",         "--set",
                                             "--bug",  "--corpus", "--suite", "--history", "--write-history"};
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (std::ranges::find(kWithValue, name) != std::end(kWithValue)) {
      if (++i == argc) return invalid_argument(std::string(name) + " needs a value");
      DROVER_RETURN_IF_ERROR(parse_value(options, name, argv[i]));
    } else if (name == "--trace") {
      options.is_traced = true;
    } else if (name == "--no-shrink") {
      options.shrinks = false;
    } else if (name == "--twice") {
      options.sweep.must_agree = true;
    } else if (name == "--mutants") {
      options.is_mutants = true;
    } else {
      return invalid_argument("unknown option " + std::string(name));
    }
  }
  if ((options.is_traced || !options.history_out.empty()) && !options.seed)
    return invalid_argument("--trace and --write-history go with --seed");
  if (options.is_mutants && plantable_bugs().empty())
    return failed_precondition("this program has no bugs to plant: use simulate_planted");
  Configuration probe;
  DROVER_RETURN_IF_ERROR(set_fields(probe, options.sweep.overrides).with_context("--set"));
  return options;
}

void tell_totals(const SweepResult& result, std::ostream& out) {
  const double rate = result.seconds > 0 ? static_cast<double>(result.totals.seeds) / result.seconds : 0;
  out << result.totals.seeds << " seeds in " << std::fixed << std::setprecision(1) << result.seconds << " s (" << rate
      << " a second), " << result.totals.virtual_us / 1'000'000 << " s of clusters' lives, " << result.totals.events
      << " events, " << result.totals.operations << " operations, " << result.totals.entries << " entries committed";
}

void tell_progress(const SweepResult& result) {
  if (::isatty(STDERR_FILENO) == 0) return;
  std::cerr << "\r";
  tell_totals(result, std::cerr);
  std::cerr << "   " << std::flush;
}

int judge_history(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    std::cerr << "simulate: " << path << ": " << std::strerror(errno) << "\n";
    return 2;
  }
  const Result<History> history = read_history(file);
  if (!history.ok()) {
    std::cerr << "simulate: " << path << ": " << history.status().message() << "\n";
    return 2;
  }
  const Judgement judgement = check_linearizability(*history, 200'000'000);
  const std::string broken = check_sessions(*history);
  std::cout << history->size() << " operations\nlinearizable: "
            << (judgement.verdict == Verdict::good  ? "yes"
                : judgement.verdict == Verdict::bad ? "NO: " + judgement.why
                                                    : "unknown: " + judgement.why)
            << "\nsessions: " << (broken.empty() ? "kept" : "BROKEN: " + broken) << "\n";
  return judgement.verdict == Verdict::good && broken.empty() ? 0 : 1;
}

int run_one(const Options& options, uint64_t seed, const std::string& overrides) {
  Configuration configuration = draw_configuration(seed);
  if (const Status status = set_fields(configuration, overrides); !status.ok()) {
    std::cerr << "simulate: " << status.message() << "\n";
    return 2;
  }
  std::cout << "seed " << seed << ": " << difference(configuration, Configuration()) << "\n";
  if (options.is_traced || !options.history_out.empty()) {
    std::ofstream history;
    if (!options.history_out.empty()) history.open(options.history_out);
    const Outcome outcome = run(seed, configuration, options.is_traced ? &std::cout : nullptr,
                                options.history_out.empty() ? nullptr : &history);
    std::cout << (outcome.is_good() ? "good" : "FAILED: " + outcome.breach.property + ": " + outcome.breach.what)
              << ", trace " << std::hex << outcome.trace_hash << std::dec << "\n";
    return outcome.is_good() ? 0 : 1;
  }
  const Outcome outcome = run_isolated(seed, configuration);
  if (outcome.is_good()) {
    std::cout << "good, trace " << std::hex << outcome.trace_hash << std::dec << "\n";
    return 0;
  }
  report_failure(seed, configuration, options.bug, options.shrinks ? 60 : 0, std::cout);
  return 1;
}

// The seeds that once failed.
int run_corpus(const Options& options) {
  std::ifstream file(options.corpus);
  if (!file) {
    std::cerr << "simulate: " << options.corpus << ": " << std::strerror(errno) << "\n";
    return 2;
  }
  std::string line;
  int seeds = 0;
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string seed, overrides;
    if (!(words >> seed)) continue;
    words >> overrides;
    Configuration configuration;
    const auto value = simulation::number(seed);
    const Status status = value ? set_fields(configuration, overrides) : invalid_argument("not a seed: " + seed);
    if (!status.ok()) {
      std::cerr << "simulate: " << options.corpus << ":" << number << ": " << status.message() << "\n";
      return 2;
    }
    ++seeds;
    if (run_isolated(*value, configuration).is_good()) continue;
    std::cout << options.corpus << ":" << number << " fails again\n";
    report_failure(*value, configuration, options.bug, options.shrinks ? 60 : 0, std::cout);
    return 1;
  }
  std::cout << "corpus: " << seeds << " seeds are good\n";
  return 0;
}

int run_seeds(const Options& options) {
  Sweep plan = options.sweep;
  if (!options.has_time && plan.count == 0) plan.seconds = 20;
  if (!options.has_from) plan.from = std::strtoull(std::string(source_id(), 8).c_str(), nullptr, 16) * 1'000'000 + 1;
  const SweepResult result = sweep(plan, tell_progress);
  if (::isatty(STDERR_FILENO) != 0) std::cerr << "\n";
  tell_totals(result, std::cout);
  std::cout << ", source " << source_id() << ", from seed " << plan.from << "\n";
  for (const auto& [mark, count] : result.marks) std::cout << "reached " << count << " times: " << mark << "\n";
  if (!result.has_failed) return 0;
  Configuration configuration = draw_configuration(result.failed_seed);
  if (!set_fields(configuration, plan.overrides).ok()) return 2;
  if (result.failed_signal != 0) {
    std::cout << "seed " << result.failed_seed << " ended its process with signal " << result.failed_signal
              << "; with the same seeds before it: simulate --seeds "
              << result.failed_seed - plan.from + static_cast<uint64_t>(plan.jobs) << " --from " << plan.from
              << " --jobs " << plan.jobs << "\n";
  }
  report_failure(result.failed_seed, configuration, options.bug, options.shrinks ? 60 : 0, std::cout);
  return 1;
}

// Every run must be good, and no run may depend on anything but its seed.
int run_suite(Options options) {
  if (const int code = run_corpus(options); code != 0) return code;
  options.sweep.count = 20;
  options.sweep.must_agree = true;
  if (const int code = run_seeds(options); code != 0) return code;
  const char* const text = std::getenv("DROVER_SIMULATE_SECONDS");
  const auto time = seconds(text == nullptr ? "90" : text);
  if (!time) {
    std::cerr << "simulate: DROVER_SIMULATE_SECONDS is " << text << ": expected a time such as 90s\n";
    return 2;
  }
  options.sweep.count = 0;
  options.sweep.must_agree = false;
  options.sweep.seconds = *time;
  options.has_time = true;
  return run_seeds(options);
}

int run_mutants(const Options& options) {
  Sweep plan = options.sweep;
  if (!options.has_time) plan.seconds = 10;
  std::vector<MutantResult> results;
  for (const std::string& bug : plantable_bugs()) {
    if (!options.bug.empty() && bug != options.bug) continue;
    if (!plant_bug(bug).ok()) return 2;
    MutantResult result{.bug = bug, .sweep = sweep(plan, nullptr)};
    result.is_found = result.sweep.has_failed;
    if (result.is_found) {
      Configuration configuration = draw_configuration(result.sweep.failed_seed);
      (void)set_fields(configuration, plan.overrides);
      result.property = run_isolated(result.sweep.failed_seed, configuration).breach.property;
    }
    std::cerr << bug << ": " << (result.is_found ? "found: " + result.property : "not found") << "\n";
    results.push_back(std::move(result));
  }
  write_mutants(results, std::cout);
  return std::ranges::all_of(results, &MutantResult::is_found) ? 0 : 1;
}

int main(int argc, char** argv) {
  log::set_level(log::Level::error);
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "-h") return std::cout << kUsage, 0;
  if (first == "--bugs") {
    for (const std::string& bug : plantable_bugs()) std::cout << bug << "\n";
    return 0;
  }
  if (first == "--fields") {
    const Configuration usual;
    for (const ConfigurationField& field : configuration_fields())
      std::cout << field.name << "=" << usual.*field.place << "\n";
    return 0;
  }
  const Result<Options> options = parse(argc, argv);
  if (!options.ok()) {
    std::cerr << "simulate: " << options.status().message() << "\n\n" << kUsage;
    return 2;
  }
  if (!options->history.empty()) return judge_history(options->history);
  if (options->seed) return run_one(*options, *options->seed, options->sweep.overrides);
  if (options->is_mutants) return run_mutants(*options);
  if (options->is_suite) return run_suite(*options);
  if (!options->corpus.empty()) {
    if (const int code = run_corpus(*options); code != 0) return code;
    if (!options->has_time && options->sweep.count == 0) return 0;
  }
  return run_seeds(*options);
}

}  // namespace
}  // namespace drover::simulation

int main(int argc, char** argv) { return drover::simulation::main(argc, argv); }

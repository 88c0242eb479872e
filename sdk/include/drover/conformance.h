// The conformance kit: what a plugin must do, one check a promise, each a sentence. The same catalogue is run by
// `drover plugin test`, by the tests of this tree's plugins and by authors' tests.
//
//   Check  ──run on──▶  Subject: one plugin, fresh for each check, over its protocol
//                         ├ a program: the handshake, a socket, kill -9
//                         └ an object in this process: the same methods without a socket; a kill drops the object
//
// A check is pure description: it calls methods and looks at answers. When the plugin lacks something that it needs (a
// capability, a task that ends), its outcome is "not applicable", with the reason.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/hcl_value.h"
#include "drover/plugin_kind.h"
#include "drover/plugin_programs/channel.h"
#include "drover/plugin_programs/process.h"
#include "drover/result.h"

namespace drover {
class Configurable;
class Plugin;
}  // namespace drover

namespace drover::conformance {

// One plugin under test. One thread, but for channel(), whose channel any thread may use.
class Subject {
 public:
  virtual ~Subject() = default;
  // Leads to the living instance. Every call on it fails with unavailable after kill() or end().
  virtual plugin_programs::Channel& channel() = 0;
  virtual void kill() = 0;     // at once, as by SIGKILL; returns when it has gone
  virtual Status end() = 0;    // as a host does it; errors: it had to be killed
  virtual Status start() = 0;  // the next instance. Requires: none lives
  // How the last instance ended and what it said last, for people; empty while one lives.
  virtual std::string epitaph() const = 0;
};

// A program and its process, for checks of the handshake and of what only a process can do.
class ProgramSubject : public Subject {
 public:
  virtual const plugin_programs::Program& program() const = 0;
  virtual const std::string& socket() const = 0;
  virtual int pid() const = 0;
};

// Errors: why no instance could be made.
using SubjectFactory = std::function<Result<std::unique_ptr<Subject>>()>;

// `program` is started with the environment of a plugin's host. Its sockets are made in a folder that goes with it.
SubjectFactory program_subject(plugin_programs::Program program);
// Each instance is what `make` gives, an object with the interface of that kind; it is told to stop and destroyed at a
// kill, too. A driver's test has configured it; objects of other kinds are configured as programs are.
SubjectFactory object_subject(const PluginKind& kind, std::function<std::unique_ptr<Configurable>()> make);
SubjectFactory driver_subject(std::function<std::unique_ptr<TaskDriver>()> make);

// A task that the driver can run, by what the kit uses it for.
struct TaskSpec {
  hcl::Value config;               // the job's `config` block, an object
  std::optional<int> exit_code{};  // of "ending"
  std::string out{}, err{};        // what "talking" writes to standard output and standard error
  std::string place{};             // where it is described, "acme.hcl:12: task \"endless\""; empty: nowhere
};

// A check that the provider can run, by what comes of it.
struct CheckSpec {
  std::string type;
  hcl::Value options{hcl::Object()};  // by the type's schema
  std::string address = "127.0.0.1";
  uint32_t port = 0;
  std::string place{};  // as a task's
};

// A login, by what comes of it.
struct LoginSpec {
  std::string config = "{}";  // of the auth method, JSON
  std::string token{};
  std::string subject{};  // of "good" and "browser": who it is; empty: whoever it is
  std::string path{};     // of "invalid": where the error is; empty: anywhere
  // For "browser": a shell's command that goes to the URL in DROVER_LOGIN_URL, as a person would, and prints the code.
  std::string visit{};
};

struct Setup {
  std::optional<hcl::Value> config{};  // the plugin's own, an object
  std::string config_place{};          // the file that it is from; empty: none
  // "endless" runs until it is stopped and ends at the driver's default signal; "deaf" does not end at SIGCONT;
  // "ending" ends within a second; "talking" writes, and runs on; "invalid" cannot be started.
  std::map<std::string, TaskSpec, std::less<>> tasks{};
  // "passing", "warning", "critical"; "slow" has no result within half a second; "invalid" has options that fit the
  // schema and that no run can satisfy.
  std::map<std::string, CheckSpec, std::less<>> checks{};
  // "good" and "refused" have a token, "browser" a visit; "invalid" has a config with an error in it.
  std::map<std::string, LoginSpec, std::less<>> logins{};
  // Returns all that is published for a node, as a text with the ID of each of its instances. Any thread may call.
  std::function<Result<std::string>(const std::string& node_id)> published{};
  // Absolute paths of what a driver that locks its tasks in runs them by: it lies in the root of each at the same path.
  std::vector<std::string> programs{};
  bool runs_programs = true;  // commands in tasks are programs: /bin/sh is there
  bool is_sdk = false;        // made with this SDK: errors have the codes of drover/task_driver.h
  std::chrono::nanoseconds limit = std::chrono::seconds(20);  // of one call, and so of what is waited for
};

// Reads a setup's tasks, checks and logins from HCL. Errors: invalid_argument naming the place; a kind described
// twice and a file without blocks are errors, too.
//
//   task "endless" { config { … } }                        and exit_code, stdout, stderr
//   check "passing" { type = "…"  options { … } }          and address, port
//   login "good" { token = "…"  config { … } }             and subject, path, visit
//   published { command = "…" }                            a shell's, which prints it for the node in DROVER_NODE_ID
Status read_tasks(const std::string& file_name, std::string text, Setup& setup);
// Tasks of well-known shapes for what is missing: drivers that take `command` and `args`, or `run_for`. Asks the
// plugin for its schema. Errors: those of the plugin.
Status guess_tasks(const SubjectFactory& factory, Setup& setup);
// Checks that the plugin's schemas take its configuration, and every task or check that has a place. Errors:
// invalid_argument naming the place. Faults of the plugin itself are left to the checks.
Status check_setup(const PluginKind& kind, const SubjectFactory& factory, const Setup& setup);
// Asks the plugin for its kind.
Result<const PluginKind*> kind_of(const SubjectFactory& factory);

class Trial;

struct Check {
  enum Needs : uint32_t {
    nothing = 0,
    program = 1,  // a process of its own
    endless = 2,  // tasks of these kinds
    ending = 4,
    deaf = 8,
    talking = 16,
    invalid = 32,
    signals = 64,  // capabilities of the driver
    exec = 128,
    no_exec = 256,
    stats = 512,
    network = 1024,
    no_network = 2048,
    sdk = 4096,         // Setup::is_sdk
    schema = 8192,      // takes a configuration of its own
    passing = 1 << 14,  // checks of these kinds
    warning = 1 << 15,
    critical = 1 << 16,
    slow = 1 << 17,
    refusable = 1 << 18,  // "invalid"
    published = 1 << 19,  // Setup::published
    good = 1 << 20,       // logins of these kinds
    refused = 1 << 21,
    browser = 1 << 22,
    misconfigured = 1 << 23,  // "invalid"
  };
  std::string_view name;      // "stop.idempotent": group and rest; constant for ever
  std::string_view sentence;  // what holds, in the author's words
  std::string_view remedy;    // what to look at when it does not
  uint32_t needs = nothing;
  Status (*run)(Trial&);

  std::string_view group() const { return name.substr(0, name.find('.')); }
};

// Lists the checks in the order of a plugin's life.
std::span<const Check> checks(const PluginKind& kind);
// Those whose name or sentence has `pattern` in it, "*" standing for anything; all for an empty one, that one alone for
// its whole name.
std::vector<const Check*> select(const PluginKind& kind, std::string_view pattern);

struct Outcome {
  enum class Verdict : uint8_t { passed, failed, not_applicable };
  Verdict verdict = Verdict::passed;
  std::string detail{};  // what was found, or why it does not apply
  std::chrono::nanoseconds took{};
};

// Never longer than some limits of the setup; a plugin that hangs fails. [any]
Outcome run(const Check& check, const SubjectFactory& factory, const Setup& setup);

// All of them, `parallel` at a time; `done` is called as each ends, by one thread after the other.
std::vector<Outcome> run_all(std::span<const Check* const> checks, const SubjectFactory& factory, const Setup& setup,
                             int parallel, const std::function<void(size_t index, const Outcome&)>& done);

// An author's shell: reads commands line by line from `in`, calls the plugin, prints answers as JSON to `out`; `help`
// lists the commands. Says what a crash was and how to go on. Ends the plugin, and the tasks that were started, at the
// end. Returns the number of commands that failed. Errors: the plugin does not start, or does not take its
// configuration; no command was read.
Result<int> run_shell(const SubjectFactory& factory, Setup setup, std::istream& in, std::ostream& out, bool has_prompt);

// Serves what a plugin in a shared object declares, of any kind that can be a program of its own, as one under a host,
// with a kernel in memory around it: a client in development mode. `config_file`: the plugin's own block; empty: none.
// One of the stable tier gets its configuration from the host, as a program does, and its calls are handed on to it.
// Never returns when all is well, else an exit status as serve_plugin() does (drover/serve.h). Once, from a process of
// its own.
int serve_module(Plugin& plugin, const std::string& config_file, int handshake);

}  // namespace drover::conformance

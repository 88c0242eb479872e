// drover dev nodesim: simulated nodes, to see what a cluster of many nodes asks of its servers.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>

#include "drover/command.h"
#include "drover/module.h"
#include "drover/thread_pool.h"
#include "drover/wire.h"
#include "figures.h"
#include "fleet.h"
#include "settings.h"

namespace drover::nodesim {
namespace {

constexpr auto kProgressEvery = std::chrono::seconds(1);

// Nobody calls the nodes: this process listens nowhere.
class NoCalls final : public Caller {
 public:
  void call(CallContext context, std::string, std::function<void(Result<Reply>)> done) override {
    done(refusal(context));
  }
  Result<Reply> call_and_wait(CallContext context, std::string) override { return refusal(context); }
  Result<std::unique_ptr<StreamCall>> open(CallContext context, std::string, StreamReceiver) override {
    return refusal(context);
  }

 private:
  static Status refusal(const CallContext& context) {
    return unimplemented("a simulated node has no " + context.method);
  }
};

class NodesimCommand final : public Command {
 public:
  std::string name() const override { return "dev nodesim"; }
  std::string synopsis() const override { return "Simulates nodes, to see what many of them ask of servers."; }
  std::string help() const override { return settings_help(); }

  int run(std::span<const std::string> arguments, CommandHost& host) override {
    if (std::ranges::any_of(arguments, [](const auto& w) { return w == "-h" || w == "-help" || w == "--help"; })) {
      host.out() << help();
      return 0;
    }
    const auto settings = parse_settings(arguments);
    if (!settings) return fail(host, settings.status());
    std::optional<Tls> tls;
    if (!settings->ca_file.empty()) {
      auto read =
          read_tls(settings->ca_file, settings->cert_file, settings->key_file, "server." + settings->region + ".nomad");
      if (!read) return fail(host, read.status());
      tls = *std::move(read);
    }
    auto* wire = static_cast<Wire*>(host.find_extension(Wire::kExtensionPoint, "grpc"));
    if (!wire) {
      return fail(host, failed_precondition(
                            "the wire between agents is not installed; put plugin grpc into the plugin folder"));
    }
    return simulate(*settings, std::move(tls), *wire, host);
  }

 private:
  static int fail(CommandHost& host, const Status& status) {
    host.err() << "Error: " << status.message() << "\n";
    return 1;
  }

  static int simulate(const Settings& settings, std::optional<Tls> tls, Wire& wire, CommandHost& host) {
    // Before any thread exists, so that all inherit the mask.
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, nullptr);

    SystemClock clock;
    Figures figures;
    NoCalls nobody;
    ThreadPool pool({.workers = 2}, clock);
    wire.start(
        {.router = nobody,
         .form_of = [](std::string_view) { return MethodForm::unknown; },
         .executor = pool,
         .clock = clock,
         .tls = std::move(tls),
         .verify_node = [](const Uuid&, const std::string&) { return permission_denied("no node attaches here"); },
         .unreachable = [](const std::string&) {}});
    Fleet fleet(settings, wire, pool, clock, figures);
    fleet.start();
    follow(settings, fleet, figures, clock, ends, host);
    const Fleet::Progress last = fleet.progress();
    fleet.stop();
    wire.stop();
    pool.stop();
    host.out() << "nodes ready " << last.ready << " of " << settings.count << ", allocations running " << last.running
               << "\n\n"
               << figures.table();
    if (!last.last_error.empty()) host.out() << "last error: " << last.last_error << "\n";
    return last.ready > 0 ? 0 : 1;
  }

  // Returns when the time is over or a signal came.
  static void follow(const Settings& settings, Fleet& fleet, const Figures& figures, Clock& clock, const sigset_t& ends,
                     CommandHost& host) {
    const SteadyTime began = clock.steady();
    const SteadyTime end = settings.duration ? began + *settings.duration : SteadyTime::max();
    SteadyTime progress = began + kProgressEvery;
    SteadyTime storm = settings.in_step ? began + *settings.course.report_every : SteadyTime::max();
    for (SteadyTime now = began; now < end; now = clock.steady()) {
      const auto wait = std::max<std::chrono::nanoseconds>(std::min({progress, storm, end}) - now, {});
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wait);
      const timespec limit{.tv_sec = seconds.count(), .tv_nsec = (wait - seconds).count()};
      if (sigtimedwait(&ends, nullptr, &limit) > 0) return;
      if (clock.steady() >= storm) {
        storm += *settings.course.report_every;
        fleet.report_all();
      }
      if (clock.steady() < progress) continue;
      progress += kProgressEvery;
      const Fleet::Progress is = fleet.progress();
      host.err() << "nodes ready " << is.ready << " of " << settings.count << ", allocations running " << is.running
                 << ", heartbeats " << figures.count(Kind::heartbeat) << ", reports " << figures.count(Kind::report)
                 << ", errors " << figures.errors() << (is.last_error.empty() ? "" : " (" + is.last_error + ")") << "\n"
                 << std::flush;
    }
  }
};

class NodesimPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override { return declare.extend<Command>(command_.name(), command_); }
  Status start(Host&) override { return ok_status(); }
  void stop(SteadyTime) override {}

 private:
  NodesimCommand command_;
};

}  // namespace
}  // namespace drover::nodesim

DROVER_MODULE(drover::nodesim::NodesimPlugin, "module", "nodesim", "0.1.0");

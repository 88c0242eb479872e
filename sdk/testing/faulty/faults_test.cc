// Every check of the conformance kit can fail: for each there is a plugin with a fault that it notices.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <thread>

#include "../../serve/kind_methods.h"
#include "../conformance/driver_subject.h"
#include "device_reference.h"
#include "drover/external/handshake.h"
#include "faults.h"
#include "kind_references.h"

extern char** environ;

namespace drover::faulty {
namespace {

using namespace std::chrono_literals;
using conformance::Check;
using conformance::Outcome;
using Verdict = Outcome::Verdict;

class FaultyInstance final : public conformance::Instance {
 public:
  FaultyInstance(const std::shared_ptr<World>& world, const Fault* fault)
      : driver_(world, fault ? fault->form : Form()),
        methods_(reference_methods(driver_, fault ? fault->form : Form(), [] {})) {
    if (fault) fault->apply(methods_, world);
    track(methods_, world);
  }
  const serve::Methods& methods() const override { return methods_; }
  void stop() override { driver_.stop(); }

 private:
  ReferenceDriver driver_;
  serve::Methods methods_;
};

// A world for each subject, and for the instances that follow in it.
conformance::SubjectFactory with(const Fault* fault) {
  return [fault]() {
    auto world = std::make_shared<World>();
    return conformance::instance_subject([world, fault] { return std::make_unique<FaultyInstance>(world, fault); })();
  };
}

conformance::SubjectFactory program(const std::string& fault) {
  return conformance::program_subject(
      {.file = FAULTY_PLUGIN, .arguments = {fault}, .environment = external::plugin_environment(environ)});
}

// A reference of another kind.
template <typename Plugin>
class FaultyObject final : public conformance::Instance {
 public:
  FaultyObject(const std::shared_ptr<World>& world, const Fault* fault)
      : world_(world),
        methods_(serve::methods_of(plugin_,
                                   {.name = "reference", .own_name = "reference", .version = "1.0.0", .end = [] {}})) {
    {
      const std::lock_guard lock(world->mutex);
      ++world->instances;
      world->in_flight.clear();
    }
    if (fault) fault->apply(methods_, world);
    track(methods_, world);
  }
  const serve::Methods& methods() const override { return methods_; }
  void stop() override {
    const std::lock_guard lock(world_->mutex);
    world_->crashed_in.insert(world_->in_flight.begin(), world_->in_flight.end());
  }

 private:
  const std::shared_ptr<World> world_;
  Plugin plugin_;
  serve::Methods methods_;
};

template <typename Plugin>
conformance::SubjectFactory object_with(const Fault* fault) {
  return [fault]() {
    auto world = std::make_shared<World>();
    return conformance::instance_subject(
        [world, fault] { return std::make_unique<FaultyObject<Plugin>>(world, fault); })();
  };
}

// The check that a fault is tried with: its own.
std::vector<const Check*> check_of(const PluginKind& kind, std::string_view fault) {
  std::vector<const Check*> out;
  for (const Check& check : conformance::checks(kind)) {
    if (check.name == fault) out.push_back(&check);
  }
  return out;
}

const std::vector<std::string> kProgramFaults = {"handshake.no-cookie",      "handshake.wrong-cookie",
                                                 "handshake.first-line",     "handshake.one-line",
                                                 "handshake.core-version",   "handshake.plugin-version",
                                                 "handshake.unix",           "handshake.grpc",
                                                 "handshake.address",        "handshake.no-tls",
                                                 "handshake.socket-private", "handshake.tls",
                                                 "handshake.twice",          "handshake.other-hosts",
                                                 "handshake.interrupt",      "handshake.terminate",
                                                 "handshake.shutdown",       "handshake.shutdown-with-waits",
                                                 "handshake.socket-removed", "crash.start",
                                                 "crash.callers-learn",      "logs.after-crash",
                                                 "limits.descriptors",       "limits.slow-socket",
                                                 "limits.broken-connection", "limits.noise-on-socket"};

std::vector<const Fault*> all_faults() {
  std::vector<const Fault*> out;
  for (const auto part : {early_faults(), task_faults(), look_faults(), later_faults()}) {
    for (const Fault& fault : part) out.push_back(&fault);
  }
  return out;
}

std::string describe(const std::vector<const Check*>& checks, const std::vector<Outcome>& outcomes) {
  std::string text;
  for (size_t i = 0; i < checks.size(); ++i) {
    if (outcomes[i].verdict == Verdict::failed) text += std::string(checks[i]->name) + ": " + outcomes[i].detail + "\n";
  }
  return text;
}

std::set<std::string> failed(const std::vector<const Check*>& checks, const std::vector<Outcome>& outcomes) {
  std::set<std::string> out;
  for (size_t i = 0; i < checks.size(); ++i) {
    if (outcomes[i].verdict == Verdict::failed) out.emplace(checks[i]->name);
  }
  return out;
}

// The results of every fault's checks; some run at once, for most of the time they wait.
struct Trying {
  std::string fault;
  std::vector<const Check*> checks;
  conformance::SubjectFactory factory;
  std::vector<Outcome> outcomes{};
};
void try_all(std::vector<Trying>& all, const conformance::Setup& setup, int at_once, int parallel) {
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < at_once; ++i) {
    threads.emplace_back([&] {
      for (size_t mine = next++; mine < all.size(); mine = next++)
        all[mine].outcomes = conformance::run_all(all[mine].checks, all[mine].factory, setup, parallel, {});
    });
  }
  for (std::thread& thread : threads) thread.join();
}

conformance::Setup impatient() {
  conformance::Setup setup = reference_setup();
  setup.limit = 1s;
  return setup;
}

class Faults : public ::testing::Test {
 protected:
  static constexpr int kMoreTries = 3;

  // Its own check notices each fault; others may. Some are a matter of moments, which come while others are tried
  // beside them: what nobody noticed is tried again, alone.
  void judge(const Trying& tried, const conformance::Setup& setup) {
    SCOPED_TRACE(tried.fault);
    bool is_noticed = failed(tried.checks, tried.outcomes).contains(tried.fault);
    for (int tries = 0; tries < kMoreTries && !is_noticed; ++tries) {
      is_noticed =
          failed(tried.checks, conformance::run_all(tried.checks, tried.factory, setup, 1, {})).contains(tried.fault);
    }
    EXPECT_TRUE(is_noticed) << "its check passes";
  }
};

TEST(Conformance, HasEnoughChecksWithNamesOfTheirOwn) {
  std::set<std::string_view> names, sentences;
  for (const Check& check : conformance::checks(TaskDriver::kKind)) {
    EXPECT_TRUE(names.insert(check.name).second) << check.name;
    EXPECT_TRUE(sentences.insert(check.sentence).second) << check.sentence;
    EXPECT_FALSE(check.remedy.empty()) << check.name;
  }
  EXPECT_GE(names.size(), 120u);
}

TEST(Conformance, HasEachGroupInOnePiece) {
  for (const PluginKind& kind : plugin_kinds()) {
    std::set<std::string_view> before;
    std::string_view last;
    for (const Check& check : conformance::checks(kind)) {
      if (check.group() != last) {
        EXPECT_TRUE(before.insert(check.group()).second) << check.name << " is apart from its group";
      }
      last = check.group();
    }
  }
}

TEST(Conformance, ADriverWithoutFaultPassesInThisProcess) {
  for (const Form form : {Form(), Form{.can_exec = false, .makes_networks = false}}) {
    const Fault none{.name = "none", .apply = [](serve::Methods&, const std::shared_ptr<World>&) {}, .form = form};
    const auto checks = conformance::select(TaskDriver::kKind, "");
    const auto outcomes = conformance::run_all(checks, with(&none), reference_setup(), 16, {});
    EXPECT_EQ("", describe(checks, outcomes));
  }
}

TEST(Conformance, ADriverWithoutFaultPassesAsAProgram) {
  const auto checks = conformance::select(TaskDriver::kKind, "");
  const auto outcomes = conformance::run_all(checks, program(""), reference_setup(), 6, {});
  EXPECT_EQ("", describe(checks, outcomes));
}

TEST(Conformance, EveryCheckHasAFault) {
  std::set<std::string_view> faults(kProgramFaults.begin(), kProgramFaults.end());
  for (const Fault* fault : all_faults()) faults.insert(fault->name);
  for (const Check& check : conformance::checks(TaskDriver::kKind))
    EXPECT_TRUE(faults.erase(check.name)) << check.name << " has no fault that proves it";
  EXPECT_TRUE(faults.empty()) << *faults.begin() << " is no check";
}

TEST(Conformance, ADevicePluginWithoutFaultPasses) {
  const auto checks = conformance::select(DevicePlugin::kKind, "");
  EXPECT_EQ("", describe(checks, conformance::run_all(checks, object_with<ReferenceDevice>(nullptr), {}, 8, {})));
}

TEST(Conformance, EveryCheckOfDevicesHasAFault) {
  std::set<std::string_view> faults(kProgramFaults.begin(), kProgramFaults.end());
  for (const auto part : {early_faults(), device_faults()}) {
    for (const Fault& fault : part) faults.insert(fault.name);
  }
  size_t own = 0;
  const auto drivers = conformance::select(TaskDriver::kKind, "");
  for (const Check& check : conformance::checks(DevicePlugin::kKind)) {
    EXPECT_TRUE(faults.contains(check.name)) << check.name << " has no fault that proves it";
    own += std::ranges::find(drivers, check.sentence, [](const Check* c) { return c->sentence; }) == drivers.end();
  }
  EXPECT_GE(own, 30u);
}

TEST(Conformance, SamplesOfNoDeviceAreNotApplicable) {
  const Fault none{.name = "none", .apply = [](serve::Methods& methods, const std::shared_ptr<World>&) {
                     methods["/hashicorp.nomad.plugins.device.DevicePlugin/Stats"] = [](serve::Call& call) {
                       (void)call.send("");
                       return ok_status();
                     };
                   }};
  for (const char* name : {"stats.known", "stats.timestamp", "stats.summary"}) {
    const Outcome outcome =
        conformance::run(*check_of(DevicePlugin::kKind, name).at(0), object_with<ReferenceDevice>(&none), {});
    EXPECT_EQ(Verdict::not_applicable, outcome.verdict) << name << ": " << outcome.detail;
    EXPECT_EQ("the samples are of no instance", outcome.detail) << name;
  }
}

TEST_F(Faults, OfDevicesAreNoticedByTheirChecks) {
  conformance::Setup setup;
  setup.limit = 1s;
  std::vector<Trying> all;
  for (const Fault& fault : device_faults())
    all.push_back(
        {std::string(fault.name), check_of(DevicePlugin::kKind, fault.name), object_with<ReferenceDevice>(&fault)});
  try_all(all, setup, 8, 4);
  for (const Trying& one : all) judge(one, setup);
}

// ---- check providers, service providers and auth methods

class Kinds : public Faults {
 protected:
  Kinds() {
    char name[] = "/tmp/drover-kinds-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~Kinds() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  conformance::Setup setup(const PluginKind& kind) const {
    conformance::Setup setup = kinds_setup(folder_);
    if (kind == ServiceProvider::kKind) setup.config = hcl::Value(hcl::Object{{"folder", folder_}});
    return setup;
  }
  static conformance::SubjectFactory program(const std::string& kind, const std::string& fault = "") {
    return conformance::program_subject(
        {.file = KINDS_PLUGIN, .arguments = {kind, fault}, .environment = external::plugin_environment(environ)});
  }

  // Those of the kind that only a check of its own proves; the rest are the same for all kinds.
  static void expect_faults(const PluginKind& kind, std::span<const Fault> own_faults, size_t at_least) {
    std::set<std::string_view> faults(kProgramFaults.begin(), kProgramFaults.end()), own;
    for (const auto part : {early_faults(), own_faults}) {
      for (const Fault& fault : part) faults.insert(fault.name);
    }
    faults.insert("secrets.log");
    const auto drivers = conformance::select(TaskDriver::kKind, "");
    for (const Check& check : conformance::checks(kind)) {
      EXPECT_TRUE(faults.contains(check.name)) << check.name << " has no fault that proves it";
      if (std::ranges::find(drivers, check.name, [](const Check* c) { return c->name; }) == drivers.end()) {
        EXPECT_TRUE(own.insert(check.name).second) << check.name << " comes twice";
      }
    }
    EXPECT_GE(own.size(), at_least);
  }
  template <typename Reference>
  void expect_conforming(const PluginKind& kind) {
    const auto checks = conformance::select(kind, "");
    const auto outcomes = conformance::run_all(checks, object_with<Reference>(nullptr), setup(kind), 8, {});
    EXPECT_EQ("", describe(checks, outcomes));
    for (size_t i = 0; i < checks.size(); ++i) {
      if (!(checks[i]->needs & Check::program) && checks[i]->name != "login.lacking" &&
          !(checks[i]->needs & Check::schema)) {
        EXPECT_NE(Verdict::not_applicable, outcomes[i].verdict) << checks[i]->name << ": " << outcomes[i].detail;
      }
    }
  }
  template <typename Reference>
  void expect_noticed(const PluginKind& kind, std::span<const Fault> faults) {
    conformance::Setup impatient = setup(kind);
    impatient.limit = 1s;
    std::vector<Trying> all;
    for (const Fault& fault : faults)
      all.push_back({std::string(fault.name), check_of(kind, fault.name), object_with<Reference>(&fault)});
    try_all(all, impatient, 8, 4);
    for (const Trying& one : all) judge(one, impatient);
  }

  std::string folder_;
};

TEST_F(Kinds, HaveAFaultForEveryCheck) {
  expect_faults(CheckProvider::kKind, check_provider_faults(), 20);
  expect_faults(ServiceProvider::kKind, service_provider_faults(), 15);
  expect_faults(AuthMethod::kKind, auth_method_faults(), 20);
}

TEST_F(Kinds, WithoutFaultPass) {
  expect_conforming<ReferenceChecks>(CheckProvider::kKind);
  expect_conforming<ReferenceServices>(ServiceProvider::kKind);
  expect_conforming<ReferenceAuth>(AuthMethod::kKind);
}

TEST_F(Kinds, WithoutFaultPassAsPrograms) {
  for (const PluginKind& kind : {CheckProvider::kKind, ServiceProvider::kKind, AuthMethod::kKind}) {
    const auto checks = conformance::select(kind, "");
    EXPECT_EQ("", describe(checks, conformance::run_all(checks, program(std::string(kind.word)), setup(kind), 6, {})))
        << kind.name;
  }
}

TEST_F(Kinds, FaultsOfCheckProvidersAreNoticed) {
  expect_noticed<ReferenceChecks>(CheckProvider::kKind, check_provider_faults());
}

TEST_F(Kinds, FaultsOfServiceProvidersAreNoticed) {
  expect_noticed<ReferenceServices>(ServiceProvider::kKind, service_provider_faults());
}

TEST_F(Kinds, FaultsOfAuthMethodsAreNoticed) {
  expect_noticed<ReferenceAuth>(AuthMethod::kKind, auth_method_faults());
  const auto log = check_of(AuthMethod::kKind, "secrets.log");
  std::vector<Trying> programs{{"secrets.log", log, program("auth", "secrets.log")},
                               {"secrets.log", log, program("auth", "secrets.log-password")}};
  try_all(programs, setup(AuthMethod::kKind), 1, 1);
  for (const Trying& one : programs) judge(one, setup(AuthMethod::kKind));
}

TEST_F(Faults, AreNoticedByTheirChecks) {
  std::vector<Trying> all;
  for (const Fault* fault : all_faults())
    all.push_back({std::string(fault->name), check_of(TaskDriver::kKind, fault->name), with(fault)});
  try_all(all, impatient(), 12, 3);
  for (const Trying& one : all) judge(one, impatient());
}

TEST_F(Faults, ADriverThatSaysNotFoundOfTasksThatRunIsNoticed) {
  std::vector<const Check*> checks;
  for (const char* name : {"recover.after-crash", "recover.after-end", "recover.runs", "recover.started-at",
                           "recover.two", "crash.wait", "crash.three-times", "logs.after-crash"})
    checks.push_back(check_of(TaskDriver::kKind, name).at(0));
  const auto outcomes = conformance::run_all(checks, program("lost-tasks"), impatient(), 4, {});
  for (size_t i = 0; i < checks.size(); ++i) {
    EXPECT_EQ(Verdict::failed, outcomes[i].verdict) << checks[i]->name << ": " << outcomes[i].detail;
    EXPECT_TRUE(outcomes[i].detail.starts_with("RecoverTask says not found, and the task still runs (process "))
        << checks[i]->name << ": " << outcomes[i].detail;
  }
}

TEST_F(Faults, OfProgramsAreNoticedByTheirChecks) {
  std::vector<Trying> all;
  for (const std::string& fault : kProgramFaults)
    all.push_back({fault, check_of(TaskDriver::kKind, fault), program(fault)});
  try_all(all, impatient(), 4, 3);
  for (const Trying& one : all) judge(one, impatient());
}

}  // namespace
}  // namespace drover::faulty

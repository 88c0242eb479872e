// Virtual machines of a program that stands in for qemu, and of the machine's own where it has one.
#include "qemu_driver.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "drover/program.h"
#include "drover/plugin_programs/handshake.h"
#include "nomad/plugins/driver.pb.h"
#include "sdk/testing/driver_conformance.h"
#include "sdk/testing/driver_node.h"
#include "sdk/testing/exec_caller.h"
#include "sdk/testing/search_path.h"
#include "testing/guest.h"

namespace drover::qemu {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

const std::string kMachinesPath = std::getenv("PATH");  // before a test had another

// With an image that the operator allows and, unless it is told otherwise, the other program as qemu in the PATH.
class Node : public DriverNode {
 public:
  explicit Node(bool is_fake = true) : DriverNode(make) {
    std::filesystem::create_directories(path("images"));
    std::ofstream(image()) << guest_image();
    if (!is_fake) return;
    std::filesystem::create_directories(path("bin"));
    std::filesystem::create_symlink(FAKE_QEMU, path("bin/qemu-system-x86_64"));
    path_.emplace(SearchPath::with(path("bin")));
  }
  std::string image() const { return path("images/guest.img"); }
  driver::TaskConfig machine(Json options) const {
    options["image_path"] = image();
    driver::TaskConfig config = task("a", options);
    config.mutable_resources()->mutable_allocated_resources()->mutable_memory()->set_memory_mb(128);
    return config;
  }

 private:
  static std::unique_ptr<QemuDriver> make(const Place& place) {
    auto driver = std::make_unique<QemuDriver>();
    const std::string images = std::filesystem::path(place.launcher.folder).parent_path() / "images";
    driver->open({.image_paths = {images}, .cgroup_parent = place.cgroup_parent, .launcher = place.launcher});
    return driver;
  }

  std::optional<SearchPath> path_;
};

using Shared = SharedNode<Node>;
const ::testing::Environment* const kShared = ::testing::AddGlobalTestEnvironment(new Shared);

conformance::TaskSpec running(const std::string& fake) {
  return {.config = hcl::Value(hcl::Object{{"image_path", hcl::Value(Shared::get().image())},
                                           {"args", hcl::List{hcl::Value("-fake"), hcl::Value(fake)}}})};
}

conformance::Setup setup() {
  conformance::Setup all;
  all.is_sdk = true;
  all.config = hcl::Value(hcl::Object{{"launcher_dir", hcl::Value(Shared::get().path("program"))},
                                      {"image_paths", hcl::List{hcl::Value(Shared::get().path("images"))}}});
  all.tasks["endless"] = all.tasks["deaf"] = running("run");
  all.tasks["ending"] = running("exit 7");
  all.tasks["ending"].exit_code = 7;
  all.tasks["talking"] = running("talk");
  all.tasks["talking"].out = "this is out\n";
  all.tasks["talking"].err = "this is err\n";
  all.tasks["invalid"] = {.config = hcl::Value(hcl::Object{{"image_path", "/etc/passwd"}})};
  return all;
}

conformance::SubjectFactory object() {
  return conformance::driver_subject([] { return Shared::get().another_driver(); });
}
conformance::SubjectFactory program() {
  (void)Shared::get();  // its qemu is in the environment
  return conformance::program_subject(
      {.file = QEMU_PROGRAM, .arguments = {}, .environment = plugin_programs::plugin_environment(environ)});
}
DROVER_DRIVER_CONFORMANCE_WITH(Qemu, object(), setup());
DROVER_DRIVER_CONFORMANCE_WITH(QemuProgram, program(), setup());

TEST(QemuDriver, RunsQemuInTheTasksFolder) {
  Node node;
  (void)node.said(node.machine({{"args", {"-smp", "2", "-fake", "exit 0"}}}));
  EXPECT_EQ("-machine\ntype=pc,accel=tcg\n-name\nguest.img\n-m\n128M\n-drive\nfile=" + node.image() +
                ",if=ide\n-nographic\n-smp\n2\n-fake\nexit 0\n",
            read_text(node.root() + "/words"));
}

TEST(QemuDriver, PressesThePowerButton) {
  Node node;
  OutputFifo out(node.path("out"));
  driver::TaskConfig config = node.machine({{"graceful_shutdown", true}});
  config.set_stdout_path(out.path());
  const auto started = node.driver().start_task(config);
  ASSERT_TRUE(started.ok()) << started.status().to_string();
  ASSERT_TRUE(eventually([&] { return out.text() == "up\n"; })) << out.text();
  node.restart();  // what it wants is found again with it
  ASSERT_TRUE(node.driver().recover_task(started->handle()).ok());

  EXPECT_TRUE(node.driver().stop_task("a", 60s, "SIGTERM").ok());

  EXPECT_EQ("up\npowered down\n", out.text());
  EXPECT_EQ(0, node.wait("a").exit_code());
  EXPECT_EQ(0, node.wait("a").signal());
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

TEST(QemuDriver, SignalsAMachineThatDoesNotPowerDownInTime) {
  Node node;
  node.start(node.machine({{"graceful_shutdown", true}, {"args", {"-fake", "deaf"}}}));
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(node.root() + "/qm.sock"); }));
  const auto began = Clock::now();
  EXPECT_TRUE(node.driver().stop_task("a", 500ms, "SIGTERM").ok());
  EXPECT_GE(Clock::now() - began, 500ms);
  EXPECT_EQ(SIGTERM, node.wait("a").signal());
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

TEST(QemuDriver, SignalsAtOnceWhatHasNoPowerButton) {
  Node node;
  node.start(node.machine({{"args", {"-fake", "run"}}}));
  const auto began = Clock::now();
  EXPECT_TRUE(node.driver().stop_task("a", 120s, "").ok());
  EXPECT_LT(Clock::now() - began, 60s);
  EXPECT_EQ(SIGINT, node.wait("a").signal());
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

// A socket that hears whether somebody connects.
class Listener {
 public:
  explicit Listener(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(0, ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address));
    EXPECT_EQ(0, ::listen(fd_.get(), 1));
  }
  bool has_caller() const {
    pollfd watched{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    return ::poll(&watched, 1, 0) == 1;
  }

 private:
  Fd fd_;
};

TEST(QemuDriver, TalksToNobodyElseThroughALinkOfTheTask) {
  Node node;
  const Listener other(node.path("other"));
  node.start(node.machine({{"graceful_shutdown", true}}));
  const std::string socket = node.root() + "/qm.sock";
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(socket); }));
  std::filesystem::remove(socket);
  std::filesystem::create_symlink(node.path("other"), socket);

  EXPECT_TRUE(node.driver().stop_task("a", 120s, "SIGTERM").ok());

  EXPECT_FALSE(other.has_caller());
  EXPECT_EQ(SIGTERM, node.wait("a").signal());
  EXPECT_TRUE(node.driver().destroy_task("a", false).ok());
}

TEST(QemuDriver, TakesNoSignalsAndRunsNoCommands) {
  Node node;
  node.start(node.machine({{"args", {"-fake", "run"}}}));
  EXPECT_EQ("Qemu driver can't signal commands", node.driver().signal_task("a", "SIGHUP").message());
  ExecCaller caller;
  EXPECT_EQ("Qemu driver can't execute commands",
            node.driver().exec_task_streaming({.task_id = "a", .command = {"true"}, .tty = false}, caller).message());
  EXPECT_FALSE(node.driver().capabilities().exec());
  EXPECT_FALSE(node.driver().capabilities().send_signals());
  EXPECT_EQ(driver::DriverCapabilities::IMAGE, node.driver().capabilities().fs_isolation());
  EXPECT_TRUE(node.driver().destroy_task("a", true).ok());
}

TEST(QemuDriver, TellsTheOnePortThatItForwards) {
  for (const bool is_one : {true, false}) {
    Node node;
    Json ports = {{"http", 80}};
    if (!is_one) ports["ssh"] = 22;
    driver::TaskConfig config = node.machine({{"args", {"-fake", "run"}}, {"port_map", ports}});
    for (const char* label : {"http", "ssh"}) {
      driver::PortMapping& port = *config.mutable_resources()->add_ports();
      port.set_label(label);
      port.set_value(25000);
    }
    const auto started = node.driver().start_task(config);
    ASSERT_TRUE(started.ok()) << started.status().to_string();
    EXPECT_EQ(is_one ? 1 : 0, started->network_override().port_map_size());
    if (is_one) {
      EXPECT_EQ(80, started->network_override().port_map().at("http"));
    }
    EXPECT_EQ("", started->network_override().addr());
    EXPECT_TRUE(node.driver().destroy_task("a", true).ok());
  }
}

TEST(QemuDriver, NamesWhatIsWrong) {
  Node node;
  EXPECT_EQ("image_path must be set", node.driver().encode_config("{}").status().message());
  EXPECT_TRUE(node.driver().encode_config(R"({"image_path": "local/a.img", "port_map": {"http": 80}})").ok());
  driver::TaskConfig config = node.machine({{"drive_interface", "usb"}});
  EXPECT_EQ(invalid_argument("Unsupported drive_interface"), node.driver().start_task(config).status());
  config = node.machine(Json::object());
  config.mutable_resources()->mutable_allocated_resources()->mutable_memory()->set_memory_mb(100);
  EXPECT_EQ(invalid_argument("Qemu memory assignment out of bounds"), node.driver().start_task(config).status());
  std::filesystem::rename(node.image(), node.path("guest.img"));
  EXPECT_EQ(invalid_argument("image_path " + node.image() + ": there is no such file"),
            node.driver().start_task(node.machine(Json::object())).status());
  QemuDriver strict;
  strict.open({.args_allowlist = {"-smp"}});
  EXPECT_EQ(invalid_argument("\"-s\" is not in args_allowlist"),
            strict.encode_config(R"({"image_path": "a", "args": ["-smp", "2", "-s"]})").status());
}

TEST(QemuDriver, IsDetectedByTheVersionOfQemu) {
  Node node;
  const driver::FingerprintResponse print = node.driver().fingerprint();
  EXPECT_EQ(driver::FingerprintResponse::HEALTHY, print.health());
  EXPECT_EQ("7.2.22", print.attributes().at("driver.qemu.version").string_val());
  EXPECT_EQ("1", print.attributes().at("driver.qemu").string_val());

  std::filesystem::create_directories(node.path("odd"));
  std::ofstream(node.path("odd/qemu-system-x86_64")) << "#!/bin/sh\necho nothing\n";
  std::filesystem::permissions(node.path("odd/qemu-system-x86_64"), std::filesystem::perms::owner_all);
  for (const auto& [folder, why] :
       {std::pair("odd", "Failed to parse qemu version from nothing\n"),
        std::pair("none",
                  "failed to resolve path to \"qemu-system-x86_64\" executable: exec: \"qemu-system-x86_64\": "
                  "executable file not found in $PATH")}) {
    const SearchPath only(node.path(folder));
    const driver::FingerprintResponse none = node.driver().fingerprint();
    EXPECT_EQ(driver::FingerprintResponse::UNDETECTED, none.health());
    EXPECT_EQ(why, none.health_description());
    EXPECT_TRUE(none.attributes().empty());
  }
}

// The machine's own qemu, and a guest that powers off when its power button is pressed.
class RealQemu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!find_machine_program("qemu-system-x86_64"))
      GTEST_SKIP() << "missing: qemu-system-x86_64 (the package qemu-system-x86)";
  }
  // A guest that powers off at once, by the processor's own means.
  bool has_kvm() const {
    const std::string image = node_.path("images/brief.img");
    std::ofstream(image) << guest_image(false);
    return ::access("/dev/kvm", R_OK | W_OK) == 0 &&
           ask_program({.program = "qemu-system-x86_64",
                        .arguments = {"-machine", "type=pc,accel=kvm", "-enable-kvm", "-cpu", "host", "-m", "128M",
                                      "-drive", "file=" + image + ",format=raw", "-display", "none"},
                        .time = 20s})
               .ok();
  }
  void runs_and_powers_down(const char* accelerator) {
    driver::TaskConfig config = node_.machine({{"graceful_shutdown", true}, {"accelerator", accelerator}});
    config.set_stdout_path(out_.path());
    node_.start(config);
    ASSERT_TRUE(eventually([&] { return out_.text().find("guest is up\r\n") != std::string::npos; }, 60s))
        << out_.text();

    EXPECT_TRUE(node_.driver().stop_task("a", 60s, "SIGKILL").ok());

    EXPECT_NE(std::string::npos, out_.text().find("guest powers off\r\n")) << out_.text();
    EXPECT_EQ(0, node_.wait("a").exit_code());
    EXPECT_EQ(0, node_.wait("a").signal());
    EXPECT_TRUE(node_.driver().destroy_task("a", false).ok());
  }

  const SearchPath path_{kMachinesPath};
  Node node_{false};
  OutputFifo out_{node_.path("out")};
};

TEST_F(RealQemu, PowersDownAtItsButton) { runs_and_powers_down("tcg"); }

TEST_F(RealQemu, PowersDownAtItsButtonByTheHardware) {
  if (!has_kvm()) GTEST_SKIP() << "missing: a /dev/kvm on which qemu runs a guest";
  runs_and_powers_down("kvm");
}

TEST_F(RealQemu, TakesEveryOption) {
  driver::TaskConfig config = node_.machine({{"graceful_shutdown", true},
                                             {"guest_agent", true},
                                             {"drive_interface", "virtio"},
                                             {"args", {"-smp", "2"}},
                                             {"port_map", {{"http", 80}}}});
  driver::PortMapping& port = *config.mutable_resources()->add_ports();
  port.set_label("http");
  port.set_host_ip("127.0.0.1");  // any port that is free
  config.mutable_dns()->add_servers("10.1.2.3");
  config.mutable_dns()->add_searches("example.com");
  config.set_stdout_path(out_.path());
  node_.start(config);
  EXPECT_TRUE(eventually([&] { return out_.text().find("guest is up\r\n") != std::string::npos; }, 60s)) << out_.text();
  EXPECT_TRUE(std::filesystem::is_socket(node_.root() + "/qa.sock"));
  EXPECT_TRUE(node_.driver().stop_task("a", 60s, "").ok());
  EXPECT_EQ(0, node_.wait("a").exit_code());
  EXPECT_TRUE(node_.driver().destroy_task("a", false).ok());
}

TEST_F(RealQemu, TellsItsVersion) {
  EXPECT_EQ(driver::FingerprintResponse::HEALTHY, node_.driver().fingerprint().health());
  EXPECT_NE("", node_.driver().fingerprint().attributes().at("driver.qemu.version").string_val());
}

}  // namespace
}  // namespace drover::qemu

// The pure parts: options, the command line, versions; and which files may be images.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "command_line.h"
#include "image.h"
#include "nomad/plugins/driver.pb.h"
#include "qemu_options.h"

namespace drover::qemu {
namespace {

using Words = std::vector<std::string>;

Result<QemuTask> task_from(const char* json) {
  DROVER_TRY(TaskOptions raw, TaskOptions::from_json(json));
  return read_task(raw);
}

TEST(QemuOptions, RefuseWhatTheyDoNotKnow) {
  const struct {
    const char* json;
    const char* error;
  } cases[] = {
      {R"({"image_paths": ["/a", "b"]})", "config option \"image_paths\" must hold absolute paths, \"b\" is none"},
      {R"({"launcher_dir": "here"})", "config option \"launcher_dir\" must be an absolute path"},
      {R"({"image_path": ["/a"]})", "unknown config option \"image_path\"; did you mean \"image_paths\"?"},
  };
  for (const auto& c : cases) {
    auto raw = TaskOptions::from_json(c.json);
    EXPECT_EQ(invalid_argument(c.error), read_options(*raw).status());
  }
}

TEST(QemuTask, RefusesWhatItCannotBe) {
  const struct {
    const char* json;
    const char* error;
  } cases[] = {
      {"{}", "image_path must be set"},
      {R"({"image_path": "a", "drive_interface": "usb"})", "Unsupported drive_interface"},
      {R"({"image_path": "a", "args": "-s"})",
       "failed to decode driver config: config option \"args\" must be a list of texts"},
      {R"({"image_path": "a", "imag": 1})", "failed to decode driver config: unknown config option \"imag\""},
      {R"({"image_path": "a", "port_map": {"http": "web"}})",
       "failed to decode driver config: config option \"port_map\" must be a block of whole numbers"},
  };
  for (const auto& c : cases) {
    const Status status = task_from(c.json).status();
    EXPECT_EQ(Code::invalid_argument, status.code());
    EXPECT_TRUE(status.message().starts_with(c.error)) << status.message();
  }
}

TEST(QemuTask, GivesArgumentsThatTheOperatorAllows) {
  const Words list = {"-nodefaults", "-device", "-smp"};
  const struct {
    const char* name;
    Words arguments, allowed;
    const char* error;  // null: none
  } cases[] = {
      {"no list", {"-anything", "/dev/sda"}, {}, nullptr},
      {"on the list", {"-smp", "2", "-nodefaults", "-device", "virtio-rng"}, list, nullptr},
      {"not on it", {"-smp", "2", "-monitor", "stdio"}, list, "\"-monitor\" is not in args_allowlist"},
      {"whole words only", {"-smpx"}, list, "\"-smpx\" is not in args_allowlist"},
      {"behind blanks", {" -drive"}, list, "\" -drive\" is not in args_allowlist"},
      {"a drive that no option names",
       {"/dev/sda"},
       list,
       "\"/dev/sda\" in args is no option's value, and args_allowlist allows no other drives"},
      {"one behind an option without a value",
       {"-nodefaults", "/dev/sda"},
       list,
       "\"/dev/sda\" in args is no option's value, and args_allowlist allows no other drives"},
      {"one behind a value",
       {"-smp", "2", "/dev/sda"},
       list,
       "\"/dev/sda\" in args is no option's value, and args_allowlist allows no other drives"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(c.error ? invalid_argument(c.error) : ok_status(), check_arguments(c.arguments, c.allowed));
  }
}

driver::TaskConfig config() {
  driver::TaskConfig config;
  config.set_name("web");
  config.set_alloc_dir("/a");
  config.mutable_resources()->mutable_allocated_resources()->mutable_memory()->set_memory_mb(512);
  driver::NetworkResource& network = *config.mutable_resources()->mutable_allocated_resources()->add_networks();
  network.add_reserved_ports()->set_label("ssh");
  network.mutable_reserved_ports(0)->set_value(22000);
  driver::PortMapping& port = *config.mutable_resources()->add_ports();
  port.set_label("http");
  port.set_value(25000);
  port.set_to(8080);
  port.set_host_ip("10.0.0.1");
  config.mutable_resources()->mutable_linux_resources()->set_cpuset_cpus("0-3,7");
  return config;
}

TEST(CommandLine, FollowsTheTask) {
  const auto words = [](std::initializer_list<std::string> more, const std::string& drive = "file=/images/a.img,if=ide",
                        const std::string& machine = "type=pc,accel=tcg") {
    Words all = {"-machine", machine, "-name", "a.img", "-m", "512M", "-drive", drive, "-nographic"};
    all.insert(all.end(), more);
    return all;
  };
  const struct {
    const char* name;
    const char* json;
    Words expected;
  } cases[] = {
      {"an image alone", R"({"image_path": "x/a.img"})", words({})},
      {"another drive", R"({"image_path": "x/a.img", "drive_interface": "virtio"})",
       words({}, "file=/images/a.img,if=virtio")},
      {"an accelerator is one value", R"({"image_path": "a.img", "accelerator": "tcg,kernel=/etc/shadow"})",
       words({}, "file=/images/a.img,if=ide", "type=pc,accel=tcg,,kernel=/etc/shadow")},
      {"the hardware's, on the cores that are reserved", R"({"image_path": "a.img", "accelerator": "kvm"})",
       words({"-enable-kvm", "-cpu", "host", "-smp", "5"}, "file=/images/a.img,if=ide", "type=pc,accel=kvm")},
      {"a monitor", R"({"image_path": "a.img", "graceful_shutdown": true})",
       words({"-monitor", "unix:/a/web/qm.sock,server=on,wait=off"})},
      {"an agent of the guest, and arguments", R"({"image_path": "a.img", "guest_agent": true, "args": ["-smp", "2"]})",
       words({"-chardev", "socket,path=/a/web/qa.sock,server=on,wait=off,id=qga0", "-device", "virtio-serial",
              "-device", "virtserialport,chardev=qga0,name=org.qemu.guest_agent.0", "-smp", "2"})},
      {"a port of the task's network", R"({"image_path": "a.img", "port_map": {"ssh": 22}})",
       words({"-netdev", "user,id=user.0,hostfwd=udp::22000-:22,hostfwd=tcp::22000-:22", "-device",
              "virtio-net,netdev=user.0"})},
      {"one of the group's", R"({"image_path": "a.img", "port_map": [{"http": 80}]})",
       words({"-netdev", "user,id=user.0,hostfwd=udp:10.0.0.1:25000-:80,hostfwd=tcp:10.0.0.1:25000-:80", "-device",
              "virtio-net,netdev=user.0"})},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(c.expected, arguments_of(*task_from(c.json), config(), "/images/a.img").value_or({}));
  }
}

TEST(CommandLine, DoublesTheCommasOfPaths) {
  driver::TaskConfig task = config();
  task.set_alloc_dir("/a,b");
  EXPECT_EQ(
      Words({"-machine", "type=pc,accel=tcg", "-name", "c,,d.img", "-m", "512M", "-drive", "file=/a,,b/c,,d.img,if=ide",
             "-nographic", "-monitor", "unix:/a,,b/web/qm.sock,server=on,wait=off"}),
      arguments_of(*task_from(R"({"image_path": "c,d.img", "graceful_shutdown": true})"), task, "/a,b/c,d.img")
          .value_or({}));
}

TEST(CommandLine, ForwardsWithinTheNetworkOfItsGroup) {
  driver::TaskConfig task = config();
  task.mutable_network_isolation_spec()->set_path("/run/netns/x");
  task.mutable_dns()->add_servers("10.1.2.3");
  task.mutable_dns()->add_servers("10.1.2.4");
  task.mutable_dns()->add_searches("a.example");
  task.mutable_dns()->add_searches("b.example");
  const Words words =
      arguments_of(*task_from(R"({"image_path": "a", "port_map": {"http": 80}})"), task, "/a").value_or({});
  ASSERT_EQ(13U, words.size());
  EXPECT_EQ(
      "user,id=user.0,dns=10.1.2.3,dnssearch=a.example,dnssearch=b.example,hostfwd=udp::8080-:80,hostfwd=tcp::8080-:80",
      words[10]);
}

TEST(CommandLine, RefusesWhatQemuWouldNotTake) {
  const QemuTask plain = *task_from(R"({"image_path": "a"})");
  driver::TaskConfig task = config();
  for (const int64_t memory : {127, 4'000'001}) {
    task.mutable_resources()->mutable_allocated_resources()->mutable_memory()->set_memory_mb(memory);
    EXPECT_EQ(invalid_argument("Qemu memory assignment out of bounds"), arguments_of(plain, task, "/a").status());
  }
  EXPECT_EQ(invalid_argument("Unknown port label \"db\""),
            arguments_of(*task_from(R"({"image_path": "a", "port_map": {"db": 1}})"), config(), "/a").status());
  EXPECT_EQ(invalid_argument("port_map maps \"ssh\" to 65536, which is no port"),
            arguments_of(*task_from(R"({"image_path": "a", "port_map": {"ssh": 65536}})"), config(), "/a").status());
  // The longest path of a socket has 107 bytes: /N/web/qm.sock.
  driver::TaskConfig deep = config();
  for (const char* json :
       {R"({"image_path": "a", "graceful_shutdown": true})", R"({"image_path": "a", "guest_agent": true})"}) {
    deep.set_alloc_dir("/" + std::string(94, 'x'));
    EXPECT_TRUE(arguments_of(*task_from(json), deep, "/a").ok());
    deep.set_alloc_dir("/" + std::string(95, 'x'));
    const Status status = arguments_of(*task_from(json), deep, "/a").status();
    EXPECT_TRUE(
        status.message().starts_with("socket path /xxx") &&
        status.message().ends_with(".sock is longer than the maximum length allowed (108), try to reduce the task "
                                   "name or Nomad's data_dir if possible."))
        << status.message();
  }
}

TEST(Version, IsReadFromWhatQemuSays) {
  const struct {
    const char* text;
    const char* version;  // null: none
  } cases[] = {
      {"QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)\nCopyright", "7.2.22"},
      {"QEMU emulator version 2.0.0, Copyright", "2.0.0"},
      {"QEMU emulator version unknown, or version 10.1", "10.1"},
      {"QEMU emulator version ", nullptr},
      {"qemu: not found", nullptr},
      {"", nullptr},
  };
  for (const auto& c : cases)
    EXPECT_EQ(c.version ? std::optional<std::string>(c.version) : std::nullopt, parse_version(c.text)) << c.text;
}

class Image : public ::testing::Test {
 protected:
  Image() {
    char name[] = "/tmp/drover-image-XXXXXX";
    EXPECT_NE(nullptr, mkdtemp(name));
    folder_ = std::filesystem::canonical(name);
    for (const char* path : {"alloc/web/local/a.img", "alloc/alloc/shared.img", "images/deep/b.img", "elsewhere/c.img",
                             "images-too/d.img"})
      write(path);
  }
  ~Image() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& path) const {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + path).parent_path());
    std::ofstream(folder_ + "/" + path) << "an image";
  }
  void link(const std::string& to, const std::string& from) const {
    std::filesystem::create_symlink(folder_ + "/" + to, folder_ + "/" + from);
  }
  // Without the test's folder in it, or the error.
  std::string found(const std::string& path) const {
    const auto image =
        find_image(path, folder_ + "/alloc/web", folder_ + "/alloc", {folder_ + "/images", folder_ + "/none"});
    return image.ok() ? image->substr(folder_.size()) : image.status().message();
  }

  std::string folder_;
};

TEST_F(Image, LiesInTheAllocationOrWhereTheOperatorSays) {
  link("images/deep/b.img", "alloc/web/local/link.img");
  EXPECT_EQ("/alloc/web/local/a.img", found("local/a.img"));
  EXPECT_EQ("/alloc/alloc/shared.img", found("../alloc/shared.img"));
  EXPECT_EQ("/images/deep/b.img", found(folder_ + "/images/deep/b.img"));
  EXPECT_EQ("/images/deep/b.img", found("local/link.img"));
}

TEST_F(Image, LiesNowhereElse) {
  const std::string refused = "image_path is not in the allowed paths";
  link("elsewhere/c.img", "alloc/web/local/out.img");
  link("elsewhere", "images/out");
  for (const std::string& path :
       {folder_ + "/elsewhere/c.img", folder_ + "/elsewhere/none.img", folder_ + "/images-too/d.img",
        folder_ + "/images/../elsewhere/c.img", folder_ + "/images/out/c.img", std::string("local/out.img"),
        std::string("../../elsewhere/c.img")})
    EXPECT_EQ(refused, found(path)) << path;
}

TEST_F(Image, IsThere) {
  link("elsewhere/none.img", "alloc/web/local/dangling.img");
  EXPECT_EQ("image_path nbd:host:10809: there is no such file", found("nbd:host:10809"));  // no protocol of qemu's
  EXPECT_EQ("image_path local/none.img: there is no such file", found("local/none.img"));
  EXPECT_EQ("image_path local/dangling.img: there is no such file", found("local/dangling.img"));
}

}  // namespace
}  // namespace drover::qemu

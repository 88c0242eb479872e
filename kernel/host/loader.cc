#include "kernel/host/loader.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/dll/shared_library.hpp>
#include <filesystem>
#include <fstream>
#include <list>
#include <map>
#include <set>

#include "drover/clock.h"
#include "drover/passport.h"
#include "drover/sha256.h"
#include "drover/stable_plugin.h"

extern char** environ;

namespace drover::host {
namespace {

namespace fs = std::filesystem;
constexpr auto kProbeTime = std::chrono::seconds(10);

Result<std::string> read_small(const std::string& path) {
  constexpr size_t kLimit = 1 << 20;
  std::ifstream in(path, std::ios::binary);
  if (!in) return errno_status(errno, "open " + path);
  std::string text(kLimit + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > kLimit) return invalid_argument(path + ": larger than 1 MiB");
  return text;
}

std::string place(const PluginFile& file) { return "plugin " + file.manifest.name + " (" + file.path + ")"; }

std::string last_lines(const std::string& text, size_t limit) {
  std::string tail = text.size() > limit ? text.substr(text.size() - limit) : text;
  while (!tail.empty() && tail.back() == '\n') tail.pop_back();
  return tail;
}

// One of the stable tier, for the plugin that speaks the protocol of its kind: the kernel speaks none.
class Offer final : public Plugin {
 public:
  Offer(std::string name, std::string kind, StablePlugin::Entry* entry)
      : name_(std::move(name)), offer_{std::move(kind), entry} {}
  Status declare(Declarations& declare) override { return declare.extend<StablePlugin>(name_, offer_); }
  Status start(Host&) override { return ok_status(); }
  void stop(SteadyTime) override {}

 private:
  const std::string name_;
  StablePlugin offer_;
};

}  // namespace

CheckedFile::CheckedFile(CheckedFile&& other) noexcept
    : file_(std::move(other.file_)), fd_(std::exchange(other.fd_, -1)) {}

CheckedFile::~CheckedFile() {
  if (fd_ >= 0) close(fd_);
}

std::string CheckedFile::identity() const {
  struct stat info {};
  if (fstat(fd_, &info) != 0) return {};
  const auto ns = [](const timespec& t) { return std::to_string(t.tv_sec) + "." + std::to_string(t.tv_nsec); };
  return file_.manifest.name + " " + std::to_string(info.st_dev) + " " + std::to_string(info.st_ino) + " " +
         std::to_string(info.st_size) + " " + ns(info.st_mtim) + " " + ns(info.st_ctim);
}

Discovery discover(const std::vector<std::string>& folders) {
  Discovery found;
  std::map<std::string, PluginFile> by_name;
  std::set<std::string> claimed_twice;
  for (const std::string& folder : folders) {
    std::error_code error;
    std::vector<fs::path> manifests;
    for (auto at = fs::directory_iterator(folder, error); !error && at != fs::directory_iterator();
         at.increment(error)) {
      if (at->path().extension() == ".json") manifests.push_back(at->path());
    }
    std::ranges::sort(manifests);
    for (const fs::path& path : manifests) {
      PluginFile file{.manifest = {}, .manifest_path = path, .path = fs::path(path).replace_extension(".so")};
      auto bytes = read_small(path);
      auto manifest = bytes ? parse_manifest(*bytes) : Result<Manifest>(bytes.status());
      if (!manifest) {
        found.problems.push_back(manifest.status().with_context("plugin manifest " + path.string()));
        continue;
      }
      file.manifest = *std::move(manifest);
      auto [at, is_new] = by_name.try_emplace(file.manifest.name, file);
      if (!is_new) {
        claimed_twice.insert(file.manifest.name);
        found.problems.push_back(already_exists("plugin " + file.manifest.name + ": claimed by " +
                                                at->second.manifest_path + " and by " + file.manifest_path +
                                                "; remove one of them"));
      }
    }
  }
  for (auto& [name, file] : by_name) {
    if (!claimed_twice.contains(name)) found.plugins.push_back(std::move(file));
  }
  return found;
}

Result<CheckedFile> check_file(const PluginFile& file, const std::vector<std::string>& pinned) {
  const std::string where = place(file);
  int fd = open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 && errno == ELOOP) return failed_precondition(where + ": is a symbolic link; install the file itself");
  if (fd < 0) return errno_status(errno, where + ": open");
  CheckedFile checked(file, fd);
  struct stat info {};
  if (fstat(fd, &info) != 0) return errno_status(errno, where + ": stat");
  if (!S_ISREG(info.st_mode)) return failed_precondition(where + ": is not a regular file");
  if (info.st_mode & (S_IWGRP | S_IWOTH)) {
    return failed_precondition(where + ": can be written by others than its owner; run chmod go-w on it");
  }
  if (info.st_uid != 0 && info.st_uid != geteuid()) {
    return failed_precondition(where + ": belongs to user " + std::to_string(info.st_uid) + ", expected root or user " +
                               std::to_string(geteuid()));
  }
  DROVER_RETURN_IF_ERROR(check_digest(fd, pinned).status().with_context(where));
  DROVER_TRY(Passport passport, read_passport(fd).with_context(where));
  const Manifest& manifest = file.manifest;
  if (Status status = check_passport(passport, manifest.name, manifest.kind, manifest.version, manifest.tier);
      !status.ok()) {
    return status.with_context(where);
  }
  return checked;
}

Status probe(const std::string& program, const std::vector<const CheckedFile*>& files) {
  if (files.empty()) return ok_status();
  std::array<int, 2> output{};
  if (pipe2(output.data(), O_CLOEXEC) != 0) return errno_status(errno, "pipe for the plugin probe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output[1], 1);
  posix_spawn_file_actions_adddup2(&actions, output[1], 2);
  std::vector<std::string> arguments = {program, "plugin", "check", "--probe"};
  for (const CheckedFile* file : files) arguments.push_back(file->file().path);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(output[1]);
  if (failed != 0) {
    close(output[0]);
    return errno_status(failed, "start the plugin probe " + program);
  }
  std::string said;
  bool in_time = true;
  const SystemClock clock;
  const SteadyTime deadline = clock.steady() + kProbeTime;
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock.steady()).count();
    pollfd wait{.fd = output[0], .events = POLLIN, .revents = 0};
    if (left <= 0 || poll(&wait, 1, static_cast<int>(left)) == 0) {
      in_time = false;
      kill(child, SIGKILL);
      break;
    }
    std::array<char, 4096> buffer{};
    ssize_t got = read(output[0], buffer.data(), buffer.size());
    if (got <= 0) break;
    said.append(buffer.data(), static_cast<size_t>(got));
    if (said.size() > 1 << 16) said.erase(0, said.size() - (1 << 15));
  }
  close(output[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0) return ok_status();
  if (files.size() > 1) {  // which one it was
    for (const CheckedFile* file : files) DROVER_RETURN_IF_ERROR(probe(program, {file}));
  }
  std::string how = !in_time              ? "did not come to its end within ten seconds"
                    : WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status)) + " (" +
                                                strsignal(WTERMSIG(status)) + ")"
                                          : "exited with code " + std::to_string(WEXITSTATUS(status));
  const std::string words = last_lines(said, 2000);
  return failed_precondition(place(files.front()->file()) + ": the trial load in a process of its own " + how +
                             (words.empty() ? "" : "; its last words: " + words));
}

ProbeMemory::ProbeMemory(std::string path) : path_(std::move(path)) {
  std::ifstream in(path_);
  for (std::string line; std::getline(in, line);) known_.push_back(line);
}

bool ProbeMemory::knows(const CheckedFile& file) const {
  return std::ranges::find(known_, file.identity()) != known_.end();
}

void ProbeMemory::remember(const std::vector<const CheckedFile*>& files) {
  for (const CheckedFile* file : files) {
    std::erase_if(known_, [&](const std::string& line) { return line.starts_with(file->file().manifest.name + " "); });
    known_.push_back(file->identity());
  }
  const std::string temporary = path_ + ".new";
  std::ofstream out(temporary, std::ios::trunc);
  for (const std::string& line : known_) out << line << '\n';
  out.close();
  std::error_code ignored;  // see the class comment
  if (out) fs::rename(temporary, path_, ignored);
}

Result<std::unique_ptr<Plugin>> load(const CheckedFile& file) {
  const std::string where = place(file.file());
  try {
    // Through the descriptor that was checked. A copy of it stays open for ever: the loader knows the code by this
    // name, which another file must not get. The throwing form: the other one loses the loader's own words.
    const int kept = fcntl(file.fd(), F_DUPFD_CLOEXEC, 3);
    if (kept < 0) return errno_status(errno, where + ": keep open");
    auto mode = boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local;
    // Never unloaded: the list is never destroyed.
    static auto* const loaded = new std::list<boost::dll::shared_library>;
    auto& library = loaded->emplace_back("/proc/self/fd/" + std::to_string(kept), mode);
    const Manifest& manifest = file.file().manifest;
    if (manifest.tier == "stable") {
      return std::unique_ptr<Plugin>(std::make_unique<Offer>(
          manifest.name, manifest.kind, &library.get<decltype(drover_plugin_open)>("drover_plugin_open")));
    }
    auto open = library.get<Plugin*()>("drover_module_open");
    std::unique_ptr<Plugin> plugin(open());
    if (!plugin) return internal_error(where + ": its entry returned nothing");
    return plugin;
  } catch (const std::exception& problem) {
    return failed_precondition(where + ": cannot be loaded: " + problem.what());
  }
}

}  // namespace drover::host

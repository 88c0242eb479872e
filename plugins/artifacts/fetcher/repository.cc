#include "fetcher/repository.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "drover/base64.h"

extern char** environ;

namespace drover::artifacts {
namespace {

namespace fs = std::filesystem;

constexpr size_t kWordsShown = 1000;  // bytes at the end of what a program said

struct Ran {
  int code = -1;  // 127: it is not there
  std::string said;
};

// Runs a program to its end, with what it says on both streams.
Ran run(const std::vector<std::string>& words) {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 1);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], 2);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  Ran ran;
  if (error != 0) {
    ::close(pipe[0]);
    ran.code = 127;
    return ran;
  }
  std::array<char, 4096> part;
  for (ssize_t size = 0; (size = ::read(pipe[0], part.data(), part.size())) > 0 || (size < 0 && errno == EINTR);) {
    if (size > 0) ran.said.append(part.data(), static_cast<size_t>(size));
    if (ran.said.size() > 2 * kWordsShown) ran.said.erase(0, ran.said.size() - kWordsShown);
  }
  ::close(pipe[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ran;
}

Status outcome(const Ran& ran, const std::vector<std::string>& words) {
  if (ran.code == 0) return ok_status();
  const std::string& program = words[0];
  if (ran.code == 127) return failed_precondition(program + " must be available and on the PATH");
  std::string said = ran.said.substr(ran.said.size() - std::min(ran.said.size(), kWordsShown));
  while (!said.empty() && (said.back() == '\n' || said.back() == ' ')) said.pop_back();
  return unavailable(program + " " + words[1] + " exited with " + std::to_string(ran.code) + ": " + said);
}

Status carry_out(const std::vector<std::string>& words) { return outcome(run(words), words); }

// Neither an option nor several words for the programs that take it.
Status check_word(const std::string& name, const std::string& value) {
  const bool is_wrong = value.starts_with('-') || value.find_first_of(" \t\r\n") != std::string::npos;
  return is_wrong ? invalid_argument(name + " \"" + value + "\" is none") : ok_status();
}

class Git {
 public:
  Git(const Request& request, std::string folder) : request_(request), folder_(std::move(folder)) {}

  Status fetch() {
    ref_ = request_.option("ref");
    depth_ = request_.option("depth");
    DROVER_RETURN_IF_ERROR(check_word("ref", ref_));
    DROVER_RETURN_IF_ERROR(check_word("depth", depth_));
    if (!depth_.empty() && depth_.find_first_not_of("0123456789") != std::string::npos)
      return invalid_argument("depth \"" + depth_ + "\" is no number");
    if (request_.url.starts_with('-')) return invalid_argument("the address begins with a dash");
    DROVER_RETURN_IF_ERROR(set_environment());
    DROVER_RETURN_IF_ERROR(fs::exists(folder_ + "/.git") ? update() : clone());
    std::vector<std::string> words = git({"submodule", "update", "--init", "--recursive"});
    if (!depth_.empty()) words.insert(words.end(), {"--depth", depth_});
    return carry_out(words);
  }

 private:
  std::vector<std::string> git(std::vector<std::string> words) const {
    words.insert(words.begin(), {"git", "-C", folder_});
    return words;
  }

  Status set_environment() {
    ::setenv("GIT_TERMINAL_PROMPT", "0", 1);
    ::setenv("GIT_ALLOW_PROTOCOL", "http:https:ssh:git", 1);
    ::setenv("GIT_CONFIG_COUNT", "1", 1);
    ::setenv("GIT_CONFIG_KEY_0", "safe.directory", 1);
    ::setenv("GIT_CONFIG_VALUE_0", "*", 1);
    std::string ssh = "ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new";
    if (const std::string key = request_.option("sshkey"); !key.empty()) {
      DROVER_TRY(const std::string text, base64_decode(key).with_context("sshkey"));
      const std::string path = request_.scratch + "/key";
      const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      const bool is_written = fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
      if (fd >= 0) ::close(fd);
      if (!is_written) return unavailable("cannot write the key of sshkey");
      ssh += " -i " + path + " -o IdentitiesOnly=yes";
    }
    ::setenv("GIT_SSH_COMMAND", ssh.c_str(), 1);
    return ok_status();
  }

  Status clone() const {
    if (!fs::is_empty(folder_)) {
      return failed_precondition("the destination is not empty and is no git repository: give the artifact a folder "
                                 "of its own, destination = \"local/NAME\"");
    }
    std::vector<std::string> words = {"git", "clone"};
    if (!depth_.empty()) words.insert(words.end(), {"--depth", depth_});
    if (!depth_.empty() && !ref_.empty()) words.insert(words.end(), {"--branch", ref_});
    words.insert(words.end(), {"--", request_.url, folder_});
    const Status status = carry_out(words);
    if (!status.ok() && !depth_.empty() && !ref_.empty()) {
      return unavailable(status.message() + " (note that setting 'depth' requires 'ref' to be a branch or tag name)");
    }
    DROVER_RETURN_IF_ERROR(status);
    return ref_.empty() || !depth_.empty() ? ok_status() : carry_out(git({"checkout", ref_}));
  }

  Status update() const {
    DROVER_RETURN_IF_ERROR(carry_out(git({"fetch", "--tags", "origin"})));
    if (!ref_.empty()) DROVER_RETURN_IF_ERROR(carry_out(git({"checkout", ref_})));
    // On a branch it moves on; a tag or a commit stays.
    if (run(git({"symbolic-ref", "-q", "HEAD"})).code != 0) return ok_status();
    return carry_out(git({"pull", "--ff-only"}));
  }

  const Request& request_;
  const std::string folder_;
  std::string ref_, depth_;
};

Status fetch_mercurial(const Request& request, const std::string& folder) {
  const std::string revision = request.option("rev");
  DROVER_RETURN_IF_ERROR(check_word("rev", revision));
  if (request.url.starts_with('-')) return invalid_argument("the address begins with a dash");
  if (!fs::exists(folder + "/.hg")) {
    DROVER_RETURN_IF_ERROR(carry_out({"hg", "clone", "-U", "--", request.url, folder}));
  } else {
    DROVER_RETURN_IF_ERROR(carry_out({"hg", "pull", "--cwd", folder, request.url}));
  }
  std::vector<std::string> words = {"hg", "update", "--cwd", folder};
  if (!revision.empty()) words.push_back(revision);
  return carry_out(words);
}

}  // namespace

Status fetch_repository(const Request& request, const std::string& folder) {
  return request.getter == "hg" ? fetch_mercurial(request, folder) : Git(request, folder).fetch();
}

}  // namespace drover::artifacts

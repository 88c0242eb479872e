// The folder that a task has as its root, looked into from outside: its links lead where they lead the task, never out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/fd.h"
#include "drover/launcher.h"

namespace drover {

// Finds a user, by name or number, among the lines of passwd and group; of a number without a line it is all that is
// known. Pure. Errors: invalid_argument.
Result<Launcher::User> find_user_among(std::string_view name, std::string_view passwd, std::string_view group);

class RootFolder {
 public:
  // Something of this machine that is shown in there while the task runs.
  struct Shown {
    std::string target, source;
  };
  // Errors: those of open.
  static Result<RootFolder> open(const std::string& path, std::vector<Shown> shown = {});

  // By /etc/passwd in there. Where there is none, "nobody" is who it is on every machine. Errors: invalid_argument.
  Result<Launcher::User> find_user(const std::string& name) const;

  // Finds a command: in local, in the root itself, for a name without a slash in /usr/local/bin, /usr/bin and /bin, and
  // then in what is shown; returns its path in there. One of the task's own that cannot be executed is made
  // so. Errors: invalid_argument.
  Result<std::string> find_program(const std::string& name) const;

  // Gives the task's secrets, with what lies in them, to its user, unless somebody has them already.
  Status give_secrets(const Launcher::User& user) const;

 private:
  RootFolder(Fd folder, std::string path, std::vector<Shown> shown)
      : folder_(std::move(folder)), path_(std::move(path)), shown_(std::move(shown)) {}
  Fd find(const std::string& path, int flags) const;
  bool has_program(const std::string& path) const;
  bool shows_program(const std::string& path) const;
  std::string text_of(const std::string& path) const;       // empty when it cannot be read
  std::string link_in_root(const std::string& path) const;  // where it leads; empty: it is none
  // The machine's path of what stands at that place, links left alone; empty: nothing that is shown.
  std::string source_of(const std::string& path) const;
  // The same of what the task finds there, by the links that it follows.
  std::string shown_at(const std::string& path) const;

  Fd folder_;
  std::string path_;
  std::vector<Shown> shown_;
};

}  // namespace drover

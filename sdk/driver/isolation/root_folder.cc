#include "root_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <deque>
#include <filesystem>
#include <optional>
#include <utility>

#include "drover/open_below.h"

namespace drover {
namespace {

constexpr uint32_t kNobody = 65534;
constexpr int kMostLinks = 40;  // as the kernel's
constexpr size_t kLargestText = size_t{1} << 20;
constexpr mode_t kExecutable = 0555, kAnyExecutable = 0111;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<uint32_t> number_of(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

Result<Launcher::User> find_user_among(std::string_view name, std::string_view passwd, std::string_view group) {
  const std::optional<uint32_t> number = number_of(name);
  std::optional<Launcher::User> user;
  std::string_view called = name;
  for (const std::string_view line : split(passwd, '\n')) {
    const std::vector<std::string_view> fields = split(line, ':');  // name:password:user:group:…
    if (fields.size() < 4) continue;
    const std::optional<uint32_t> id = number_of(fields[2]), own_group = number_of(fields[3]);
    if (!id || !own_group || (fields[0] != name && number != id)) continue;
    user = Launcher::User{.id = *id, .group = *own_group, .groups = {*own_group}};
    called = fields[0];
    break;
  }
  if (!user && !number)
    return invalid_argument("unable to find user " + std::string(name) + ": no matching entries in passwd file");
  if (!user) return Launcher::User{.id = *number, .group = kNobody, .groups = {kNobody}};
  for (const std::string_view line : split(group, '\n')) {
    const std::vector<std::string_view> fields = split(line, ':');  // name:password:group:member,…
    if (fields.size() < 4) continue;
    const std::vector<std::string_view> members = split(fields[3], ',');
    const std::optional<uint32_t> id = number_of(fields[2]);
    if (id && *id != user->group && std::ranges::find(members, called) != members.end()) user->groups.push_back(*id);
  }
  return *std::move(user);
}

Result<RootFolder> RootFolder::open(const std::string& path, std::vector<Shown> shown) {
  Fd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) return errno_status(errno, "open the task's folder " + path);
  return RootFolder(std::move(folder), path, std::move(shown));
}

Fd RootFolder::find(const std::string& path, int flags) const {
  return open_below(folder_, "./" + path, flags, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
}

std::string RootFolder::link_in_root(const std::string& path) const {
  const Fd link = find(path, O_PATH | O_NOFOLLOW);
  char to[PATH_MAX];
  const ssize_t size = link ? ::readlinkat(link.get(), "", to, sizeof to) : -1;
  return size > 0 ? std::string(to, static_cast<size_t>(size)) : std::string();
}

std::string RootFolder::source_of(const std::string& path) const {
  const Shown* longest = nullptr;
  for (const Shown& one : shown_) {
    const bool is_below = path == one.target || path.starts_with(one.target + "/");
    if (is_below && (!longest || one.target.size() > longest->target.size())) longest = &one;
  }
  return longest ? longest->source + path.substr(longest->target.size()) : std::string();
}

std::string RootFolder::shown_at(const std::string& path) const {
  std::deque<std::string> left;
  const auto go_first = [&left](std::string_view way) {
    const std::vector<std::string_view> parts = split(way, '/');
    left.insert(left.begin(), parts.begin(), parts.end());
  };
  go_first(path);
  std::string at;
  for (int links = 0; !left.empty();) {
    const std::string part = std::move(left.front());
    left.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      at.erase(std::min(at.rfind('/'), at.size()));
      continue;
    }
    const std::string next = at + "/" + part, source = source_of(next);
    // A mount's own source is followed on the machine.
    const bool is_mount = std::ranges::any_of(shown_, [&](const Shown& one) { return one.target == next; });
    std::error_code none;  // it is no link
    const std::string to = source.empty() ? link_in_root(next)
                           : is_mount     ? std::string()
                                          : std::filesystem::read_symlink(source, none).string();
    if (to.empty()) {
      at = next;
      continue;
    }
    if (++links > kMostLinks) return {};
    if (to.starts_with('/')) at.clear();
    go_first(to);
  }
  return source_of(at);
}

bool RootFolder::shows_program(const std::string& path) const {
  const std::string source = shown_at(path);
  struct stat found {};
  return !source.empty() && ::stat(source.c_str(), &found) == 0 && S_ISREG(found.st_mode) &&
         (found.st_mode & kAnyExecutable) != 0;
}

std::string RootFolder::text_of(const std::string& path) const {
  const std::string source = shown_at("/" + path);
  const Fd file = source.empty() ? find(path, O_RDONLY | O_NONBLOCK)
                                 : Fd(::open(source.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  std::string text;
  char chunk[4096];
  ssize_t n = 0;
  while (file && text.size() < kLargestText && (n = ::read(file.get(), chunk, sizeof chunk)) > 0)
    text.append(chunk, static_cast<size_t>(n));
  return text;
}

Result<Launcher::User> RootFolder::find_user(const std::string& name) const {
  const std::string passwd = text_of("etc/passwd");
  if (passwd.empty() && name == "nobody") return Launcher::User{.id = kNobody, .group = kNobody, .groups = {kNobody}};
  return find_user_among(name, passwd, text_of("etc/group"));
}

bool RootFolder::has_program(const std::string& path) const {
  struct stat found {};
  const Fd file = find(path, O_PATH);
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return false;
  if ((found.st_mode & kAnyExecutable) != 0) return true;
  // One that has another name may be the machine's.
  const Fd own = found.st_nlink == 1 ? find(path, O_RDONLY | O_NONBLOCK) : Fd();
  return own && ::fchmod(own.get(), (found.st_mode & 07777) | kExecutable) == 0;
}

Result<std::string> RootFolder::find_program(const std::string& name) const {
  const std::string below = name.starts_with('/') ? name : "/" + name;
  const auto is_there = [this](const std::string& path) {
    return shows_program(path) || (source_of(path).empty() && has_program(path));
  };
  for (const std::string& path : {"/local" + below, below}) {
    if (is_there(path)) return path;
  }
  const bool is_plain = name.find('/') == std::string::npos;
  for (const char* folder : {"/usr/local/bin", "/usr/bin", "/bin"}) {
    const std::string path = folder + below;
    if (is_plain && is_there(path)) return path;
  }
  for (const Shown& one : shown_) {
    const std::string path = one.target + below;
    if (shows_program(path)) return path;
  }
  return invalid_argument("file " + name + " not found under path" + (is_plain ? "" : " " + path_));
}

namespace {

// Files and sockets of this process directly in the folder, in which nobody else could put anything yet. False: errno
// says why.
bool give_entries(const Fd& folder, const Launcher::User& user) {
  const int again = ::dup(folder.get());
  DIR* const entries = again < 0 ? nullptr : ::fdopendir(again);
  if (!entries) return false;
  bool is_given = true;
  while (const dirent* entry = is_given ? ::readdir(entries) : nullptr) {
    struct stat found {};
    if (::fstatat(folder.get(), entry->d_name, &found, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (found.st_uid != ::geteuid() || (!S_ISREG(found.st_mode) && !S_ISSOCK(found.st_mode))) continue;
    is_given = ::fchownat(folder.get(), entry->d_name, user.id, user.group, AT_SYMLINK_NOFOLLOW) == 0;
  }
  ::closedir(entries);
  return is_given;
}

}  // namespace

Status RootFolder::give_secrets(const Launcher::User& user) const {
  struct stat found {};
  const Fd folder =
      open_below(folder_, "secrets", O_RDONLY | O_DIRECTORY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
  if (!folder) return errno == ENOENT ? ok_status() : errno_status(errno, "open the task's secrets in " + path_);
  if (::fstat(folder.get(), &found) != 0) return errno_status(errno, "look at the task's secrets in " + path_);
  if (found.st_uid != ::geteuid() || found.st_uid == user.id) return ok_status();
  // The folder goes last: until then nobody else puts anything into it, and a start that fails here is tried whole.
  if (give_entries(folder, user) && ::fchown(folder.get(), user.id, user.group) == 0) return ok_status();
  return errno_status(errno, "give the task's secrets in " + path_ + " to its user");
}

}  // namespace drover

#include "chroot.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace drover::agent {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kMode = 07777;

struct Builder {
  const std::set<std::string>& skip;
  const std::stop_token& stop;

  // `like` is the machine's folder, links followed; so a folder keeps its mode and owner.
  static Status make_folder(const fs::path& target, const struct stat& like) {
    if (::mkdir(target.c_str(), 0700) != 0) {
      return errno == EEXIST ? ok_status() : errno_status(errno, "create " + target.string());
    }
    if (::chown(target.c_str(), like.st_uid, like.st_gid) != 0 || ::chmod(target.c_str(), like.st_mode & kMode) != 0) {
      return errno_status(errno, "set owner and mode of " + target.string());
    }
    return ok_status();
  }

  // Another file system, or one that is linked as often as it can be, or somebody else's that may not be linked.
  static Status copy_file(const fs::path& source, const fs::path& target, const struct stat& like) {
    std::error_code error;
    fs::copy_file(source, target, fs::copy_options::skip_existing, error);
    if (error) return errno_status(error.value(), "copy " + source.string() + " to " + target.string());
    if (::lchown(target.c_str(), like.st_uid, like.st_gid) != 0 || ::chmod(target.c_str(), like.st_mode & kMode) != 0) {
      return errno_status(errno, "set owner and mode of " + target.string());
    }
    return ok_status();
  }

  static Status embed_link(const fs::path& source, const fs::path& target) {
    std::error_code error;
    const fs::path to = fs::read_symlink(source, error);
    if (error) return errno_status(error.value(), "read the link " + source.string());
    if (::symlink(to.c_str(), target.c_str()) != 0 && errno != EEXIST) {
      return errno_status(errno, "make the link " + target.string());
    }
    return ok_status();
  }

  Status embed_file(const fs::path& source, const fs::path& target, const struct stat& like) const {
    if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, target.c_str(), AT_SYMLINK_FOLLOW) == 0 || errno == EEXIST)
      return {};
    return copy_file(source, target, like);
  }

  Status embed_folder(const fs::path& source, const fs::path& target, const struct stat& like) const {
    if (stop.stop_requested()) return cancelled("the task is not wanted any more");
    if (skip.contains(source.string())) return ok_status();
    DROVER_RETURN_IF_ERROR(make_folder(target, like));
    std::error_code error;
    for (fs::directory_iterator at(source, error), end; !error && at != end; at.increment(error)) {
      const fs::path from = at->path(), to = target / from.filename();
      struct stat found {};
      if (::lstat(from.c_str(), &found) != 0) continue;  // it has gone meanwhile
      if (S_ISDIR(found.st_mode)) {
        DROVER_RETURN_IF_ERROR(embed_folder(from, to, found));
      } else if (S_ISLNK(found.st_mode)) {
        DROVER_RETURN_IF_ERROR(embed_link(from, to));
      } else if (S_ISREG(found.st_mode)) {
        DROVER_RETURN_IF_ERROR(embed_file(from, to, found));
      }
    }
    return error ? errno_status(error.value(), "read " + source.string()) : ok_status();
  }
};

// Below `root`, whatever is written.
Result<fs::path> target_in(const std::string& root, const std::string& target) {
  const fs::path plain = fs::path(target).relative_path().lexically_normal();
  if (plain.empty() || plain == "." || *plain.begin() == "..") {
    return invalid_argument("chroot_env: \"" + target + "\" is not a path inside of a task's folder");
  }
  return fs::path(root) / (plain.has_filename() ? plain : plain.parent_path());
}

}  // namespace

Status build_chroot(const std::string& root, const Variables& entries, const std::set<std::string>& skip,
                    const std::stop_token& stop) {
  const Builder builder{skip, stop};
  for (const auto& [source, wanted] : entries) {
    DROVER_TRY(const fs::path target, target_in(root, wanted));
    struct stat found {};
    if (::stat(source.c_str(), &found) != 0) {
      if (errno == ENOENT) continue;
      return errno_status(errno, "chroot_env: look at " + source);
    }
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    if (error) return errno_status(error.value(), "create " + target.parent_path().string());
    if (S_ISDIR(found.st_mode)) {
      DROVER_RETURN_IF_ERROR(builder.embed_folder(source, target, found));
    } else if (S_ISREG(found.st_mode)) {
      DROVER_RETURN_IF_ERROR(builder.embed_file(source, target, found));
    }
  }
  return ok_status();
}

ChrootPlan plan_chroot(const Variables& entries, const std::set<std::string>& skip, bool can_show) {
  if (!can_show) return {.linked = entries};
  const auto place = [](const std::string& wanted) { return (fs::path("/") / wanted).lexically_normal().string(); };
  const auto is_within = [](const std::string& path, const std::string& other) {
    return path == other || path.starts_with(other + "/");
  };
  ChrootPlan plan;
  for (const auto& [source, wanted] : entries) {
    for (const auto& [another, beside] : entries) {
      if (source != another && is_within(place(wanted), place(beside))) return {.linked = entries};
    }
    std::error_code error;
    const std::string real = fs::canonical(source, error);
    if (error) continue;
    const bool is_apart = std::ranges::none_of(
        skip, [&](const std::string& folder) { return is_within(folder, real) || is_within(real, folder); });
    (is_apart && place(wanted) != "/" ? plan.shown : plan.linked).emplace(source, wanted);
  }
  return plan;
}

std::vector<std::string> filled_paths(const std::string& root, const Variables& entries) {
  std::vector<std::string> paths;
  for (const auto& [source, wanted] : entries) {
    const auto target = target_in(root, wanted);
    struct stat found {};
    const bool is_there = target.ok() && ::lstat(target->c_str(), &found) == 0;
    if (is_there && (S_ISDIR(found.st_mode) || S_ISREG(found.st_mode)))
      paths.push_back(target->string().substr(root.size()));
  }
  return paths;
}

}  // namespace drover::agent

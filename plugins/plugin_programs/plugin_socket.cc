#include "plugin_socket.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace drover::plugin_programs {

PluginSocket::~PluginSocket() {
  if (folder_ >= 0) ::close(folder_);
}

PluginSocket::PluginSocket(PluginSocket&& other) noexcept
    : folder_(std::exchange(other.folder_, -1)), name_(std::move(other.name_)), user_(other.user_) {}

PluginSocket& PluginSocket::operator=(PluginSocket&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(name_, other.name_);
  std::swap(user_, other.user_);
  return *this;
}

Result<PluginSocket> PluginSocket::find(const std::string& path, uid_t user) {
  // gRPC takes "%2F" in an address for a slash.
  if (path.find('%') != std::string::npos)
    return failed_precondition("the plugin's address " + path + " holds a percent sign");
  const size_t slash = path.rfind('/');
  PluginSocket socket;
  socket.folder_ = ::open(path.substr(0, slash + 1).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  socket.name_ = path.substr(slash + 1);
  socket.user_ = user;
  const std::optional<uid_t> owner = socket.owner();
  if (!owner) return failed_precondition("the plugin's address " + path + " is no socket");
  if (*owner != user) return failed_precondition("the socket " + path + " belongs to another user");
  return socket;
}

std::optional<uid_t> PluginSocket::owner() const {
  struct stat found {};
  if (folder_ < 0 || ::fstatat(folder_, name_.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return {};
  return S_ISSOCK(found.st_mode) ? std::optional(found.st_uid) : std::nullopt;
}

void PluginSocket::remove() {
  if (owner() == user_) (void)::unlinkat(folder_, name_.c_str(), 0);
  *this = PluginSocket();
}

}  // namespace drover::plugin_programs

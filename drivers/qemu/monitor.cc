#include "monitor.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "command_line.h"
#include "drover/clock.h"
#include "drover/fd.h"

namespace drover::qemu {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kCommand = "system_powerdown\n", kPrompt = "(qemu) ";
constexpr auto kAnswerLimit = 1s;

// The socket itself, whatever link stands in its place.
Result<Fd> open_socket(const std::string& task_folder) {
  const std::string place = task_folder + "/" + std::string(kMonitorSocket);
  const Fd folder(::open(task_folder.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  Fd file(folder ? ::openat(folder.get(), kMonitorSocket.data(), O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1);
  if (!file) return errno_status(errno, "open " + place);
  struct stat found {};
  if (::fstat(file.get(), &found) != 0 || !S_ISSOCK(found.st_mode)) return unavailable(place + " is no socket");
  return file;
}

// Reads on until the next prompt, so that the command before it has been carried out.
void skip_to_prompt(int fd, SteadyTime deadline) {
  std::string said;
  std::array<char, 512> piece{};
  while (said.find(kPrompt) == std::string::npos && SystemClock().steady() < deadline) {
    pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
    if (::poll(&watched, 1, 50) <= 0) continue;
    const ssize_t size = ::recv(fd, piece.data(), piece.size(), MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EINTR && errno != EAGAIN)) return;
    if (size > 0) said.append(piece.data(), static_cast<size_t>(size));
  }
}

}  // namespace

Status press_power_button(const std::string& task_folder) {
  DROVER_TRY(const Fd file, open_socket(task_folder));
  const Fd connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", file.get());
  if (!connection || ::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return errno_status(errno, "connect to qemu's monitor in " + task_folder);
  const SteadyTime deadline = SystemClock().steady() + kAnswerLimit;
  skip_to_prompt(connection.get(), deadline);
  if (::send(connection.get(), kCommand.data(), kCommand.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(kCommand.size()))
    return errno_status(errno, "write to qemu's monitor in " + task_folder);
  skip_to_prompt(connection.get(), deadline);
  return ok_status();
}

}  // namespace drover::qemu

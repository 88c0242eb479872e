#include "node/api_hook.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "drover/api_listener.h"
#include "drover/log.h"
#include "drover/open_below.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::identity {
namespace {

constexpr const char* kSocket = "api.sock";
constexpr const char* kVariable = "NOMAD_UNIX_ADDR";
constexpr int kWaiting = 16;  // connections that nobody has taken yet

// A socket in that folder of the folder's owner. Whoever may not enter the folder does not reach it either.
Result<Fd> listen_in(const Fd& folder) {
  struct stat owner {};
  if (::fstat(folder.get(), &owner) != 0) return errno_status(errno, "look at the secrets");
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return errno_status(errno, "make a socket");
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  // The way over the open folder is short whatever the path, and takes no link.
  const std::string path = "/proc/self/fd/" + std::to_string(folder.get()) + "/" + kSocket;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  (void)::unlinkat(folder.get(), kSocket, 0);
  // The folder is the task's, which may put something else there at any moment: nothing goes by the name after this.
  if (::fchmod(socket.get(), (owner.st_mode & S_IWOTH) != 0 ? 0666 : 0600) != 0) return errno_status(errno, "set the mode of a socket");
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return errno_status(errno, "bind " + std::string(kSocket));
  const Fd made(::openat(folder.get(), kSocket, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat found {};
  if (!made || ::fstat(made.get(), &found) != 0) return errno_status(errno, "open " + std::string(kSocket));
  if (!S_ISSOCK(found.st_mode) || found.st_uid != ::geteuid() || found.st_nlink != 1)
    return failed_precondition(std::string(kSocket) + " was replaced by something else");
  if (::fchownat(made.get(), "", owner.st_uid, owner.st_gid, AT_EMPTY_PATH) != 0)
    return errno_status(errno, "give " + std::string(kSocket) + " to the task's user");
  if (::listen(socket.get(), kWaiting) != 0) return errno_status(errno, "listen at " + std::string(kSocket));
  return socket;
}

class ApiPart final : public TaskHook::Part {
 public:
  ApiPart(Host& host, HookedTask& task) : host_(host), task_(task) {}

  // Without it the task runs all the same.
  Status prestart(TaskPrestart& start) override {
    const Status status = serve();
    if (!status.ok()) {
      log::warn("identity", "a task has no API socket",
                {{"alloc", task_.allocation().to_string()}, {"task", task_.name()}, {"error", status.message()}});
      return ok_status();
    }
    const auto secrets = start.environment.find("NOMAD_SECRETS_DIR");
    if (secrets != start.environment.end() && !start.environment.contains(kVariable))  // unless the job says it
      (*start.adds.mutable_env())[kVariable] = "unix:" + secrets->second + "/" + kSocket;
    return ok_status();
  }
  Status stop() override {
    served_.reset();
    const Fd folder = secrets();
    if (folder) (void)::unlinkat(folder.get(), kSocket, 0);
    return ok_status();
  }
  void shutdown() override { served_.reset(); }

 private:
  Fd secrets() const {
    const Fd root(::open(task_.folders().root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!root) return Fd();
    return open_below(root, "secrets", O_RDONLY | O_DIRECTORY, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
  }

  Status serve() {
    if (served_) return ok_status();
    auto* listener = host_.extension<ApiListener>("http");
    if (!listener) return failed_precondition("this agent has no HTTP API");
    const Fd folder = secrets();
    if (!folder) return errno_status(errno, "open the secrets");
    DROVER_TRY(Fd socket, listen_in(folder));
    DROVER_TRY(served_, listener->serve(std::move(socket)));
    return ok_status();
  }

  Host& host_;
  HookedTask& task_;
  std::unique_ptr<ApiListener::Served> served_;
};

}  // namespace

std::unique_ptr<TaskHook::Part> ApiHook::attach(HookedTask& task, HookState&) {
  return std::make_unique<ApiPart>(*host_, task);
}

}  // namespace drover::identity

#include <grp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "announcement.h"
#include "drover/log.h"
#include "drover/serve.h"
#include "drover/uuid.h"
#include "hclog.h"
#include "kind_methods.h"
#include "program.h"

namespace drover::serve {
namespace {

using namespace std::chrono_literals;

constexpr auto kAnswerTime = 50ms;  // for the answer to the call that ends us
constexpr auto kEndTime = 1s;       // for open calls; a host waits two seconds

std::atomic<int> end_event{-1};  // an eventfd: the process shall end

// Handlers and not SIG_IGN, for what is ignored stays so in every program that the driver starts.
void handle_signals() {
  const auto handle = [](int number, void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    (void)::sigaction(number, &action, nullptr);
  };
  handle(SIGINT, [](int) {});   // of the agent's terminal: the agent decides
  handle(SIGPIPE, [](int) {});  // the host has gone; tasks go on
  handle(SIGTERM, [](int) { request_end(); });
}

Result<std::string> read_name(const Program& program, std::span<char*> arguments) {
  std::string name = program.name;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--name" && i + 1 < arguments.size() && *arguments[i + 1] != '\0') {
      name = arguments[++i];
    } else {
      return invalid_argument("unknown argument \"" + std::string(word) + "\"; there is only --name NAME");
    }
  }
  return name;
}

Result<gid_t> find_group(const std::string& group) {
  gid_t number = 0;
  const char* end = group.data() + group.size();
  if (const auto parsed = std::from_chars(group.data(), end, number); parsed.ec == std::errc() && parsed.ptr == end)
    return number;
  const struct group* found = ::getgrnam(group.c_str());
  if (!found) return invalid_argument("there is no group \"" + group + "\" (PLUGIN_UNIX_SOCKET_GROUP)");
  return found->gr_gid;
}

// Nothing when the host does not ask for it.
Result<std::optional<ServerTls>> make_tls(const Terms& terms) {
  if (terms.client_certificate.empty()) return std::optional<ServerTls>();
  const auto hint = [](const Status& status) {
    return status.with_context("the host's certificate (PLUGIN_CLIENT_CERT)");
  };
  if (Status status = check_certificate_time(terms.client_certificate, SystemClock().wall_ns() / 1'000'000'000);
      !status.ok())
    return hint(status);
  DROVER_TRY(TlsIdentity identity, make_tls_identity());
  return std::optional<ServerTls>(ServerTls{.identity = std::move(identity), .client = terms.client_certificate});
}

Result<std::unique_ptr<Server>> listen(const Terms& terms, const std::string& socket, Methods methods,
                                       const std::optional<ServerTls>& tls) {
  if (socket.size() > kMaxSocketPath) {
    return invalid_argument("the socket's path " + socket + " is longer than " + std::to_string(kMaxSocketPath) +
                            " bytes; set PLUGIN_UNIX_SOCKET_DIR or TMPDIR to a shorter one");
  }
  const mode_t former = ::umask(0177);
  auto server = Server::listen(socket, std::move(methods), tls);
  ::umask(former);
  DROVER_RETURN_IF_ERROR(server.status());
  if (!terms.socket_group.empty()) {
    DROVER_TRY(const gid_t group, find_group(terms.socket_group));
    if (::chown(socket.c_str(), static_cast<uid_t>(-1), group) != 0 || ::chmod(socket.c_str(), 0660) != 0)
      return errno_status(errno, "give the socket to group " + terms.socket_group);
  }
  return server;
}

void wait_for_end() {
  pollfd event{.fd = end_event, .events = POLLIN, .revents = 0};
  while (::poll(&event, 1, -1) < 0 && errno == EINTR) {
  }
}

int refuse(int exit_status, const Program& program, const Status& status) {
  std::fprintf(stderr, "%s %s %s: %s\n", program.kind.data(), program.name.c_str(), program.version.c_str(),
               status.message().c_str());
  return exit_status;
}

}  // namespace

void request_end() {
  const uint64_t one = 1;
  (void)!::write(end_event, &one, sizeof(one));
}

int serve(const Program& program, std::span<char*> arguments, int handshake) {
  const auto name = read_name(program, arguments);
  if (!name) return refuse(2, program, name.status());
  const auto terms = read_terms([](const char* variable) -> std::optional<std::string> {
    const char* value = std::getenv(variable);
    return value ? std::optional<std::string>(value) : std::nullopt;
  });
  if (!terms) return refuse(1, program, terms.status());

  end_event = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  DROVER_CHECK(end_event >= 0);
  handle_signals();
  static HclogSink sink;
  log::set_sink(&sink);
  log::set_level(log::Level::debug);  // the host drops what it does not want

  const std::string socket =
      terms->socket_folder + "/plugin" + std::to_string(::getpid()) + "-" + Uuid::random().to_string().substr(0, 8);
  const auto tls = make_tls(*terms);
  if (!tls) return refuse(1, program, tls.status());
  auto server = listen(*terms, socket, program.make(*name), *tls);
  if (!server) return refuse(1, program, server.status());

  std::string certificate;
  if (*tls) certificate = certificate_to_base64_der((*tls)->identity.cert).value_or("");
  const std::string line = announcement(*terms, socket, certificate) + "\n";
  if (::write(handshake, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    const Status status = errno_status(errno, "write the handshake to standard output");
    (void)::unlink(socket.c_str());
    return refuse(1, program, status);
  }
  wait_for_end();

  const SteadyTime now = SystemClock().steady();
  const bool is_idle = (*server)->stop(now + kAnswerTime, now + kEndTime);
  (void)::unlink(socket.c_str());
  if (is_idle) program.stop();
  std::_Exit(0);
}

}  // namespace drover::serve

namespace drover {
namespace {

template <typename Kind>
int serve_kind(const Served<Kind>& served, std::span<char*> arguments, int handshake) {
  std::unique_ptr<Kind> plugin;
  return serve::serve(
      {.kind = Kind::kKind.name,
       .name = served.name,
       .version = served.version,
       .make =
           [&](const std::string& name) {
             plugin = served.make();
             return serve::methods_of(
                 *plugin,
                 {.name = name, .own_name = served.name, .version = served.version, .end = serve::request_end});
           },
       .stop = [&] { plugin->stop(); }},
      arguments, handshake);
}

}  // namespace

int serve_plugin(const ServedPlugin& plugin, std::span<char*> arguments, int handshake) {
  return std::visit([&](const auto& served) { return serve_kind(served, arguments, handshake); }, plugin);
}

}  // namespace drover

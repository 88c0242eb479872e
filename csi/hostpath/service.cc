#include "service.h"

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "controller.h"
#include "csi/protocol/method_path.h"
#include "csi/v1/csi.pb.h"
#include "drover/clock.h"
#include "drover/log.h"
#include "drover/printable.h"
#include "identity.h"
#include "node.h"
#include "plugin.h"
#include "sdk/serve/server.h"

namespace drover::hostpath {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);  // with calls that are open at the end

// The answer's bytes. No value of a request comes into the log but what an error says, and secrets are never read.
template <typename Request, typename Response, typename Service>
Status answer(serve::Call& call, const std::string& path, Service& service,
              Result<Response> (Service::*method)(const Request&)) {
  Request request;
  if (!request.ParseFromString(call.request())) return invalid_argument("the request is not a message");
  const auto response = (service.*method)(request);
  if (!response) {
    log::info(
        "hostpath", "a call failed",
        {{"method", path}, {"code", to_string(response.status().code())}, {"error", response.status().message()}});
    return Status(response.status().code(), printable(response.status().message()));
  }
  log::debug("hostpath", "a call succeeded", {{"method", path}});
  (void)call.send(response->SerializeAsString());
  return {};
}

template <typename Request, typename Response, typename Service>
void add(serve::Methods& methods, Service& service, Result<Response> (Service::*method)(const Request&)) {
  const std::string path = csi::method_path(*Request::descriptor());
  methods[path] = [path, &service, method](serve::Call& call) { return answer(call, path, service, method); };
}

void add_controller(serve::Methods& methods, Controller& controller, bool attaches) {
  add(methods, controller, &Controller::capabilities);
  add(methods, controller, &Controller::create);
  add(methods, controller, &Controller::remove);
  add(methods, controller, &Controller::validate);
  add(methods, controller, &Controller::list);
  add(methods, controller, &Controller::get);
  add(methods, controller, &Controller::capacity);
  add(methods, controller, &Controller::expand);
  add(methods, controller, &Controller::create_snapshot);
  add(methods, controller, &Controller::remove_snapshot);
  add(methods, controller, &Controller::list_snapshots);
  add(methods, controller, &Controller::get_snapshot);
  if (!attaches) return;
  add(methods, controller, &Controller::attach);
  add(methods, controller, &Controller::detach);
}

void add_node(serve::Methods& methods, NodeService& node) {
  add(methods, node, &NodeService::capabilities);
  add(methods, node, &NodeService::info);
  add(methods, node, &NodeService::stage);
  add(methods, node, &NodeService::unstage);
  add(methods, node, &NodeService::publish);
  add(methods, node, &NodeService::unpublish);
  add(methods, node, &NodeService::stats);
  add(methods, node, &NodeService::expand);
}

// Removes what a killed instance left. Errors: failed_precondition when it is no socket.
Status clear_socket(const std::string& path) {
  struct stat stat {};
  if (::lstat(path.c_str(), &stat) != 0) return {};
  if (!S_ISSOCK(stat.st_mode)) return failed_precondition(path + ": is there, and is no socket");
  return ::unlink(path.c_str()) == 0 ? ok_status() : errno_status(errno, path);
}

void surround(serve::Methods& methods, const Around& around) {
  for (auto& [path, handler] : methods)
    handler = [&around, path = path, inner = handler](serve::Call& call) { return around(path, call, inner); };
}

void wait_for_signal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  int signal = 0;
  (void)sigwait(&signals, &signal);
}

}  // namespace

Status serve(Plugin& plugin, const Around& around) {
  Identity identity(plugin);
  Controller controller(plugin);
  NodeService node(plugin);
  serve::Methods methods;
  add(methods, identity, &Identity::info);
  add(methods, identity, &Identity::capabilities);
  add(methods, identity, &Identity::probe);
  if (plugin.settings.has_controller) add_controller(methods, controller, plugin.settings.attaches);
  if (plugin.settings.has_node) add_node(methods, node);
  if (around) surround(methods, around);

  const std::string& socket = plugin.settings.socket;
  DROVER_RETURN_IF_ERROR(clear_socket(socket));
  DROVER_TRY(const auto server, serve::Server::listen(socket, std::move(methods)));
  log::info("hostpath", "listening", {{"socket", socket}, {"node", plugin.settings.node_id}});
  wait_for_signal();
  log::info("hostpath", "stopping");
  const SteadyTime now = SystemClock().steady();
  if (!server->stop(now + kPatience / 2, now + kPatience)) log::warn("hostpath", "calls are still open at the end");
  (void)clear_socket(socket);
  return {};
}

}  // namespace drover::hostpath

#include "tcp_checks.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include "drover/v1/check_provider.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::check_tcp {
namespace {

Result<v1::CheckResult> result_of(const Status& status) {
  if (status.ok()) return check::passing("nomad: tcp ok");
  if (status.code() == Code::unavailable) return check::critical(check::cut_output("nomad: " + status.message()));
  return status;
}

// The first address of a host name. Blocks. Errors: unavailable.
Result<std::string> look_up(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &found); error != 0)
    return unavailable("dial tcp: lookup " + name + ": " + ::gai_strerror(error));
  char text[INET6_ADDRSTRLEN] = {};
  const int error = ::getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  ::freeaddrinfo(found);
  if (error != 0) return unavailable("dial tcp: lookup " + name + ": " + ::gai_strerror(error));
  return std::string(text);
}

}  // namespace

std::vector<v1::CheckType> TcpChecks::types() const {
  return {check::type("tcp", "A service takes a TCP connection.", {})};
}

Result<v1::CheckResult> TcpChecks::run(const v1::RunCheckRequest& request, std::stop_token stop) {
  DROVER_RETURN_IF_ERROR(check::place_of(request).status());
  if (target_of(request.address(), static_cast<uint16_t>(request.port())))
    return check::run_begun(*this, request, std::move(stop));
  auto address = look_up(request.address());
  if (!address) return result_of(address.status());
  v1::RunCheckRequest found = request;
  found.set_address(*address);
  return check::run_begun(*this, found, std::move(stop));
}

bool TcpChecks::begin(const v1::RunCheckRequest& request, std::stop_token stop, Told told) {
  if (const auto place = check::place_of(request); !place) return told(place.status()), true;
  const auto target = target_of(request.address(), static_cast<uint16_t>(request.port()));
  if (!target) return false;  // a name: looking it up waits
  connections_.begin(*target, std::move(stop),
                     [told = std::move(told)](const Status& status) { told(result_of(status)); });
  return true;
}

}  // namespace drover::check_tcp

#include "native/links.h"

#include <fcntl.h>
#include <linux/if_addr.h>
#include <net/if.h>
#include <netlink/addr.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/bridge.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <sched.h>

#include <cerrno>
#include <optional>
#include <thread>

#include "drover/freed.h"

namespace drover::networks {
namespace {

using Link = std::unique_ptr<rtnl_link, Freed<rtnl_link_put>>;
using Address = std::unique_ptr<nl_addr, Freed<nl_addr_put>>;
using LinkAddress = std::unique_ptr<rtnl_addr, Freed<rtnl_addr_put>>;
using Route = std::unique_ptr<rtnl_route, Freed<rtnl_route_put>>;

Status failed(int error, const std::string& what) {
  if (error >= 0) return ok_status();
  return unavailable(what + ": " + nl_geterror(error));
}

bool is_missing(int error) { return error == -NLE_OBJ_NOTFOUND || error == -NLE_NODEV; }

Result<Link> find(nl_sock* socket, const std::string& name) {
  rtnl_link* found = nullptr;
  const int error = rtnl_link_get_kernel(socket, 0, name.c_str(), &found);
  if (is_missing(error)) return not_found("there is no link " + name);
  DROVER_RETURN_IF_ERROR(failed(error, "look for the link " + name));
  return Link(found);
}

Result<Address> parse_address(const std::string& text) {
  nl_addr* parsed = nullptr;
  DROVER_RETURN_IF_ERROR(failed(nl_addr_parse(text.c_str(), AF_UNSPEC, &parsed), "read the address " + text));
  return Address(parsed);
}

}  // namespace

void Links::Close::operator()(nl_sock* socket) const { nl_socket_free(socket); }

Result<Links::Socket> Links::connect() {
  Socket socket(nl_socket_alloc());
  if (!socket) return resource_exhausted("no memory for a netlink socket");
  DROVER_RETURN_IF_ERROR(failed(nl_connect(socket.get(), NETLINK_ROUTE), "open a netlink socket"));
  return socket;
}

Result<Links> Links::open() {
  DROVER_TRY(Socket socket, connect());
  return Links(std::move(socket));
}

// A socket belongs to the namespace in which its thread made it: one that does nothing else goes there.
Result<Links> Links::open_in(const std::string& path) {
  std::optional<Result<Socket>> socket;
  std::thread([&] {
    const Fd name_space(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!name_space || ::setns(name_space.get(), CLONE_NEWNET) != 0)
      socket.emplace(errno_status(errno, "enter the network namespace " + path));
    else
      socket.emplace(connect());
  }).join();
  if (!socket->ok()) return socket->status();
  return Links(**std::move(socket));
}

Status Links::make_bridge(const std::string& name) {
  if (const auto found = find(socket_.get(), name); found.ok()) {
    if (rtnl_link_is_bridge(found->get()) != 0) return ok_status();
    return failed_precondition("the link " + name + " is no bridge; client.bridge_network_name names another one");
  }
  const int error = rtnl_link_bridge_add(socket_.get(), name.c_str());
  return error == -NLE_EXIST ? ok_status() : failed(error, "make the bridge " + name);
}

Status Links::make_wire(const std::string& name, const std::string& bridge, const std::string& inside, int name_space,
                        bool is_hairpin) {
  DROVER_TRY(const Link master, find(socket_.get(), bridge));
  const Link wire(rtnl_link_veth_alloc());
  rtnl_link_set_name(wire.get(), name.c_str());
  rtnl_link* const peer = rtnl_link_veth_get_peer(wire.get());
  rtnl_link_set_name(peer, inside.c_str());
  rtnl_link_set_ns_fd(peer, name_space);
  rtnl_link_put(peer);  // the wire holds it
  DROVER_RETURN_IF_ERROR(
      failed(rtnl_link_add(socket_.get(), wire.get(), NLM_F_CREATE | NLM_F_EXCL), "make the wire " + name));
  DROVER_TRY(const Link here, find(socket_.get(), name));
  const Link change(rtnl_link_alloc());
  rtnl_link_set_master(change.get(), rtnl_link_get_ifindex(master.get()));
  rtnl_link_set_flags(change.get(), IFF_UP);
  DROVER_RETURN_IF_ERROR(
      failed(rtnl_link_change(socket_.get(), here.get(), change.get(), 0), "connect " + name + " to " + bridge));
  if (!is_hairpin) return ok_status();
  const Link port(rtnl_link_bridge_alloc());
  rtnl_link_set_ifindex(port.get(), rtnl_link_get_ifindex(here.get()));
  rtnl_link_bridge_set_flags(port.get(), RTNL_BRIDGE_HAIRPIN_MODE);
  return failed(rtnl_link_change(socket_.get(), here.get(), port.get(), 0), "set the hairpin mode of " + name);
}

Status Links::add_address(const std::string& link, const std::string& address) {
  DROVER_TRY(const Link here, find(socket_.get(), link));
  DROVER_TRY(const Address local, parse_address(address));
  const LinkAddress added(rtnl_addr_alloc());
  rtnl_addr_set_ifindex(added.get(), rtnl_link_get_ifindex(here.get()));
  rtnl_addr_set_local(added.get(), local.get());
  // Given once by us: nobody has to be asked whether it is free.
  if (nl_addr_get_family(local.get()) == AF_INET6) rtnl_addr_set_flags(added.get(), IFA_F_NODAD);
  const int error = rtnl_addr_add(socket_.get(), added.get(), 0);
  return error == -NLE_EXIST ? ok_status() : failed(error, "give " + link + " the address " + address);
}

Status Links::raise(const std::string& link) {
  DROVER_TRY(const Link here, find(socket_.get(), link));
  const Link change(rtnl_link_alloc());
  rtnl_link_set_flags(change.get(), IFF_UP);
  return failed(rtnl_link_change(socket_.get(), here.get(), change.get(), 0), "raise the link " + link);
}

Status Links::add_default_route(const std::string& link, const std::string& gateway) {
  DROVER_TRY(const Link here, find(socket_.get(), link));
  DROVER_TRY(const Address via, parse_address(gateway));
  const int family = nl_addr_get_family(via.get());
  const Address everywhere(nl_addr_build(family, nullptr, 0));
  const Route route(rtnl_route_alloc());
  rtnl_route_set_family(route.get(), static_cast<uint8_t>(family));
  rtnl_route_set_dst(route.get(), everywhere.get());
  rtnl_nexthop* const hop = rtnl_route_nh_alloc();
  rtnl_route_nh_set_ifindex(hop, rtnl_link_get_ifindex(here.get()));
  rtnl_route_nh_set_gateway(hop, via.get());
  rtnl_route_add_nexthop(route.get(), hop);  // the route owns it
  const int error = rtnl_route_add(socket_.get(), route.get(), 0);
  return error == -NLE_EXIST ? ok_status() : failed(error, "add the route by " + gateway);
}

Status Links::check(const std::string& link) { return find(socket_.get(), link).status(); }

Status Links::remove(const std::string& link) {
  const auto here = find(socket_.get(), link);
  if (here.status().code() == Code::not_found) return ok_status();
  if (!here) return here.status();
  const int error = rtnl_link_delete(socket_.get(), here->get());
  return is_missing(error) ? ok_status() : failed(error, "remove the link " + link);
}

}  // namespace drover::networks

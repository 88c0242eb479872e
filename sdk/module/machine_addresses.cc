#include "drover/machine_addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <re2/re2.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "drover/read_all.h"
#include "drover/subnet.h"
#include "drover/text_template.h"
#include "drover/trim.h"

namespace drover {
namespace {

using nlohmann::json;
using text_template::Value;
using text_template::value_of;
using Arguments = std::span<const Value>;

// RFC 6890's private and link-local ranges that people give to machines.
constexpr const char* kPrivate[] = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"};
constexpr const char* kLinkLocal[] = {"169.254.0.0/16", "fe80::/10"};

bool is_in(const char* range, const std::string& address) {
  const auto subnet = parse_subnet(range);
  return subnet && contains(*subnet, address);
}
bool is_private(const std::string& address) {
  return std::ranges::any_of(kPrivate, [&](const char* range) { return is_in(range, address); });
}
bool is_link_local(const std::string& address) {
  return std::ranges::any_of(kLinkLocal, [&](const char* range) { return is_in(range, address); });
}
bool is_v4(const std::string& address) { return address.find(':') == std::string::npos; }

json object_of(const InterfaceAddress& one) {
  std::string flags = one.is_up ? "up" : "down";
  if (one.is_loopback) flags += "|loopback";
  return {{"name", one.interface},
          {"address", one.address},
          {"type", is_v4(one.address) ? "IPv4" : "IPv6"},
          {"flags", flags},
          {"default", one.is_default}};
}

std::string text(const json& row, const std::string& attribute) {
  const auto at = row.find(attribute);
  return at != row.end() && at->is_string() ? at->get<std::string>() : std::string();
}

Result<std::string> text_at(Arguments arguments, size_t at) {
  if (at >= arguments.size() || !arguments[at]->is_string())
    return invalid_argument("expected a string as argument " + std::to_string(at + 1));
  return arguments[at]->get<std::string>();
}
// The piped value is the last argument.
Result<json> list_of(Arguments arguments) {
  if (arguments.empty() || !arguments.back()->is_array())
    return invalid_argument("expected a list of interfaces as the last argument, such as GetAllInterfaces gives");
  return *arguments.back();
}

Result<bool> fits(const json& row, const std::string& by, const std::string& wanted) {
  if (by == "name" || by == "address") {
    const RE2 pattern(wanted, RE2::Quiet);
    if (!pattern.ok()) return invalid_argument("\"" + wanted + "\": " + pattern.error());
    return RE2::FullMatch(text(row, by), pattern);
  }
  if (by == "network") {
    DROVER_TRY(const Subnet subnet, parse_subnet(wanted));
    return contains(subnet, text(row, "address"));
  }
  if (by == "type") return text(row, "type") == wanted || wanted == "IP";
  if (by == "flag" || by == "flags")
    return ("|" + text(row, "flags") + "|").find("|" + wanted + "|") != std::string::npos ||
           (wanted == "forwardable" && !is_link_local(text(row, "address")));
  if (by == "rfc" && wanted == "6890") return is_private(text(row, "address"));
  return invalid_argument("interfaces are not chosen by \"" + by + "\" \"" + wanted + "\"");
}

// The templates of one machine's configuration call these.
class AddressFunctions final : public text_template::Functions {
 public:
  explicit AddressFunctions(const std::vector<InterfaceAddress>& machine) : machine_(machine) {}

  bool has(std::string_view name) const override { return table().contains(name); }
  Result<Value> call(std::string_view name, Arguments arguments) override {
    return (this->*table().find(name)->second)(arguments);
  }

 private:
  using Function = Result<Value> (AddressFunctions::*)(Arguments);
  static const std::map<std::string_view, Function>& table() {
    static const std::map<std::string_view, Function> functions = {
        {"GetPrivateIP", &AddressFunctions::private_ip},
        {"GetPublicIP", &AddressFunctions::public_ip},
        {"GetInterfaceIP", &AddressFunctions::interface_ip},
        {"GetAllInterfaces", &AddressFunctions::all},
        {"GetDefaultInterfaces", &AddressFunctions::of_default_route},
        {"GetPrivateInterfaces", &AddressFunctions::private_ones},
        {"GetPublicInterfaces", &AddressFunctions::public_ones},
        {"include", &AddressFunctions::include},
        {"exclude", &AddressFunctions::exclude},
        {"sort", &AddressFunctions::sort},
        {"limit", &AddressFunctions::limit},
        {"attr", &AddressFunctions::attribute},
        {"join", &AddressFunctions::join}};
    return functions;
  }

  Value where(const std::function<bool(const InterfaceAddress&)>& fits_one) const {
    json list = json::array();
    for (const InterfaceAddress& one : machine_) {
      if (fits_one(one)) list.push_back(object_of(one));
    }
    return value_of(std::move(list));
  }
  std::string first(const std::function<bool(const InterfaceAddress&)>& fits_one) const {
    const auto at = std::ranges::find_if(machine_, fits_one);
    return at == machine_.end() ? std::string() : at->address;
  }
  static bool is_usable(const InterfaceAddress& one) {
    return one.is_up && !one.is_loopback && !is_link_local(one.address);
  }

  Result<Value> private_ip(Arguments) { return value_of(private_address(machine_)); }
  Result<Value> public_ip(Arguments) {
    return value_of(first([](const auto& one) { return is_usable(one) && is_v4(one.address) && !is_private(one.address); }));
  }
  Result<Value> interface_ip(Arguments arguments) {
    DROVER_TRY(const std::string name, text_at(arguments, 0));
    std::string found = first([&](const auto& one) { return one.interface == name && is_v4(one.address); });
    if (found.empty()) found = first([&](const auto& one) { return one.interface == name && is_usable(one); });
    return value_of(std::move(found));
  }
  Result<Value> all(Arguments) {
    return where([](const auto&) { return true; });
  }
  Result<Value> of_default_route(Arguments) {
    return where([](const auto& one) { return one.is_default && is_usable(one); });
  }
  Result<Value> private_ones(Arguments) {
    return where([](const auto& one) { return is_usable(one) && is_private(one.address); });
  }
  Result<Value> public_ones(Arguments) {
    return where([](const auto& one) { return is_usable(one) && !is_private(one.address); });
  }

  static Result<Value> chosen(Arguments arguments, bool keeps) {
    DROVER_TRY(const std::string by, text_at(arguments, 0));
    DROVER_TRY(const std::string wanted, text_at(arguments, 1));
    DROVER_TRY(const json list, list_of(arguments));
    json left = json::array();
    for (const json& row : list) {
      DROVER_TRY(const bool is_one, fits(row, by, wanted));
      if (is_one == keeps) left.push_back(row);
    }
    return value_of(std::move(left));
  }
  Result<Value> include(Arguments arguments) { return chosen(arguments, true); }
  Result<Value> exclude(Arguments arguments) { return chosen(arguments, false); }

  // "default" puts the interface of the default route first; "-name" turns the order round.
  Result<Value> sort(Arguments arguments) {
    DROVER_TRY(std::string by, text_at(arguments, 0));
    DROVER_TRY(json list, list_of(arguments));
    const bool is_turned = by.starts_with('-');
    if (by.starts_with('-') || by.starts_with('+')) by.erase(0, 1);
    std::ranges::stable_sort(list.get_ref<json::array_t&>(), [&](const json& one, const json& other) {
      const json& first_row = is_turned ? other : one;
      const json& second_row = is_turned ? one : other;
      if (by == "default") return first_row["default"].get<bool>() && !second_row["default"].get<bool>();
      return text(first_row, by) < text(second_row, by);
    });
    return value_of(std::move(list));
  }
  Result<Value> limit(Arguments arguments) {
    DROVER_TRY(json list, list_of(arguments));
    if (!arguments[0]->is_number_integer()) return invalid_argument("expected a number as argument 1");
    const auto most = static_cast<size_t>(std::max<int64_t>(0, arguments[0]->get<int64_t>()));
    while (list.size() > most) list.erase(list.size() - 1);
    return value_of(std::move(list));
  }
  // The first one's.
  Result<Value> attribute(Arguments arguments) {
    DROVER_TRY(const std::string by, text_at(arguments, 0));
    DROVER_TRY(const json list, list_of(arguments));
    return value_of(list.empty() ? std::string() : text(list.front(), by));
  }
  Result<Value> join(Arguments arguments) {
    DROVER_TRY(const std::string by, text_at(arguments, 0));
    DROVER_TRY(const std::string between, text_at(arguments, 1));
    DROVER_TRY(const json list, list_of(arguments));
    std::string joined;
    for (const json& row : list) joined += (joined.empty() ? "" : between) + text(row, by);
    return value_of(std::move(joined));
  }

  const std::vector<InterfaceAddress>& machine_;
};

}  // namespace

std::vector<InterfaceAddress> machine_addresses() {
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return {};
  std::ifstream routes("/proc/net/route");
  const std::string by_default = parse_default_route(read_all(routes));
  std::vector<InterfaceAddress> all;
  for (const ifaddrs* one = found; one; one = one->ifa_next) {
    if (!one->ifa_addr) continue;
    const int family = one->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    char bytes[INET6_ADDRSTRLEN] = {};
    const void* address = family == AF_INET
                              ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr)
                              : &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr;
    if (!::inet_ntop(family, address, bytes, sizeof(bytes))) continue;
    all.push_back({.interface = one->ifa_name,
                   .address = bytes,
                   .is_up = (one->ifa_flags & IFF_UP) != 0,
                   .is_loopback = (one->ifa_flags & IFF_LOOPBACK) != 0,
                   .is_default = one->ifa_name == by_default});
  }
  ::freeifaddrs(found);
  return all;
}

std::string parse_default_route(std::string_view routes) {
  std::istringstream lines{std::string(routes)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, destination;
    if (words >> name >> destination && destination == "00000000") return name;
  }
  return {};
}

std::string private_address(const std::vector<InterfaceAddress>& machine) {
  const auto first = [&](bool of_default_route) {
    const auto at = std::ranges::find_if(machine, [&](const InterfaceAddress& one) {
      return one.is_up && !one.is_loopback && is_v4(one.address) && is_private(one.address) &&
             (one.is_default || !of_default_route);
    });
    return at == machine.end() ? std::string() : at->address;
  };
  const std::string best = first(true);
  return best.empty() ? first(false) : best;
}

Result<std::string> resolve_address(const std::string& said, const std::vector<InterfaceAddress>& machine) {
  if (said.find("{{") == std::string::npos) return said;
  AddressFunctions functions(machine);
  DROVER_TRY(const auto form, text_template::Template::parse(said, {.functions = &functions}));
  DROVER_TRY(const std::string text, form.run(json(), {.functions = &functions}));
  const std::string address(trim(text, " \t\n"));
  if (address.empty()) return invalid_argument("no address of this machine is meant by " + said);
  if (address.find_first_of(" \t\n") != std::string::npos)
    return invalid_argument(said + " means several addresses: " + address);
  return address;
}

}  // namespace drover

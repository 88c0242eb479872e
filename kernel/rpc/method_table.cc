#include "kernel/rpc/method_table.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>

namespace drover::rpc {

namespace {

// "read", "list" or "write", as calls are counted. An ACT that only looks at this machine is a read as well.
std::string rate_class(const google::protobuf::MethodDescriptor& method) {
  switch (method.options().GetExtension(drover::route).kind()) {
    case Route::READ:
      return "read";
    case Route::LIST:
      return "list";
    case Route::ACT:
      return method.options().GetExtension(drover::http).has_get() ? "read" : "write";
    default:
      return "write";
  }
}

}  // namespace

std::string method_name(const google::protobuf::MethodDescriptor& descriptor) {
  return "/" + descriptor.service()->full_name() + "/" + descriptor.name();
}

Status MethodTable::add_service(std::string_view plugin, std::string_view full_name,
                                std::vector<MethodBinding> bindings) {
  const auto* service = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(std::string(full_name));
  const std::string where = "service " + std::string(full_name);
  if (!service) return invalid_argument(where + ": no such service in the messages that this plugin carries");
  std::vector<Method> methods;
  for (int i = 0; i < service->method_count(); ++i) {
    const auto& descriptor = *service->method(i);
    Method method{.name = method_name(descriptor),
                  .plugin = std::string(plugin),
                  .route = descriptor.options().GetExtension(drover::route),
                  .access = descriptor.options().GetExtension(drover::access),
                  .descriptor = &descriptor,
                  .streaming = descriptor.server_streaming() || descriptor.client_streaming(),
                  .rate = "nomad.nomad.rpc." + service->name() + "." + rate_class(descriptor)};
    const std::string place = where + ", method " + descriptor.name();
    if (method.route.target() == Route::TARGET_UNSPECIFIED || method.route.kind() == Route::KIND_UNSPECIFIED) {
      return invalid_argument(place + ": declares no route; add option (drover.route) with target and kind");
    }
    if (method.access.rule_case() == Access::RULE_NOT_SET) {
      return invalid_argument(place + ": declares no access rule; add option (drover.access)");
    }
    auto binding = std::ranges::find(bindings, descriptor.name(), &MethodBinding::name);
    if (binding == bindings.end()) return invalid_argument(place + ": has no handler");
    method.unary = std::move(binding->unary);
    method.stream = std::move(binding->stream);
    method.write = std::move(binding->write);
    bindings.erase(binding);
    if (method.streaming != static_cast<bool>(method.stream)) {
      return invalid_argument(place + ": the handler is " + (method.streaming ? "unary" : "streaming") +
                              ", the declaration is not");
    }
    if (method.route.kind() == Route::WRITE && method.route.target() != Route::LEADER)
      return invalid_argument(place + ": kind WRITE goes through the leader: declare target LEADER, or kind ACT");
    if ((method.route.kind() == Route::WRITE) != static_cast<bool>(method.write)) {
      return invalid_argument(place + ": " +
                              (method.write ? "its handler decides on a write, so declare kind WRITE"
                                            : "kind WRITE needs a handler that returns Write<Response>; one that does "
                                              "something by itself is of kind ACT"));
    }
    if (methods_.contains(method.name))
      return already_exists(place + ": is already answered by plugin " + methods_[method.name].plugin);
    methods.push_back(std::move(method));
  }
  if (!bindings.empty()) return invalid_argument(where + ": has no method named " + bindings.front().name);
  for (Method& method : methods) methods_.emplace(method.name, std::move(method));
  return ok_status();
}

void MethodTable::add_elsewhere(const MethodTable& other) {
  for (const auto& [name, method] : other.methods_) {
    Method& known = methods_[name] = method;
    known.unary = {};
    known.stream = {};
    known.write = {};
  }
}

const Method* MethodTable::find(std::string_view name) const {
  auto at = methods_.find(name);
  return at == methods_.end() ? nullptr : &at->second;
}

}  // namespace drover::rpc

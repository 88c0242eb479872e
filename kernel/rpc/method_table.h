// Every method that this process answers or knows, with what its .proto declares. Filled while plugins are declared,
// constant afterwards. [any]
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drover/methods.h"
#include "drover/options.pb.h"
#include "drover/result.h"

namespace google::protobuf {
class MethodDescriptor;
}

namespace drover::rpc {

struct Method {
  std::string name;  // "/drover.v1.Jobs/Register"
  std::string plugin;
  Route route;
  Access access;
  const google::protobuf::MethodDescriptor* descriptor = nullptr;
  bool streaming = false;
  std::string rate;  // the counter of its calls, "nomad.rpc.Jobs.write"
  // One of the three, or none where the method is answered by other agents only.
  UnaryHandler unary;
  StreamHandler stream;
  WriteHandler write;

  bool is_read() const { return route.kind() == Route::READ || route.kind() == Route::LIST; }
  bool is_answered_here() const { return unary || stream || write; }
};

class MethodTable {
 public:
  // Binds handlers to every method of the service. Errors: invalid_argument naming a method without handler, route or
  // access rule, a handler without method, or a name that is taken.
  Status add_service(std::string_view plugin, std::string_view full_name, std::vector<MethodBinding> bindings);
  // Takes over what the other table knows, without its handlers. Before add_service of the same names.
  void add_elsewhere(const MethodTable& other);
  const Method* find(std::string_view name) const;
  const std::map<std::string, Method, std::less<>>& all() const { return methods_; }

 private:
  std::map<std::string, Method, std::less<>> methods_;
};

// Opens "/package.Service/Method" from a descriptor.
std::string method_name(const google::protobuf::MethodDescriptor& descriptor);

}  // namespace drover::rpc

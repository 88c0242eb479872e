// Links, addresses and routes of one network namespace, over rtnetlink.
#pragma once

#include <memory>
#include <string>

#include "drover/fd.h"
#include "drover/result.h"

struct nl_sock;

namespace drover::networks {

// One thread at a time.
class Links {
 public:
  static Result<Links> open();                                 // of this process's namespace
  static Result<Links> open_in(const std::string& path);       // of the namespace that is mounted there

  // Makes a bridge, or finds it. Errors: failed_precondition when the name is that of another kind of link.
  Status make_bridge(const std::string& name);
  // Two ends of a wire: `name` here, as a port of the bridge, `inside` in the namespace of that descriptor.
  // `is_hairpin`: frames may leave by the port by which they came.
  Status make_wire(const std::string& name, const std::string& bridge, const std::string& inside, int name_space,
                   bool is_hairpin);
  // "172.26.64.2/20". One that is there already is fine.
  Status add_address(const std::string& link, const std::string& address);
  Status raise(const std::string& link);
  Status add_default_route(const std::string& link, const std::string& gateway);
  // Errors: not_found.
  Status check(const std::string& link);
  // One that is not there is fine.
  Status remove(const std::string& link);

 private:
  struct Close {
    void operator()(nl_sock* socket) const;
  };
  using Socket = std::unique_ptr<nl_sock, Close>;
  explicit Links(Socket socket) : socket_(std::move(socket)) {}
  static Result<Socket> connect();

  Socket socket_;
};

}  // namespace drover::networks

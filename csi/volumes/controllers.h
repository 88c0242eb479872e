// The way to a plugin's controllers: through any node that runs a healthy one, always in the same order, so that two
// instances are not asked side by side. [any thread that may wait]
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/plugin.h"
#include "drover/v1/csi.pb.h"
#include "tables.h"

namespace drover::volumes {

// A call takes so long at the most on the node; the way there and back comes on top.
inline constexpr auto kCallTime = std::chrono::seconds(130);

struct ControllerPlace {
  std::string node_id;
  v1::CsiControllerInfo info;
};

// The nodes that run a healthy controller of the plugin and are ready, by identifier.
std::vector<ControllerPlace> controllers_of(const ReadView& view, TableId nodes, const std::string& plugin_id);

CallContext node_call(Host& host, const char* method, std::stop_token stop);

// A node that cannot be asked has these codes; a plugin may say them, too.
inline bool may_be_unreachable(Code code) { return code == Code::unavailable || code == Code::not_found; }

class Controllers {
 public:
  Controllers(Host& host, const Tables& tables) : host_(host), tables_(tables) {}

  // Asks the first that can be asked: sets node_id in the request. `method`: of NodeCsi. Errors: the plugin's own;
  // unavailable when there is no healthy controller, or none could be reached.
  template <typename Response, typename Request>
  Result<Response> call(const char* method, Request request, std::stop_token stop) const {
    Status last = unavailable("no healthy controller of the plugin \"" + request.plugin_id() + "\"");
    for (const ControllerPlace& place : controllers_of(*host_.snapshot(), tables_.nodes, request.plugin_id())) {
      request.set_node_id(place.node_id);
      auto response = drover::call<Response>(host_.caller(), node_call(host_, method, stop), request);
      if (response || !may_be_unreachable(response.status().code())) return response;
      last = response.status();
    }
    return last;
  }

 private:
  Host& host_;
  const Tables& tables_;
};

}  // namespace drover::volumes

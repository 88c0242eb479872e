// Calls to one instance of a storage plugin, by the Container Storage Interface (csi.v1), over its socket.
//
//   Client client(socket);
//   DROVER_TRY(const auto info, client.call<csi::v1::GetPluginInfoResponse>(csi::v1::GetPluginInfoRequest(), limits));
//
// The method is known by its request: XRequest asks for X of the service that has it.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "csi/protocol/call_limits.h"
#include "csi/protocol/messages.h"
#include "drover/result.h"

namespace drover::plugin_programs {
class Channel;
}

namespace drover::csi {

class KnownSecrets;  // csi/protocol/redact.h

class Client {
 public:
  // Does not wait for the other end: the first call does. `socket`: an absolute path.
  // `told`: hears of every secret before the plugin does; null: nobody.
  explicit Client(const std::string& socket, std::shared_ptr<KnownSecrets> told = nullptr);
  explicit Client(std::unique_ptr<plugin_programs::Channel> channel, std::shared_ptr<KnownSecrets> told = nullptr);
  ~Client();

  // Errors: the plugin's own, by its code, with the method and without any value of the request's secrets in the text;
  // unavailable when it is gone; deadline_exceeded; cancelled by `stop`; internal for an answer that is none. Blocks.
  // [any]
  template <typename Response, typename Request>
  Result<Response> call(const Request& request, const CallLimits& limits = {}, std::stop_token stop = {}) {
    DROVER_TRY(const std::string bytes, exchange(request, limits, stop));
    Response response;
    if (!response.ParseFromString(bytes))
      return internal_error(method_of(request) + ": the plugin's answer is not a message");
    return response;
  }

 private:
  static std::string method_of(const google::protobuf::Message& request);
  Result<std::string> exchange(const google::protobuf::Message& request, const CallLimits& limits,
                               std::stop_token stop);

  std::unique_ptr<plugin_programs::Channel> channel_;
  const std::shared_ptr<KnownSecrets> told_;
};

}  // namespace drover::csi

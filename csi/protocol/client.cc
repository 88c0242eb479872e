#include "csi/protocol/client.h"

#include <google/protobuf/message.h>

#include "csi/protocol/method_path.h"
#include "csi/protocol/redact.h"
#include "drover/clock.h"
#include "drover/pause.h"
#include "drover/plugin_programs/channel.h"

namespace drover::csi {
namespace {

namespace pb = google::protobuf;

bool may_be_repeated(Code code) {
  return code == Code::unavailable || code == Code::resource_exhausted || code == Code::deadline_exceeded;
}

}  // namespace

Client::Client(const std::string& socket, std::shared_ptr<KnownSecrets> told)
    : Client(plugin_programs::connect(socket), std::move(told)) {}
Client::Client(std::unique_ptr<plugin_programs::Channel> channel, std::shared_ptr<KnownSecrets> told)
    : channel_(std::move(channel)), told_(std::move(told)) {}
Client::~Client() = default;

std::string Client::method_of(const pb::Message& request) {
  const std::string path = method_path(*request.GetDescriptor());
  return path.substr(path.rfind('/') + 1);
}

Result<std::string> Client::exchange(const pb::Message& request, const CallLimits& limits, std::stop_token stop) {
  const std::string path = method_path(*request.GetDescriptor()), bytes = request.SerializeAsString();
  if (told_) told_->add_of(request);
  const SystemClock clock;
  std::chrono::nanoseconds pause = limits.first_pause;
  for (int tries = 1;; ++tries, pause *= 2) {
    if (stop.stop_requested()) return cancelled(method_of(request) + ": it is no longer wanted");
    auto answer = channel_->call(path, bytes, clock.steady() + limits.each_try, stop);
    if (answer) return answer;
    const Status& why = answer.status();
    if (stop.stop_requested()) continue;  // says so above, for it did not end by itself
    if (tries >= limits.tries || !may_be_repeated(why.code()))
      return Status(why.code(), method_of(request) + ": " + without_secrets(why.message(), request));
    (void)pause_for(pause, stop);
  }
}

}  // namespace drover::csi

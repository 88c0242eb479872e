#include "serve_stable.h"

#include <google/protobuf/descriptor.h>

#include <thread>

#include "../../serve/base_service.h"
#include "../../serve/endpoint.h"
#include "drover/log.h"
#include "drover/messages.h"
#include "drover/plugin_kind.h"

#include "drover/v1/plugin_host.pb.h"

namespace drover::conformance {
namespace {

Status write_line(serve::Call& call) {
  DROVER_TRY(const auto line, parse_message<v1::PluginLogLine>(call.request()));
  std::vector<log::Field> fields;
  for (const auto& [name, value] : line.fields()) fields.emplace_back(name, value);
  log::write(line.level() == v1::PluginLogLine::ERROR ? log::Level::error : log::Level::info, "plugin", line.message(),
             fields);
  (void)call.send({});
  return ok_status();
}

Status hand_on(plugin_programs::Channel& channel, const std::string& method, serve::Call& call) {
  const std::shared_ptr<plugin_programs::Dialogue> dialogue = channel.talk(method);
  const std::stop_callback gone(call.stop(), [&] { dialogue->cancel(); });
  if (dialogue->say(call.request())) {
    const std::jthread speaker([&](const std::stop_token& stop) {
      while (auto further = call.receive(stop)) {
        if (!dialogue->say(*std::move(further))) break;
      }
      dialogue->finish();
    });
    while (auto answer = dialogue->next()) {
      if (!call.send(*std::move(answer))) break;
    }
  }
  return dialogue->status();
}

// The file that says what a plugin of this kind is called with.
const google::protobuf::FileDescriptor* protocol_of(std::string_view point) {
  const PluginKind* const kind = kind_of_point(point);
  DROVER_CHECK(kind != nullptr);
  return google::protobuf::DescriptorPool::generated_pool()->FindFileByName(std::string(kind->protocol));
}

}  // namespace

Result<std::shared_ptr<plugin_programs::ResidentChannel>> open_stable(const StablePlugin& plugin) {
  static const drover_endpoint host = serve::make_endpoint({{"/drover.v1.PluginHost/Log", write_line}});
  drover_endpoint opened{};
  if (const int32_t code = plugin.entry(&host, &opened); code != 0)
    return failed_precondition("its entry refuses to serve here: " + std::string(to_string(static_cast<Code>(code))));
  if (opened.size < sizeof(drover_endpoint) || opened.open == nullptr || opened.release == nullptr)
    return failed_precondition("its entry returned an endpoint without functions");
  return std::shared_ptr<plugin_programs::ResidentChannel>(plugin_programs::connect(opened));
}

serve::Methods hand_on(const StablePlugin& plugin, const std::shared_ptr<plugin_programs::ResidentChannel>& channel,
                       const std::function<void()>& end) {
  namespace base = hashicorp::nomad::plugins::base::proto;
  serve::Methods methods;
  for (const auto* file : {base::PluginInfoRequest::descriptor()->file(), protocol_of(plugin.kind)}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        const std::string method = "/" + file->service(s)->full_name() + "/" + file->service(s)->method(m)->name();
        methods[method] = [channel, method](serve::Call& call) { return hand_on(*channel, method, call); };
      }
    }
  }
  serve::add_process_methods(methods, end);
  return methods;
}

}  // namespace drover::conformance

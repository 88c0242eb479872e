#include <algorithm>
#include <cerrno>
#include <fstream>

#include "drover/api/services.pb.h"
#include "drover/node_calls.h"
#include "drover/read_all.h"
#include "drover/trim.h"
#include "registry/reads.h"

namespace drover::dns {
namespace {

using namespace std::chrono_literals;

constexpr auto kWait = 5min;               // for news
constexpr auto kCallTime = kWait + 1min;   // the same with the way there and back
constexpr auto kNamesTime = 10s;
constexpr size_t kMaxToken = 4096;

// Nothing for an address that nobody can be sent to.
std::optional<Instance> instance_of(const v1::ServiceRegistration& row) {
  Instance out;
  if (const auto address = parse_address(row.address())) {
    out.address = *address;
  } else if (auto name = parse_name(row.address())) {
    out.address = *std::move(name);
  } else {
    return std::nullopt;
  }
  out.alloc_id = Uuid::from_bytes(row.alloc_id()).to_string();
  out.port = static_cast<uint16_t>(std::clamp(row.port(), 0, 65535));
  out.datacenter = lower(row.datacenter());
  out.is_critical = row.status() == "critical";
  for (const std::string& tag : row.tags()) out.tags.push_back(lower(tag));
  return out;
}

Result<Reads::Instances> read_instances(const Result<Reply>& reply) {
  if (!reply) return reply.status();
  DROVER_TRY(const auto answer, parse_message<v1::ServiceRegistrationsResponse>(reply->body));
  Reads::Instances out{.all = {}, .index = reply->meta.index, .last_contact = reply->meta.last_contact};
  for (const v1::ServiceRegistration& row : answer.services()) {
    if (auto instance = instance_of(row)) out.all.push_back(*std::move(instance));
  }
  return out;
}

Result<Reads::Names> read_names(const Result<Reply>& reply) {
  if (!reply) return reply.status();
  DROVER_TRY(const auto answer, parse_message<v1::ListServicesResponse>(reply->body));
  Reads::Names out;
  for (const v1::NamespaceServices& each : answer.namespaces()) {
    for (const v1::ServiceStub& stub : each.services())
      out.push_back({.name_space = each.namespace_(), .name = stub.service_name()});
  }
  return out;
}

}  // namespace

Result<std::string> read_token(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return errno_status(errno, "read the token in " + path);
  const std::string text = read_all(file);
  const std::string token(trim(text));
  if (token.empty() || token.size() > kMaxToken) return failed_precondition("there is no token in " + path);
  return token;
}

Result<CallContext> ServerReads::context(const char* method, std::chrono::nanoseconds time,
                                         std::stop_token stop) const {
  CallContext plain;
  plain.method = method;
  plain.deadline = host_.clock().steady() + time;
  plain.stop = stop;
  if (!token_file_.empty()) {
    DROVER_TRY(plain.query.token, read_token(token_file_));
    return plain;
  }
  const auto* calls = host_.extension<NodeCalls>("agent");
  if (!host_.agent().client || !calls) return plain;
  if (!calls->proof()) return unavailable("the servers do not know this node yet");
  return calls->context(method, time, std::move(stop));
}

void ServerReads::call(Result<CallContext> context, std::string request,
                       std::function<void(Result<Reply>)> done) const {
  const auto tell = [loop = loop_, done = std::move(done)](Result<Reply> reply) {
    if (const auto held = loop.lock()) held->post([done, reply = std::move(reply)] { done(reply); });
  };
  if (!context) return tell(context.status());
  context->query.stale = true;
  host_.caller().call(*std::move(context), std::move(request), tell);
}

void ServerReads::names(std::function<void(Result<Names>)> done) {
  auto asked = context("/drover.v1.Services/List", kNamesTime, stop_.get_token());
  if (asked) asked->query.name_space = "*";
  call(std::move(asked), {}, [done = std::move(done)](const Result<Reply>& reply) { done(read_names(reply)); });
}

void ServerReads::instances(const ServiceName& name, uint64_t index, std::stop_token stop,
                            std::function<void(Result<Instances>)> done) {
  auto asked = context("/drover.v1.Services/Get", kCallTime, std::move(stop));
  if (asked) {
    asked->query.name_space = name.name_space;
    asked->query.min_index = index;
    asked->query.max_wait = kWait;
  }
  v1::GetServiceRequest request;
  request.set_service_name(name.name);
  call(std::move(asked), serialize(request),
       [done = std::move(done)](const Result<Reply>& reply) { done(read_instances(reply)); });
}

}  // namespace drover::dns

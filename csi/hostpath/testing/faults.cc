#include "testing/faults.h"

#include <fcntl.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <sys/mount.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "csi/v1/csi.pb.h"
#include "drover/pause.h"
#include "sdk/serve/server.h"

namespace drover::hostpath {
namespace {

namespace pb = google::protobuf;

// A call whose answer is kept back.
class Kept final : public serve::Call {
 public:
  explicit Kept(serve::Call& call) : call_(call) {}
  const std::string& request() const override { return call_.request(); }
  std::optional<std::string> receive(std::stop_token stop) override { return call_.receive(std::move(stop)); }
  bool send(std::string message) override {
    answer = std::move(message);
    return true;
  }
  std::stop_token stop() const override { return call_.stop(); }

  std::string answer;

 private:
  serve::Call& call_;
};

std::unique_ptr<pb::Message> request_of(const std::string& method, const std::string& bytes) {
  const auto* type = pb::DescriptorPool::generated_pool()->FindMessageTypeByName("csi.v1." + method + "Request");
  if (!type) return nullptr;
  std::unique_ptr<pb::Message> request(pb::MessageFactory::generated_factory()->GetPrototype(type)->New());
  (void)request->ParseFromString(bytes);
  return request;
}

// "-" for what the request does not have.
std::string text_in(const pb::Message* request, const std::string& name) {
  const auto* field = request ? request->GetDescriptor()->FindFieldByName(name) : nullptr;
  const std::string text = field ? request->GetReflection()->GetString(*request, field) : "";
  return text.empty() ? "-" : text;
}

std::string secrets_in(const pb::Message* request) {
  std::string all;
  const auto* field = request ? request->GetDescriptor()->FindFieldByName("secrets") : nullptr;
  for (int i = 0; field && i < request->GetReflection()->FieldSize(*request, field); ++i) {
    const pb::Message& entry = request->GetReflection()->GetRepeatedMessage(*request, field, i);
    all += " " + entry.GetReflection()->GetString(entry, field->message_type()->map_value());
  }
  return all;
}

Status status_of(const std::string& code, const std::string& text) {
  const auto number = static_cast<Code>(std::atoi(code.c_str()));
  return number == Code::ok ? ok_status() : Status(number, text);
}

[[noreturn]] void die() {
  (void)::kill(::getpid(), SIGKILL);
  std::abort();
}

}  // namespace

Status Faults::pass(const std::string& path, serve::Call& call, const Answerer& answerer) {
  const std::string method = path.substr(path.rfind('/') + 1);
  const auto request = request_of(method, call.request());
  std::string what;
  {
    const MutexLock lock(mutex_);
    what = std::to_string(++last_) + " " + std::to_string(::getpid()) + " " + method + " " +
           text_in(request.get(), "volume_id") + " " + text_in(request.get(), "node_id") + "\n";
    record("begin " + what);
  }
  const Status status = carry_out(take(method), method, call, answerer);
  const MutexLock lock(mutex_);
  record("end " + what);
  return status;
}

void Faults::record(const std::string& line) const {
  const int file = ::open((folder_ + "/calls").c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  (void)!::write(file, line.data(), line.size());
  ::close(file);
}

Faults::Fault Faults::take(const std::string& method) {
  const MutexLock lock(mutex_);
  const std::string path = folder_ + "/" + method;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return {};
  std::istringstream words(line);
  std::string times;
  Fault fault;
  words >> times >> fault.what >> fault.argument;
  if (times == "always") return fault;
  std::string rest;
  if (const int left = std::atoi(times.c_str()) - 1; left > 0)
    rest = std::to_string(left) + " " + fault.what + " " + fault.argument + "\n";
  for (std::string next; std::getline(file, next);) rest += next + "\n";
  std::ofstream(path + ".new") << rest;
  std::filesystem::rename(path + ".new", path);
  return fault;
}

Status Faults::carry_out(const Fault& fault, const std::string& method, serve::Call& call, const Answerer& answerer) {
  const std::string& what = fault.what;
  const auto request = request_of(method, call.request());
  if (what.empty()) return answerer(call);
  if (what == "fail") return status_of(fault.argument, "planted");
  if (what == "tells") {
    std::fprintf(stderr, "told:%s\n", secrets_in(request.get()).c_str());
    return status_of(fault.argument, "planted, with" + secrets_in(request.get()));
  }
  if (what == "die") die();
  if (what == "hang") return wait_for_stop(call.stop()), cancelled("nobody waits any more");
  if (what == "empty" || what == "garbage") {
    (void)call.send(what == "empty" ? "" : "\xff\xff\xff");
    return ok_status();
  }
  Kept kept(call);
  const Status status = answerer(kept);
  if (what == "died") die();
  if (what == "never") return wait_for_stop(call.stop()), cancelled("nobody waits any more");
  if (what == "lost") return status_of(fault.argument, "planted, after the work");
  if (what == "late") (void)pause_for(std::chrono::seconds(std::atoi(fault.argument.c_str())), call.stop());
  if (what == "unmount") (void)::umount2(text_in(request.get(), "target_path").c_str(), MNT_DETACH);
  if (what == "named") {
    csi::v1::NodeGetInfoResponse info;
    (void)info.ParseFromString(kept.answer);
    info.set_node_id(fault.argument);
    kept.answer = info.SerializeAsString();
  }
  if (status.ok()) (void)call.send(kept.answer);
  return status;
}

}  // namespace drover::hostpath

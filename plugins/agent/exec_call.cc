#include "exec_call.h"

#include <nlohmann/json.hpp>

#include "drover/api/client.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::agent {
namespace {

using Json = nlohmann::json;

// How soon a receiver that is no longer wanted is noticed: the router's streams wait with a deadline only.
constexpr auto kGlance = std::chrono::milliseconds(100);

void copy(const driver::ExecTaskStreamingIOOperation& from, v1::ExecPart& to) {
  to.set_data(from.data());
  to.set_close(from.close());
}

}  // namespace

Result<std::vector<std::string>> parse_command(const std::string& json) {
  const Json list = Json::parse(json, nullptr, false);
  const auto refuse = [](const char* why) {
    return invalid_argument(std::string("command must be a JSON list of texts") + why);
  };
  if (!list.is_array()) return refuse("");
  std::vector<std::string> words;
  for (const Json& word : list) {
    if (!word.is_string()) return refuse("");
    words.push_back(word.get<std::string>());
    if (words.back().find('\0') != std::string::npos) return refuse(" without a zero byte");
  }
  if (words.empty() || words.front().empty()) return refuse(", the program first");
  return words;
}

std::optional<driver::ExecTaskStreamingRequest> ExecCall::receive(std::stop_token stop) {
  while (!stop.stop_requested() && !stop_.stop_requested()) {
    const SteadyTime deadline = clock_.steady() + kGlance;
    const auto bytes = stream_.receive(deadline);
    if (!bytes && clock_.steady() < deadline) return {};  // the caller has said everything
    if (!bytes) continue;
    const auto request = parse_message<v1::ExecRequest>(*bytes);
    if (!request) return {};
    driver::ExecTaskStreamingRequest out;
    if (request->has_tty_size()) {
      out.mutable_tty_size()->set_height(request->tty_size().height());
      out.mutable_tty_size()->set_width(request->tty_size().width());
    }
    if (request->has_stdin()) {
      out.mutable_stdin()->set_data(request->stdin().data());
      out.mutable_stdin()->set_close(request->stdin().close());
    }
    return out;
  }
  return {};
}

bool ExecCall::send(const driver::ExecTaskStreamingResponse& response) {
  // How a command ended that was killed for that is no news: the call has an end of its own.
  if (stop_.stop_requested()) return false;
  v1::ExecResponse out;
  if (response.has_stdout()) copy(response.stdout(), *out.mutable_stdout());
  if (response.has_stderr()) copy(response.stderr(), *out.mutable_stderr());
  out.set_exited(response.exited());
  if (response.has_result()) {
    out.mutable_result()->set_exit_code(response.result().exit_code());
    out.mutable_result()->set_signal(response.result().signal());
    out.mutable_result()->set_oom_killed(response.result().oom_killed());
  }
  return stream_.send(out.SerializeAsString());
}

}  // namespace drover::agent

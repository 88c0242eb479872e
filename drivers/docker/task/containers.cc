#include "task/containers.h"

#include <algorithm>

namespace drover::docker {
namespace {

bool says(const Status& status, std::string_view text) { return status.message().find(text) != std::string::npos; }

std::string target_of(const std::string& id, std::string_view verb) {
  return "/containers/" + percent_encode(id) + std::string(verb);
}

}  // namespace

bool is_name_in_use(const Status& status) { return !status.ok() && says(status, "is already in use by"); }

bool is_not_running(const Status& status) {
  if (status.ok()) return false;
  return says(status, "is not running") || says(status, "container state improper") ||
         says(status, "can only kill running containers");
}

bool is_transient(const Status& status) {
  if (status.code() == Code::unavailable) return true;
  return status.code() == Code::internal &&
         (says(status, "EOF") || says(status, "timeout awaiting") || says(status, "connection reset"));
}

Result<Container> inspect_container(Engine& engine, const std::string& id, const Patience& patience) {
  DROVER_TRY(const std::string answer, engine.call({.target = target_of(id, "/json")}, patience));
  return read_container(answer);
}

Status remove_container(Engine& engine, const std::string& id) {
  Status done = engine.call({.method = "DELETE", .target = target_of(id, "?force=1&v=1")}).status();
  const bool is_going = says(done, "is already in progress");
  return done.code() == Code::not_found || is_going ? ok_status() : done;
}

Status kill_container(Engine& engine, const std::string& id, const std::string& signal) {
  Status done =
      engine.call({.method = "POST", .target = target_of(id, "/kill" + query({{"signal", signal}}))}).status();
  if (is_not_running(done)) return failed_precondition(done.message());
  return done;
}

Status start_container(Engine& engine, const std::string& id) {
  return engine.call({.method = "POST", .target = target_of(id, "/start")}).status();
}

}  // namespace drover::docker

#include "node/given.h"

#include <algorithm>

#include "drover/v1/task.pb.h"
#include "drover/workload.h"

namespace drover::identity {
namespace {

bool is_default(const v1::Identity& identity) { return identity.name().empty() || identity.name() == kDefaultIdentity; }

bool is_of_a_variable(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::vector<v1::Identity> shown_identities(const v1::Task& task) {
  std::vector<v1::Identity> shown;
  const auto add = [&](const v1::Identity& one) {
    if (one.env() || one.file()) shown.push_back(one);
  };
  if (task.has_identity()) {
    v1::Identity own = task.identity();
    own.set_name(std::string(kDefaultIdentity));
    add(own);
  }
  for (const v1::Identity& one : task.identities()) add(one);
  return shown;
}

std::string file_of(const v1::Identity& identity) {
  if (!identity.filepath().empty()) return identity.filepath();
  return is_default(identity) ? "secrets/nomad_token" : "secrets/nomad_" + identity.name() + ".jwt";
}

std::string variable_of(const v1::Identity& identity) {
  if (is_default(identity)) return "NOMAD_TOKEN";
  std::string name = "NOMAD_TOKEN_" + identity.name();
  std::ranges::replace_if(name, [](char c) { return !is_of_a_variable(c); }, '_');
  return name;
}

std::chrono::nanoseconds until_renewal(int64_t expires_at, int64_t now_ns) {
  return std::max<std::chrono::nanoseconds>(std::chrono::seconds(1), std::chrono::nanoseconds((expires_at - now_ns) / 2));
}

}  // namespace drover::identity

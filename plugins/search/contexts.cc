#include "contexts.h"

#include <array>
#include <memory>
#include <utility>

#include "drover/keys.h"
#include "drover/model/namespace.h"
#include "drover/options.pb.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/host_volume.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/task.pb.h"

namespace drover::search {
namespace {

// Rows of a table that one search looks at: some tens of milliseconds of the leader at most.
constexpr int kRowsOfOneSearch = 20'000;

template <typename Message>
Message parsed(std::string_view row) {
  Message message;
  message.ParseFromArray(row.data(), static_cast<int>(row.size()));
  return message;
}

void read_allocation(std::string_view row, Object& object) {
  auto alloc = parsed<v1::Allocation>(row);
  object.name_space = std::move(*alloc.mutable_namespace_());
  object.name = std::move(*alloc.mutable_name());
}

void read_node(std::string_view row, Object& object) { object.name = parsed<v1::Node>(row).name(); }

template <typename Message>
void read_namespace(std::string_view row, Object& object) {
  object.name_space = parsed<Message>(row).namespace_();
}

void read_job(std::string_view row, Object& object) { object.name = parsed<v1::Job>(row).name(); }

void read_host_volume(std::string_view row, Object& object) { object.name = parsed<v1::DynamicHostVolume>(row).name(); }

void read_policy(std::string_view row, Object& object) {
  const auto policy = parsed<v1::ScalingPolicy>(row);
  object.id = policy.id();
  const auto at = policy.target().find("Namespace");
  if (at != policy.target().end()) object.name_space = at->second;
}

constexpr std::array kContexts = {
    Context{"allocs", "allocs", Shape::id, Right::read_job, true, read_allocation},
    Context{"jobs", "jobs", Shape::named, Right::read_job, true, read_job},
    Context{"nodes", "nodes", Shape::id, Right::node, true, read_node},
    Context{"node_pools", "node_pools", Shape::word, Right::node, true, nullptr},
    Context{"evals", "evals", Shape::id, Right::read_job, false, read_namespace<v1::Evaluation>},
    Context{"deployment", "deployments", Shape::id, Right::read_job, false, read_namespace<v1::Deployment>},
    Context{"plugins", "nodes", Shape::plugins, Right::plugin, true, nullptr},
    Context{"volumes", "csi_volumes", Shape::named, Right::volume, false, nullptr},
    Context{"host_volumes", "host_volumes", Shape::named, Right::host_volume, true, read_host_volume},
    Context{"scaling_policy", "scaling_policies", Shape::row, Right::scaling_policy, false, read_policy},
    Context{"vars", "variables", Shape::named, Right::variable, true, nullptr},
    Context{"namespaces", "namespaces", Shape::word, Right::name_space, true, nullptr},
};

bool may_see(const Permissions& permissions, Right right, const Object& object) {
  if (right == Right::variable)
    return permissions.may_variable(object.name_space, object.id, Access::VARIABLE_LIST);
  if (right == Right::name_space) return permissions.may_see(object.id);
  return may_ask(permissions, right, object.name_space);
}

// The keys among which the objects with that prefix are; nothing: there are none.
std::optional<KeyRange> range_of(const Context& context, const std::string& name_space, const std::string& prefix) {
  switch (context.shape) {
    case Shape::named:
      if (name_space == "*") return KeyRange::all();
      return KeyRange::prefix(KeyBuilder().text(name_space).text_prefix(prefix).view());
    case Shape::word:
    case Shape::plugins:
      return KeyRange::prefix(KeyBuilder().text_prefix(prefix).view());
    case Shape::id: {
      if (prefix.empty()) return KeyRange::all();
      auto ids = uuid_prefix_range(prefix);
      if (!ids) return std::nullopt;
      return KeyRange{std::move(ids->first), ids->last + '\0'};
    }
    case Shape::row:
      break;
  }
  return KeyRange::all();
}

Object object_of(const Context& context, std::string_view key, std::string_view row) {
  Object object;
  KeyReader parts(key);
  if (context.shape == Shape::named) object.name_space = *parts.text();
  if (context.shape == Shape::id) {
    object.id = Uuid::from_bytes(key).to_string();
  } else if (context.shape != Shape::row) {
    object.id = *parts.text();
  }
  if (context.read) context.read(row, object);
  if (object.name.empty()) object.name = object.id;
  return object;
}

// The namespace that is there before it has a row.
bool walk_default(const Call& call, const std::string& prefix, TableId table, const Visit& visit) {
  const Object object{.name_space = {}, .id = std::string(kDefaultNamespace), .name = std::string(kDefaultNamespace)};
  if (!object.id.starts_with(prefix) || call.view().get(table, namespace_key(object.id))) return true;
  return !call.permissions().may_see(object.id) || visit(object, {});
}

}  // namespace

std::span<const Context> contexts() { return kContexts; }

bool may_ask(const Permissions& permissions, Right right, std::string_view name_space) {
  const auto may = [&](Access::Capability capability) { return permissions.may(capability, name_space); };
  switch (right) {
    case Right::read_job:
      return may(Access::READ_JOB);
    case Right::scaling_policy:
      return may(Access::LIST_SCALING_POLICIES) || may(Access::READ_JOB);
    case Right::volume:
      return may(Access::CSI_LIST_VOLUME) || may(Access::CSI_READ_VOLUME) || may(Access::LIST_JOBS) ||
             may(Access::READ_JOB);
    case Right::host_volume:
      return may(Access::HOST_VOLUME_READ);
    case Right::node:
      return permissions.granted(Area::node) >= Grant::read;
    case Right::plugin:
      return permissions.granted(Area::plugin) >= Grant::list;
    case Right::variable:
    case Right::name_space:
      break;
  }
  return true;
}

bool walk(const Context& context, TableId table, const Call& call, const std::string& prefix, const Visit& visit) {
  const std::string& name_space = call.query().name_space;
  const auto range = range_of(context, name_space, prefix);
  if (!range) return true;
  if (context.right == Right::name_space && !walk_default(call, prefix, table, visit)) return false;
  const uint32_t index = context.shape == Shape::plugins ? kNodesByCsiPlugin : kPrimary;
  int looks = 0;
  for (auto row = call.view().scan(table, index, *range); row->valid();) {
    if (++looks > kRowsOfOneSearch) return false;
    const Object object = object_of(context, row->key(), row->row());
    const bool is_asked_for = name_space == "*" || object.name_space.empty() || object.name_space == name_space;
    if (is_asked_for && object.id.starts_with(prefix) && may_see(call.permissions(), context.right, object) &&
        !visit(object, row->row()))
      return false;
    if (context.shape == Shape::plugins) {  // the nodes of one plugin stand together
      row = call.view().scan(table, index, {of_csi_plugin(object.id).end, range->end});
    } else {
      row->next();
    }
  }
  return true;
}

}  // namespace drover::search

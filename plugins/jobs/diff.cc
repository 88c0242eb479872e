#include "diff.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/reflection.h>
#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <vector>

#include "drover/api/plan.pb.h"
#include "drover/json.h"
#include "drover/options.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/trial.pb.h"

namespace drover::jobs {
namespace {

namespace pb = google::protobuf;
using nlohmann::json;
using pb::FieldDescriptor;

// Leaves by path, so that "args[0]" or "Meta[owner]" can be compared as texts.
using Leaves = std::map<std::string, std::string>;

const Field& options_of(const FieldDescriptor& field) { return field.options().GetExtension(drover::field); }

// True for what the servers keep about a job, which is no part of its description; its `update` is the groups'.
bool is_of_servers(const FieldDescriptor& field) {
  static const std::set<std::string> kNames = {"status",       "status_description", "stable",
                                               "version",      "submit_time",        "create_index",
                                               "modify_index", "job_modify_index",   "nomad_token_id",
                                               "id",           "parent_id",          "payload",
                                               "update",       "version_tag",        "dispatch_idempotency_token",
                                               "consul_token", "vault_token"};
  return field.containing_type() == v1::Job::descriptor() && kNames.contains(field.name());
}

// True for what placement decides, old fields, the number of a port without one, and the servers' part of a policy.
bool is_left_out(const FieldDescriptor& field, const std::string& owner) {
  static const std::set<std::pair<std::string, std::string>> kFields = {
      {"update", "stagger"},      {"networks", "device"}, {"networks", "cidr"},        {"networks", "ip"},
      {"dynamic_ports", "value"}, {"scaling", "id"},      {"scaling", "create_index"}, {"scaling", "modify_index"}};
  return is_of_servers(field) || kFields.contains({owner, field.name()});
}

using Order = std::map<const pb::Descriptor*, std::vector<const FieldDescriptor*>>;

// The parts of a message, and of those in it, as they are shown; what has no place here follows as it is declared.
void add_order(const pb::Descriptor& type, Order& out) {
  static const std::map<std::string, std::vector<const char*>> kFirst = {
      {"Job", {"datacenters", "constraints", "affinities", "periodic", "parameterized_job", "multiregion"}},
      {"TaskGroup",
       {"constraints", "affinities", "restart_policy", "reschedule_policy", "ephemeral_disk", "consul", "update",
        "networks", "services", "volumes"}},
      {"Task",
       {"constraints", "affinities", "config", "resources", "log_config", "dispatch_payload", "artifacts", "services",
        "vault", "templates", "identity"}},
      {"Resources", {"networks", "devices"}},
      {"NetworkResource", {"reserved_ports", "dynamic_ports", "dns"}},
      {"Service", {"canary_tags", "tags", "checks", "connect"}},
      {"Template", {"wait", "change_script"}},
      {"ParameterizedJob", {"meta_optional", "meta_required"}}};
  const auto [entry, is_new] = out.try_emplace(&type);
  if (!is_new) return;
  std::vector<const FieldDescriptor*>& fields = entry->second;
  if (auto at = kFirst.find(type.name()); at != kFirst.end()) {
    for (const char* name : at->second) {
      fields.push_back(type.FindFieldByName(name));
      DROVER_CHECK(fields.back() != nullptr);
    }
  }
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (std::ranges::find(fields, field) == fields.end()) fields.push_back(field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) add_order(*field->message_type(), out);
  }
}

const std::vector<const FieldDescriptor*>& in_order(const pb::Descriptor& type) {
  static const Order kOrder = [] {
    Order order;
    add_order(*v1::Job::descriptor(), order);
    return order;
  }();
  return kOrder.at(&type);
}

// ---- texts of values

void json_leaves(const json& value, const std::string& path, Leaves& out) {
  if (value.is_object()) {
    for (const auto& [key, item] : value.items()) json_leaves(item, path.empty() ? key : path + "[" + key + "]", out);
  } else if (value.is_array()) {
    for (size_t i = 0; i < value.size(); ++i) json_leaves(value[i], path + "[" + std::to_string(i) + "]", out);
  } else if (!value.is_null()) {
    out[path] = value.is_string() ? value.get<std::string>() : value.dump();
  }
}

// A scalar as it prints in JSON, texts without their quotes; empty when absent.
std::string text_of(const pb::Message& owner, const FieldDescriptor& field) {
  if (field.has_presence() && !owner.GetReflection()->HasField(owner, &field)) return {};
  const json value = json::parse(field_to_json(owner, field), nullptr, false);
  if (value.is_null()) return {};
  return value.is_string() ? value.get<std::string>() : value.dump();
}

bool is_default(const pb::Message& owner, const FieldDescriptor& field) {
  return !owner.GetReflection()->HasField(owner, &field) && !field.has_presence();
}

std::vector<std::string> texts_of(const pb::Message& owner, const FieldDescriptor& field) {
  std::vector<std::string> texts;
  for (const json& item : json::parse(field_to_json(owner, field), nullptr, false)) {
    texts.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  }
  return texts;
}

std::string joined(const std::set<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ",") + text;
  return out;
}

// ---- fields

v1::DiffType type_of(const std::string& old_text, const std::string& new_text) {
  if (old_text == new_text) return v1::DIFF_TYPE_NONE;
  if (old_text.empty()) return v1::DIFF_TYPE_ADDED;
  return new_text.empty() ? v1::DIFF_TYPE_DELETED : v1::DIFF_TYPE_EDITED;
}

// Objects show what is the same as well: for people to know what they look at. Jobs, groups and tasks do not.
template <typename Diff>
constexpr bool kShowsContext = std::is_same_v<Diff, v1::ObjectDiff>;

template <typename Diff>
void add_field(Diff& diff, const std::string& name, const std::string& old_text, const std::string& new_text) {
  const v1::DiffType type = type_of(old_text, new_text);
  if (type == v1::DIFF_TYPE_NONE && !kShowsContext<Diff>) return;
  v1::FieldDiff& field = *diff.add_fields();
  field.set_type(type);
  field.set_name(name);
  field.set_old(old_text);
  field.set_new_(new_text);
}

template <typename Diff>
void add_leaves(Diff& diff, const Leaves& old_leaves, const Leaves& new_leaves) {
  std::set<std::string> names;
  for (const auto& entry : old_leaves) names.insert(entry.first);
  for (const auto& entry : new_leaves) names.insert(entry.first);
  const auto text = [](const Leaves& leaves, const std::string& name) {
    auto at = leaves.find(name);
    return at == leaves.end() ? std::string() : at->second;
  };
  for (const std::string& name : names) add_field(diff, name, text(old_leaves, name), text(new_leaves, name));
}

template <typename Diff>
bool has_changes(const Diff& diff) {
  const auto is_change = [](const auto& part) { return part.type() != v1::DIFF_TYPE_NONE; };
  return std::ranges::any_of(diff.fields(), is_change) || std::ranges::any_of(diff.objects(), is_change);
}

// ---- order: by name, so that the order of declarations does not show; what is edited, came, went, stayed

bool is_before(const v1::FieldDiff& a, const v1::FieldDiff& b) {
  return std::tie(a.name(), a.old(), a.new_()) < std::tie(b.name(), b.old(), b.new_());
}

int rank_of(v1::DiffType type) {
  return type == v1::DIFF_TYPE_EDITED ? 0 : type == v1::DIFF_TYPE_ADDED ? 1 : type == v1::DIFF_TYPE_DELETED ? 2 : 3;
}

bool is_before(const v1::ObjectDiff& a, const v1::ObjectDiff& b) {
  const auto rank = [](const v1::ObjectDiff& object) {
    return std::make_tuple(object.name(), rank_of(object.type()), object.fields_size(), object.objects_size());
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  const auto less = [](const auto& x, const auto& y) { return is_before(x, y); };
  if (std::ranges::lexicographical_compare(a.fields(), b.fields(), less)) return true;
  if (std::ranges::lexicographical_compare(b.fields(), a.fields(), less)) return false;
  return std::ranges::lexicographical_compare(a.objects(), b.objects(), less);
}

template <typename Parts>
void sort_from(Parts& parts, int first) {
  std::stable_sort(parts.begin() + first, parts.end(), [](const auto& a, const auto& b) { return is_before(a, b); });
}

v1::DiffType type_of(bool is_old, bool is_new, bool is_changed) {
  if (!is_old) return v1::DIFF_TYPE_ADDED;
  if (!is_new) return v1::DIFF_TYPE_DELETED;
  return is_changed ? v1::DIFF_TYPE_EDITED : v1::DIFF_TYPE_NONE;
}

// ---- objects

// For objects whose fields say all: an object that only gained fields was added.
v1::DiffType type_by_fields(const v1::ObjectDiff& object) {
  bool is_added = false, is_deleted = false;
  for (const v1::FieldDiff& field : object.fields()) {
    if (field.type() == v1::DIFF_TYPE_EDITED) return v1::DIFF_TYPE_EDITED;
    is_added = is_added || field.type() == v1::DIFF_TYPE_ADDED;
    is_deleted = is_deleted || field.type() == v1::DIFF_TYPE_DELETED;
  }
  if (is_added == is_deleted) return is_added ? v1::DIFF_TYPE_EDITED : v1::DIFF_TYPE_NONE;
  return is_added ? v1::DIFF_TYPE_ADDED : v1::DIFF_TYPE_DELETED;
}

bool says_all_by_fields(const pb::Message& message) {
  static const std::set<std::string> kTypes = {"Constraint",    "Affinity",        "RestartPolicy",  "ReschedulePolicy",
                                               "EphemeralDisk", "Consul",          "UpdateStrategy", "LogConfig",
                                               "Port",          "DispatchPayload", "Artifact",       "PeriodicConfig"};
  return kTypes.contains(message.GetDescriptor()->name());
}

// The key that tells one item of a list from another; empty: only its whole content does.
std::string key_of(const pb::Message& item) {
  for (const char* name : {"name", "label", "volume", "value", "dest_path", "destination_name"}) {
    const FieldDescriptor* field = item.GetDescriptor()->FindFieldByName(name);
    if (field && field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) return text_of(item, *field);
  }
  return {};
}

std::string object_name(const FieldDescriptor& field) {
  static const std::map<std::string, std::string> kNames = {
      {"reserved_ports", "Static Port"}, {"dynamic_ports", "Dynamic Port"}, {"csi_plugin_config", "CSIPluginConfig"}};
  if (auto at = kNames.find(field.name()); at != kNames.end()) return at->second;
  const std::string& type = field.message_type()->name();
  if (type == "Connect") return "ConsulConnect";
  if (type == "UpdateStrategy") return "Update";
  if (type == "PeriodicConfig") return "Periodic";
  if (type == "MigrateStrategy") return "MigrateStrategy";
  if (type == "NetworkResource") return "Network";
  if (type == "VolumeRequest") return "Volume";
  if (type == "TaskLifecycle") return "Lifecycle";
  if (type == "ScalingPolicy") return "Scaling";
  if (type == "RequestedDevice") return "Device";
  if (type == "ServiceCheck") return "Check";
  return field.is_repeated() ? type : json_name(field);
}

template <typename Diff>
void compare(const pb::Message* old_one, const pb::Message* new_one, Diff& diff, const std::string& owner,
             const std::set<std::string>& skipped = {});

template <typename Diff>
void add_object(Diff& diff, const FieldDescriptor& field, const std::string& name, const pb::Message* old_one,
                const pb::Message* new_one) {
  v1::ObjectDiff object;
  compare(old_one, new_one, object, field.name());
  if (field.name() == "consul" && !has_changes(object)) return;  // every group has one; most say nothing
  object.set_name(name);
  object.set_type(type_of(old_one, new_one, has_changes(object)));
  const bool is_by_fields = old_one && new_one && object.objects().empty() && says_all_by_fields(*old_one);
  if (is_by_fields) object.set_type(type_by_fields(object));
  if (object.type() != v1::DIFF_TYPE_NONE) *diff.add_objects() = std::move(object);
}

std::vector<const pb::Message*> items_of(const pb::Message* owner, const FieldDescriptor& field) {
  std::vector<const pb::Message*> items;
  if (!owner) return items;
  for (int i = 0; i < owner->GetReflection()->FieldSize(*owner, &field); ++i) {
    const pb::Message& item = owner->GetReflection()->GetRepeatedMessage(*owner, &field, i);
    items.push_back(&item);
  }
  return items;
}

// Equal items go first, then those of one key are the same thing edited; the rest came or went.
template <typename Diff>
void compare_items(const pb::Message* old_one, const pb::Message* new_one, const FieldDescriptor& field, Diff& diff) {
  std::vector<const pb::Message*> before = items_of(old_one, field), after = items_of(new_one, field);
  const bool is_only_one = before.size() == 1 && after.size() == 1;
  const int first = diff.objects_size();
  const auto pair_up = [&](auto is_pair, bool reports) {
    std::erase_if(before, [&](const pb::Message* item) {
      auto partner = std::ranges::find_if(after, [&](const pb::Message* other) { return is_pair(*item, *other); });
      if (partner == after.end()) return false;
      if (reports) add_object(diff, field, object_name(field), item, *partner);
      after.erase(partner);
      return true;
    });
  };
  pair_up([](const auto& a, const auto& b) { return pb::util::MessageDifferencer::Equals(a, b); }, false);
  pair_up([](const auto& a, const auto& b) { return !key_of(a).empty() && key_of(a) == key_of(b); }, true);
  // One service or template each is the same one, whatever became of it.
  const std::string& type = field.message_type()->name();
  const bool is_same = is_only_one && (type == "Service" || type == "Template");
  pair_up([&](const auto&, const auto&) { return is_same; }, true);
  for (const pb::Message* item : before) add_object(diff, field, object_name(field), item, nullptr);
  for (const pb::Message* item : after) add_object(diff, field, object_name(field), nullptr, item);
  sort_from(*diff.mutable_objects(), first);
}

// A list of texts is a set: what came, what went and, inside of an object, what stayed.
template <typename Diff>
void compare_texts(const pb::Message* old_one, const pb::Message* new_one, const FieldDescriptor& field, Diff& diff) {
  const auto set_of = [&](const pb::Message* owner) {
    std::set<std::string> set;
    if (owner) std::ranges::copy(texts_of(*owner, field), std::inserter(set, set.end()));
    return set;
  };
  const std::set<std::string> before = set_of(old_one), after = set_of(new_one);
  if (field.containing_type()->name() == "DnsConfig") {
    const std::string old_text = joined(before), new_text = joined(after);
    if (!old_text.empty() || !new_text.empty()) add_field(diff, json_name(field), old_text, new_text);
    return;
  }
  v1::ObjectDiff object;
  for (const std::string& text : before) add_field(object, json_name(field), text, after.contains(text) ? text : "");
  for (const std::string& text : after) {
    if (!before.contains(text)) add_field(object, json_name(field), "", text);
  }
  if (object.fields().empty() || (!kShowsContext<Diff> && !has_changes(object))) return;
  sort_from(*object.mutable_fields(), 0);
  object.set_name(json_name(field));
  object.set_type(type_by_fields(object));
  *diff.add_objects() = std::move(object);
}

template <typename Diff>
void compare_map(const pb::Message* old_one, const pb::Message* new_one, const FieldDescriptor& field, Diff& diff) {
  if (field.message_type()->map_value()->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    const auto leaves = [&](const pb::Message* owner) {
      Leaves out;
      if (owner) json_leaves(json::parse(field_to_json(*owner, field), nullptr, false), json_name(field), out);
      return out;
    };
    add_leaves(diff, leaves(old_one), leaves(new_one));
    return;
  }
  std::map<std::string, std::pair<const pb::Message*, const pb::Message*>> entries;
  const auto collect = [&](const pb::Message* owner, auto member) {
    for (const pb::Message* entry : items_of(owner, field)) {
      const pb::Reflection& reflection = *entry->GetReflection();
      const std::string key = reflection.GetString(*entry, field.message_type()->map_key());
      entries[key].*member = &reflection.GetMessage(*entry, field.message_type()->map_value());
    }
  };
  using Pair = std::pair<const pb::Message*, const pb::Message*>;
  collect(old_one, &Pair::first);
  collect(new_one, &Pair::second);
  const std::string& type = field.message_type()->map_value()->message_type()->name();
  for (const auto& [key, both] : entries) {
    add_object(diff, field, type == "VolumeRequest" ? "Volume" : type, both.first, both.second);
  }
}

// Free-form parts: an object of their own with one field for each leaf.
template <typename Diff>
void compare_raw(const pb::Message* old_one, const pb::Message* new_one, const FieldDescriptor& field, Diff& diff) {
  const auto leaves = [&](const pb::Message* owner) {
    Leaves out;
    if (owner) json_leaves(json::parse(field_to_json(*owner, field), nullptr, false), "", out);
    return out;
  };
  const Leaves before = leaves(old_one), after = leaves(new_one);
  v1::ObjectDiff object;
  add_leaves(object, before, after);
  if (!has_changes(object)) return;
  object.set_name(json_name(field));
  object.set_type(type_of(!before.empty(), !after.empty(), true));
  *diff.add_objects() = std::move(object);
}

template <typename Diff>
void compare_field(const pb::Message* old_one, const pb::Message* new_one, const FieldDescriptor& field, Diff& diff) {
  if (field.is_map()) return compare_map(old_one, new_one, field, diff);
  if (options_of(field).form() == Field::RAW) return compare_raw(old_one, new_one, field, diff);
  const bool is_message = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (field.is_repeated()) {
    return is_message ? compare_items(old_one, new_one, field, diff) : compare_texts(old_one, new_one, field, diff);
  }
  if (!is_message) {
    // A value that is absent on one side only because its owner is absent counts when it holds something.
    const auto text = [&](const pb::Message* owner, const pb::Message* other) {
      if (!owner || (!other && is_default(*owner, field) && field.cpp_type() == FieldDescriptor::CPPTYPE_STRING)) {
        return std::string();
      }
      return text_of(*owner, field);
    };
    const auto is_there = [&](const pb::Message* owner) {
      return owner && (!field.has_presence() || owner->GetReflection()->HasField(*owner, &field));
    };
    if (!is_there(old_one) && !is_there(new_one)) return;
    add_field(diff, json_name(field), text(old_one, new_one), text(new_one, old_one));
    return;
  }
  const auto part = [&](const pb::Message* owner) -> const pb::Message* {
    if (!owner || !owner->GetReflection()->HasField(*owner, &field)) return nullptr;
    return &owner->GetReflection()->GetMessage(*owner, &field);
  };
  const pb::Message *before = part(old_one), *after = part(new_one);
  if (before || after) add_object(diff, field, object_name(field), before, after);
}

template <typename Diff>
void compare(const pb::Message* old_one, const pb::Message* new_one, Diff& diff, const std::string& owner,
             const std::set<std::string>& skipped) {
  for (const FieldDescriptor* field : in_order(*(new_one ? new_one : old_one)->GetDescriptor())) {
    if (skipped.contains(field->name()) || is_left_out(*field, owner)) continue;
    compare_field(old_one, new_one, *field, diff);
  }
  sort_from(*diff.mutable_fields(), 0);
}

// ---- tasks, groups, job

template <typename Item>
std::map<std::string, std::pair<const Item*, const Item*>> by_name(const pb::RepeatedPtrField<Item>* before,
                                                                   const pb::RepeatedPtrField<Item>* after) {
  std::map<std::string, std::pair<const Item*, const Item*>> out;
  if (before) {
    for (const Item& item : *before) out[item.name()].first = &item;
  }
  if (after) {
    for (const Item& item : *after) out[item.name()].second = &item;
  }
  return out;
}

v1::TaskDiff diff_task(const v1::Task* old_task, const v1::Task* new_task) {
  v1::TaskDiff diff;
  compare(old_task, new_task, diff, "tasks", {"name"});
  diff.set_name((new_task ? new_task : old_task)->name());
  diff.set_type(type_of(old_task, new_task, has_changes(diff)));
  return diff;
}

v1::TaskGroupDiff diff_group(const v1::TaskGroup* old_group, const v1::TaskGroup* new_group) {
  v1::TaskGroupDiff diff;
  compare(old_group, new_group, diff, "task_groups", {"name", "tasks"});
  bool is_changed = has_changes(diff);
  for (const auto& [name, both] :
       by_name(old_group ? &old_group->tasks() : nullptr, new_group ? &new_group->tasks() : nullptr)) {
    v1::TaskDiff task = diff_task(both.first, both.second);
    is_changed = is_changed || task.type() != v1::DIFF_TYPE_NONE;
    *diff.add_tasks() = std::move(task);
  }
  diff.set_name((new_group ? new_group : old_group)->name());
  diff.set_type(type_of(old_group, new_group, is_changed));
  return diff;
}

// ---- annotations

constexpr const char* kCreate = "forces create";
constexpr const char* kDestroy = "forces destroy";
constexpr const char* kInPlace = "forces in-place update";
constexpr const char* kReplace = "forces create/destroy update";

const char* annotation_of(const v1::TaskDiff& task, v1::DiffType group, const v1::TrialGroup& trial) {
  if (group == v1::DIFF_TYPE_ADDED) return kCreate;
  if (group == v1::DIFF_TYPE_DELETED) return kDestroy;
  const auto& replacing = trial.replacing_tasks();
  return std::ranges::find(replacing, task.name()) != replacing.end() ? kReplace : kInPlace;
}

// A group that is new or gone has no count on one side.
int64_t count_of(const std::string& text) { return text.empty() ? 0 : std::stoll(text); }

void annotate_group(v1::TaskGroupDiff& group, const v1::TrialGroup& trial) {
  const v1::DesiredUpdates& updates = trial.updates();
  const auto set = [&](const char* name, uint64_t count) {
    if (count > 0) (*group.mutable_updates())[name] = count;
  };
  set("ignore", updates.ignore());
  set("create", updates.place());
  set("destroy", updates.stop());
  set("migrate", updates.migrate());
  set("in-place update", updates.in_place_update());
  set("create/destroy update", updates.destructive_update());
  set("canary", updates.canary());
  set("preemptions", updates.preemptions());
  for (v1::TaskDiff& task : *group.mutable_tasks()) {
    if (task.type() != v1::DIFF_TYPE_NONE) task.add_annotations(annotation_of(task, group.type(), trial));
  }
  for (v1::FieldDiff& field : *group.mutable_fields()) {
    if (field.name() != "Count") continue;
    const int64_t before = count_of(field.old()), after = count_of(field.new_());
    if (before != after) field.add_annotations(before < after ? kCreate : kDestroy);
  }
}

}  // namespace

v1::JobDiff diff_jobs(const v1::Job* old_job, const v1::Job* new_job) {
  v1::JobDiff diff;
  compare(old_job, new_job, diff, "", {"task_groups", "update"});
  bool is_changed = has_changes(diff);
  for (const auto& [name, both] :
       by_name(old_job ? &old_job->task_groups() : nullptr, new_job ? &new_job->task_groups() : nullptr)) {
    v1::TaskGroupDiff group = diff_group(both.first, both.second);
    is_changed = is_changed || group.type() != v1::DIFF_TYPE_NONE;
    *diff.add_task_groups() = std::move(group);
  }
  diff.set_id((new_job ? new_job : old_job)->id());
  diff.set_type(type_of(old_job, new_job, is_changed));
  return diff;
}

void annotate(v1::JobDiff& diff, const v1::TrialResponse& trial) {
  for (v1::TaskGroupDiff& group : *diff.mutable_task_groups()) {
    const auto at = trial.groups().find(group.name());
    annotate_group(group, at == trial.groups().end() ? v1::TrialGroup::default_instance() : at->second);
  }
}

}  // namespace drover::jobs

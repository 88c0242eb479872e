// Shared by the files of validate.cc: a place in the job that collects what is wrong with it. Pure.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "drover/v1/job.pb.h"
#include "validate.h"

namespace drover::jobs {

// group["web"].task["app"].resources.cpu
class Place {
 public:
  explicit Place(Findings& findings, std::string path = {}) : findings_(&findings), path_(std::move(path)) {}

  Place operator[](std::string_view field) const { return Place(*findings_, join(field)); }
  // One of several: by name, or by number when it has none that can stand between quotes.
  Place item(std::string_view block, const std::string& name, int index) const;

  void error(const std::string& text) const { findings_->errors.push_back(path_.empty() ? text : path_ + ": " + text); }
  void warn(const std::string& text) const {
    findings_->warnings.push_back(path_.empty() ? text : path_ + ": " + text);
  }
  void require(bool condition, const std::string& text) const {
    if (!condition) error(text);
  }
  void require_one_of(const std::string& value, std::initializer_list<std::string_view> choices) const;
  // Refuses a part of the language that this version does not carry out.
  void unsupported(bool is_used, std::string_view what) const {
    if (is_used) error(std::string(what) + " is not supported by this version of drover");
  }

 private:
  std::string join(std::string_view field) const {
    return path_.empty() ? std::string(field) : path_ + "." + std::string(field);
  }

  Findings* findings_;
  std::string path_;
};

std::string quoted(std::string_view text);
bool has_null(const std::string& text);
// True when the path, relative to a task's folder, stays inside of it.
bool stays_inside(const std::string& path);
// The same, or inside of the folder that the tasks of its allocation share: ../alloc/.
bool stays_in_folders(const std::string& path);
std::string duration_text(int64_t nanoseconds);

void check_constraint(const Place& place, const v1::Constraint& constraint, bool may_be_distinct);
void check_affinity(const Place& place, const v1::Affinity& affinity);
void check_spread(const Place& place, const v1::Spread& spread);
void check_restart(const Place& place, const v1::RestartPolicy& policy);
void check_reschedule(const Place& place, const v1::ReschedulePolicy& policy);
void check_update(const Place& place, const v1::UpdateStrategy& update);
void check_migrate(const Place& place, const v1::MigrateStrategy& migrate);
void check_periodic(const Place& place, const v1::PeriodicConfig& periodic);
void check_parameterized(const Place& place, const v1::ParameterizedJob& parameterized);
void check_volume(const Place& place, const v1::VolumeRequest& volume, const v1::TaskGroup& group, const v1::Job& job);
void check_scaling(const Place& place, const v1::ScalingPolicy& policy, const v1::TaskGroup& group, bool is_of_task);
// http, tcp, grpc and script.
bool is_own_check_type(std::string_view type);
// `task` is null for a service of the group.
// The block consul of a group or a task.
void check_consul(const Place& place, const v1::Consul& consul);
void check_service(const Place& place, const v1::Service& service, const v1::TaskGroup& group, const v1::Task* task);
void check_task(const Place& place, const v1::Task& task, const v1::TaskGroup& group, const v1::Job& job);
void check_networks(const Place& place, const google::protobuf::RepeatedPtrField<v1::NetworkResource>& networks);

}  // namespace drover::jobs

// Shared by the files of canonical.cc: each fills in the defaults of its part of a job. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "drover/v1/job.pb.h"

namespace drover::jobs {

using namespace std::chrono_literals;

constexpr int64_t ns(std::chrono::nanoseconds duration) { return duration.count(); }

// Sets an optional field of the message where it is absent.
#define DROVER_DEFAULT(message, field, value)                   \
  do {                                                          \
    if (!(message).has_##field()) (message).set_##field(value); \
  } while (false)
// Sets a text, a number or a list's only meaning of "absent".
#define DROVER_DEFAULT_TEXT(message, field, value)               \
  do {                                                           \
    if ((message).field().empty()) (message).set_##field(value); \
  } while (false)

// The side that fills in: a client, or the servers, who fill in all that a client does and what it leaves to them.
enum class Side { client, server };

inline bool is_batch(const v1::Job& job) { return job.type() == "batch" || job.type() == "sysbatch"; }

// For a job, a group, a task or a device.
template <typename Owner>
void constraint_defaults(Side side, Owner& owner) {
  for (v1::Affinity& affinity : *owner.mutable_affinities()) DROVER_DEFAULT(affinity, weight, 50);
  if (side == Side::client) return;
  for (v1::Constraint& constraint : *owner.mutable_constraints()) DROVER_DEFAULT_TEXT(constraint, operand, "=");
  for (v1::Affinity& affinity : *owner.mutable_affinities()) DROVER_DEFAULT_TEXT(affinity, operand, "=");
}

std::string upper_case(std::string text);

void network_defaults(v1::NetworkResource& network);  // the servers'
void scaling_defaults(Side side, const v1::Job& job, const v1::TaskGroup& group, const std::string& task,
                      v1::ScalingPolicy& policy);
// `task` is null for the services of a group.
void service_defaults(Side side, const v1::Job& job, const v1::TaskGroup& group, const v1::Task* task,
                      v1::Service& service);
void task_defaults(Side side, const v1::Job& job, const v1::TaskGroup& group, v1::Task& task);

}  // namespace drover::jobs
